// Texts for `edge convert` that are made to cost much, at any length.
import type { Product } from "../../src/tools/convert/convert.ts";

/** A text of about a length. */
export type TextAt = (length: number) => string;

const filled = (unit: string, length: number): string =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, Math.ceil(length));
const many = (count: number, line: (i: number) => string): string =>
  Array.from({ length: Math.ceil(count) }, (_, i) => line(i)).join("\n");
/** A text for each of these units, repeated. */
function each(units: readonly string[], text: (filled: string) => string): Record<string, TextAt> {
  return Object.fromEntries(units.map((unit) => [text(unit), (length) => text(filled(unit, length))]));
}

function refused(regex: string): string {
  return `server { location ~ ${regex} { deny all; } location / { root /srv; } }`;
}

function router(rule: string): string {
  return `http:\n  routers:\n    a:\n      rule: ${JSON.stringify(rule)}\n      service: s\n  services: {s: {loadBalancer: {servers: [{url: "http://h:1"}]}}}\n`;
}

function frontend(...lines: readonly string[]): string {
  return `frontend f\n  mode http\n  bind :80\n${lines.map((line) => `  ${line}\n`).join("")}  default_backend b\nbackend b\n  server s h:1\n`;
}

function site(...lines: readonly string[]): string {
  return `:80 {\n${lines.map((line) => `\t${line}\n`).join("")}}\n`;
}

const CADDY_UNITS: readonly string[] = [
  "a",
  "\\",
  "\\\n",
  "<<a\n",
  "<<a ",
  '"',
  '"\\',
  "`",
  "#",
  "{$",
  "{$a",
  "{$a:",
  "{",
  " ",
  "\n",
  "{args",
  "*",
  "{a",
  "/",
];

/** One long thing in a file, whatever it is. */
export const COSTLY: Readonly<Record<Product, Readonly<Record<string, TextAt>>>> = {
  nginx: {
    "spaces of a condition": (n) => `server { if ($x ~ "${filled(" ", n)}x") { return 403; } }`,
    "a name of a host": (n) => `server { if ($host ~ ^${filled("a", n)}) { return 403; } location / { return 200; } }`,
    "names of hosts": (n) =>
      `server { if ($host ~ ^(${filled("a|", n)}a)$) { return 403; } location / { return 200; } }`,
    "an expression of letters": (n) => refused(`^/${filled("a", n)}`),
    "an expression of groups": (n) => refused(`^/${filled("(a|b)", n)}$`),
    "an expression of folders": (n) => refused(`^${filled("/a", n)}`),
    "an expression of words around a group": (n) => refused(`^/x(${filled("a|", n / 2)}b)y${filled("z", n / 2)}$`),
    "open brackets": (n) => refused(filled("[", n)),
    "open groups": (n) => refused(filled("(", n)),
    "named classes": (n) => refused(filled("[[:", n)),
    extensions: (n) => `server { location ~ \\.(${filled("a|", n)}b)$ { expires 1d; } location / { root /srv; } }`,
    "expressions of files": (n) =>
      `server { root /r; ${many(n / 60, (i) => `location ~ a${i}$ { expires 1d; } location /a${i}/ { root /s; }`)} location / { root /srv; } }`,
    "expressions between firm prefixes": (n) =>
      `server { ${many(n / 60, (i) => `location ~ a${i} { deny all; } location ^~ /a${i}/ { root /s; }`)} location / { root /srv; } }`,
    conditions: (n) =>
      `server { ${many(n / 60, (i) => `if ($http_a${i} = b) { return 403; }`)} location / { root /srv; } }`,
    rewrites: (n) => `server { ${many(n / 40, (i) => `rewrite ^/a${i} /b${i} last;`)} location / { root /srv; } }`,
    servers: (n) =>
      many(n / 60, (i) => `server { listen 127.0.0.1:${i}; server_name a${i}; location / { root /srv; } }`),
    variables: (n) => `server { ${many(n / 30, (i) => `set $a${i} b;`)} location / { proxy_pass http://$a1; } }`,
    "braces of variables": (n) => `server { return 200 '${filled("${", n)}'; }`,
    backslashes: (n) => `server { location "${filled("\\", n)}" { } }`,
    "long brackets of Lua": (n) => `server { content_by_lua_block { ${filled("[=", n)} } }`,
    "comments of Lua": (n) => `server { content_by_lua_block { ${filled("--[[", n)} } }`,
    times: (n) =>
      `server { keepalive_timeout ${filled("1", n)}x; send_timeout "${filled("1m ", n)}x"; location / { return 200; } }`,
    networks: (n) => `server { ${many(n / 25, (i) => `deny 10.${i >> 8}.${i & 255}.1;`)} location / { root /s; } }`,
  },
  traefik: {
    ...each(
      ["`", '"', "\\", "(", "!", "a", " ", "&&", "||", "{a", ",", "Host(`a`)||", "Host(`a`)&&", "!Host(`a`)&&"],
      router,
    ),
    ...each(["`a.b`,"], (text) => router(`Host(${text}\`c\`)`)),
    ...each(["a."], (text) => router(`HostRegexp(\`^.+\\.${text}!\`)`)),
    ...each(["[a"], (text) => router(`HostRegexp(\`${text}\`)`)),
    ...each(["a-/"], (text) => router(`PathRegexp(\`^/${text}(\`)`)),
    ...each(["/a", "/"], (text) => router(`PathPrefix(\`${text}x\`)`)),
  },
  haproxy: {
    ...each(["%[", "%[a", "%", "]", "%[path"], (text) => frontend(`http-request set-header X "${text}"`)),
    ...each(["a", ",lower", "(", "a.", ",", ")"], (text) =>
      frontend(`acl x hdr(host)${text} a`, "http-request deny if x"),
    ),
    ...each(["{ src 10.0.0.1 } or ", "!{ src 10.0.0.1 } ", "{ ", "!{ a ", "! ", "|| "], (text) =>
      frontend(`http-request deny if ${text}`),
    ),
    ...each(["/a"], (text) => frontend(`http-request deny if { path_reg ^${text}! }`)),
    ...each(["/"], (text) => frontend(`http-request deny if { path_beg ${text}x }`)),
    ...each(["/a "], (text) => frontend(`http-request deny if { path ${text} }`)),
    ...each([".a "], (text) => frontend(`http-request deny if { path_end ${text} }`)),
    ...each(["\n"], (text) => text),
    ...each(["/"], (text) => frontend(`http-request redirect prefix ${text}x`)),
    "rules with exceptions": (n) =>
      frontend(many(n / 60, (i) => `http-request deny if !{ path /a${i} } { hdr(x) ${i} }`).replaceAll("\n", "\n  ")),
  },
  caddy: {
    ...each(CADDY_UNITS, (text) => text),
    ...each(CADDY_UNITS, (text) => site(`respond ${text}`)),
    ...each(CADDY_UNITS, (text) => site(`respond "/${text.replace(/["\\\n]/g, "")}" 403`, "reverse_proxy h:1")),
    ...each(["*a", "a "], (text) => site("root * /srv", `file_server {\n\t\thide ${text}\n\t}`)),
    ...each(["/a"], (text) => site(`@a path_regexp ^${text}!`, "respond @a 403", "reverse_proxy h:1")),
    ...each(["1s"], (text) => site(`reverse_proxy h:1 {\n\t\thealth_interval ${text}x\n\t}`)),
    ...each([":", "1-", "/"], (text) => site(`reverse_proxy ${text}`)),
    ...each(["a,"], (text) => `${text} {\n\trespond a\n}\n`),
    sites: (n) => many(n / 40, (i) => `a${i}.test {\n\trespond a\n}`),
    "sites with TLS and without": (n) => many(n / 50, (i) => `http://a${i}.test, b${i}.test:443 {\n\trespond a\n}`),
    "patterns of hosts": (n) =>
      `${many(n / 20, (i) => `*.a${i}.test,`).replaceAll("\n", " ")} b.test {\n${many(n / 40, (i) => `\trespond /a${i} 403`)}\n}\n`,
    exceptions: (n) => site(many(n / 60, (i) => `@a${i} not path /a${i}\n\trespond @a${i} 403`)),
  },
};

/** A text on one line. */
const listed = (count: number, word: (i: number) => string, between = " "): string =>
  many(count, word).replaceAll("\n", between);

function routersFile(routers: string): string {
  return `http:\n  routers:\n${routers}\n  services: {s: {loadBalancer: {servers: [{url: "http://h:1"}]}}}\n`;
}

/** Many of two or three things, which make many times as many routes. */
export const MULTIPLIED: Readonly<Record<Product, Readonly<Record<string, TextAt>>>> = {
  caddy: {
    "patterns of hosts": (n) =>
      `${listed(n / 30, (i) => `*.a${i}.test,`)} b.test {\n${many(n / 40, (i) => `\trespond /a${i} 403`)}\n}\n`,
    "hosts x paths": (n) =>
      `${listed(n / 30, (i) => `a${i}.test,`)} b.test {\n${many(n / 40, (i) => `\trespond /a${i} 403`)}\n}\n`,
    "nested hosts": (n) =>
      `${listed(n / 60, (i) => `${"a.".repeat(i % 60)}${i}.test,`)} b.test {\n${many(n / 60, (i) => `\trespond /a${i} 403`)}\n}\n`,
    "matchers host x path": (n) =>
      site(
        many(
          n / 60,
          (i) => `@m${i} {\n host a${i}.test b${i}.test\n path /x${i}/* /y${i}\n}\n reverse_proxy @m${i} h:${i + 1}`,
        ),
      ),
    "headers with matchers": (n) =>
      site(
        many(n / 50, (i) => `header /a${i}/* X-A ${i}`),
        "reverse_proxy h:1",
      ),
    "headers x proxies": (n) =>
      site(
        many(n / 100, (i) => `header /a${i}/* X-A ${i}`),
        many(n / 100, (i) => `reverse_proxy /b${i}/* h:${i + 1}`),
        "reverse_proxy h:1",
      ),
    "headers by header": (n) =>
      site(
        many(n / 100, (i) => `@h${i} header X-${i} a\n header @h${i} X-A ${i}`),
        many(n / 100, (i) => `reverse_proxy /b${i}/* h:${i + 1}`),
        "reverse_proxy h:1",
      ),
    exceptions: (n) =>
      site(
        many(n / 60, (i) => `@a${i} not path /a${i}\n\trespond @a${i} 403`),
        "reverse_proxy h:1",
      ),
    "exceptions hosts": (n) =>
      site(
        many(n / 60, (i) => `@a${i} not host a${i}.test\n\trespond @a${i} 403`),
        "reverse_proxy h:1",
      ),
    handles: (n) =>
      site(
        many(n / 60, (i) => `handle /a${i}/* {\n reverse_proxy h:${i + 1}\n}`),
        "file_server",
      ),
    "nested handles": (n) =>
      site(
        many(
          n / 200,
          (i) =>
            `handle /a${i}/* {\n${many(3, (j) => `handle /a${i}/b${j}/* {\n basic_auth {\n a b\n}\n header X y\n}`)}\n reverse_proxy h:${i + 1}\n}`,
        ),
        "file_server",
      ),
    "deep paths": (n) =>
      site(
        many(Math.sqrt(n) / 2, (i) => `respond ${"/a".repeat(i + 1)}/* 403`),
        "reverse_proxy h:1",
      ),
    ips: (n) =>
      site(
        many(n / 80, (i) => `@i${i} remote_ip 10.${i >> 8}.${i & 255}.0/24\n respond @i${i} 403`),
        "reverse_proxy h:1",
      ),
    "ips list x list": (n) =>
      site(
        `@i {\n remote_ip ${listed(n / 50, (i) => `10.${i >> 8}.${i & 255}.1`)}\n}`,
        `@j not remote_ip ${listed(n / 50, (i) => `10.${i >> 8}.${i & 255}.1`)}`,
        "respond @i 403",
        "respond @j 403",
        "reverse_proxy h:1",
      ),
    imports: (n) =>
      `(s) {\n${many(n / 60, (i) => `header /a${i} X y`)}\n}\n${many(n / 60, (i) => `a${i}.test {\n import s\n respond a\n}`)}\n`,
    "root many": (n) =>
      site(
        many(n / 60, (i) => `root /a${i}/* /srv/${i}`),
        many(n / 60, (i) => `rewrite /b${i} /c${i}`),
        "file_server",
      ),
    try_files: (n) =>
      site(
        many(n / 60, (i) => `try_files {path} /a${i}`),
        "file_server",
      ),
    hide: (n) =>
      site(
        "root * /srv",
        many(n / 60, (i) => `handle /a${i}/* {\n file_server {\n hide .git a${i}\n}\n}`),
      ),
    "clear and tls sites": (n) => many(n / 60, (i) => `http://a${i}.test, b${i}.test:443 {\n respond a\n}`),
  },
  nginx: {
    "expressions of files": (n) =>
      `server { root /r; ${many(n / 60, (i) => `location ~ a${i}$ { expires 1d; } location /a${i}/ { root /s; }`)} location / { root /srv; } }`,
    "firm prefixes": (n) =>
      `server { ${many(n / 60, (i) => `location ~ a${i} { deny all; } location ^~ /a${i}/ { root /s; }`)} location / { root /srv; } }`,
    locations: (n) => `server { ${many(n / 60, (i) => `location /a${i}/ { proxy_pass http://b:${i + 1}; }`)} }`,
    "names x locations": (n) =>
      `server { server_name ${listed(n / 30, (i) => `a${i}.test`)}; ${many(n / 60, (i) => `location /a${i}/ { proxy_pass http://b:${i + 1}; }`)} } server { server_name x; }`,
    "patterns x locations": (n) =>
      `server { server_name ${listed(n / 30, (i) => `*.a${i}.test`)}; ${many(n / 60, (i) => `location /a${i}/ { proxy_pass http://b:${i + 1}; }`)} } server { server_name x; }`,
    "ifs x locations": (n) =>
      `server { ${many(n / 80, (i) => `if ($http_a${i} != b) { return 403; } location /a${i}/ { proxy_pass http://b:${i + 1}; }`)} }`,
    "ifs neg": (n) =>
      `server { ${many(n / 80, (i) => `if ($request_uri !~ ^/a${i}/) { return 403; } location /a${i}/ { proxy_pass http://b:${i + 1}; }`)} }`,
    "ifs args": (n) =>
      `server { ${many(n / 80, (i) => `if ($host = a${i}.test) { return 403; } location /a${i}/ { proxy_pass http://b:${i + 1}; }`)} }`,
    "rewrites in location": (n) =>
      `server { ${many(n / 80, (i) => `rewrite ^/x${i}/(.*)$ /y${i}/$1 break; location /a${i}/ { proxy_pass http://b:${i + 1}; }`)} }`,
    servers: (n) =>
      many(n / 80, (i) => `server { listen ${80}; server_name a${i}.test *.b${i}.test; location / { root /srv; } }`),
    "servers tls": (n) =>
      many(
        n / 120,
        (i) =>
          `server { listen 443 ssl; ssl_certificate /c${i}; ssl_certificate_key /k${i}; server_name a${i}.test; location / { root /srv; } }\n server { listen 80; server_name a${i}.test; return 301 https://$host$request_uri; }`,
      ),
    upstreams: (n) =>
      `${many(n / 80, (i) => `upstream u${i} { server a:${i + 1}; }`)} server { ${many(n / 80, (i) => `location /a${i} { proxy_pass http://u${i}; }`)} }`,
    "one upstream many servers": (n) =>
      `upstream u { ${many(n / 30, (i) => `server a:${i + 1};`)} } server { ${many(n / 60, (i) => `location /a${i} { proxy_pass http://u; }`)} }`,
    "many headers inherited": (n) =>
      `${many(n / 40, (i) => `add_header X-${i} a;`)} server { ${many(n / 60, (i) => `location /a${i} { proxy_pass http://u; }`)} }`,
    "many allow inherited": (n) =>
      `server { ${many(n / 40, (i) => `allow 10.${i >> 8}.${i & 255}.0/24;`)} deny all; ${many(n / 60, (i) => `location /a${i} { proxy_pass http://u; }`)} }`,
    maps: (n) =>
      `${many(n / 60, (i) => `map $a${i} $b${i} { a b; }`)} server { ${many(n / 60, (i) => `location /a${i} { proxy_pass http://$b${i}; }`)} }`,
    "map long": (n) =>
      `map $uri $b { ${many(n / 30, (i) => `/a${i} b${i};`)} } server { ${many(n / 60, (i) => `location /a${i} { return 301 $b; }`)} }`,
    "nested locations": (n) =>
      `server { ${many(n / 300, (i) => `location /a${i}/ { ${many(3, (j) => `location ~ b${j}$ { deny all; } location /a${i}/${j}/ { proxy_pass http://b; }`)} }`)} ${many(10, (i) => `location ~ x${i}$ { deny all; }`)} location / { root /s; } }`,
    "deep nest": (n) =>
      `server { ${many(n / 1000, (k) => {
        let s = "";
        for (let i = 0; i < 25; i++) s += `location /a${k}${"/b".repeat(i)} { location ~ q${i} { deny all; } `;
        return s + "}".repeat(25);
      })} location / { root /s; } }`,
    vars: (n) => `server { ${many(n / 60, (i) => `set $a${i} http://b${i}; location /a${i} { proxy_pass $a${i}; }`)} }`,
    scripts: (n) =>
      `server { root /srv; location ~ \\.php$ { fastcgi_pass 127.0.0.1:9000; } ${many(n / 80, (i) => `location ~ ^/a${i}/.*\\.php$ { deny all; } location /a${i}/ { try_files $uri /index.php; }`)} location / { try_files $uri /index.php; } }`,
    exact: (n) =>
      `server { root /srv; ${many(n / 60, (i) => `location = /a${i}/index.html { deny all; } location /a${i}/ { }`)} location / { } }`,
    limit_except: (n) =>
      `server { ${many(n / 90, (i) => `location /a${i}/ { limit_except GET POST { deny all; } proxy_pass http://b:${i + 1}; }`)} }`,
    "error pages": (n) =>
      `server { root /srv; ${many(n / 60, (i) => `error_page 404 /e${i}.html; location = /e${i}.html { internal; }`)} location / { } }`,
    "return rewrites": (n) =>
      `server { ${many(n / 60, (i) => `rewrite ^/a${i}/(.*)$ https://b${i}.test/$1 permanent;`)} location / { root /srv; } }`,
    streams: (n) =>
      `stream { ${many(n / 80, (i) => `upstream u${i} { server a:${i + 1}; } server { listen ${1000 + i}; proxy_pass u${i}; }`)} }`,
  },
  haproxy: {
    acls: (n) => frontend(many(n / 60, (i) => `acl a${i} path_beg /a${i}/\n  http-request deny if a${i}`)),
    "acl one name": (n) =>
      frontend(
        many(n / 60, (i) => `acl a path_beg /a${i}/`),
        "http-request deny if a",
        "http-request deny if !a",
      ),
    "acl product": (n) =>
      frontend(
        many(n / 120, (i) => `acl a path_beg /a${i}/`),
        many(n / 120, (i) => `acl b hdr(host) a${i}.test`),
        "http-request deny if a b",
        "use_backend b if !a b",
      ),
    use_backend: (n) =>
      `frontend f\n  mode http\n  bind :80\n${many(n / 100, (i) => `  use_backend b${i} if { hdr(host) -i a${i}.test }`)}\n${many(n / 100, (i) => `backend b${i}\n  server s h:${i + 1}`)}\n`,
    "rules with exceptions": (n) =>
      frontend(many(n / 60, (i) => `http-request deny if !{ path /a${i} } { hdr(x) ${i} }`)),
    "headers if x backends": (n) =>
      `frontend f\n  mode http\n  bind :80\n${many(n / 200, (i) => `  http-request set-header X-A ${i} if { path_beg /p${i}/ }\n  use_backend b${i} if { hdr(host) -i a${i}.test }`)}\n${many(n / 200, (i) => `backend b${i}\n  server s h:${i + 1}`)}\n`,
    "deny src x": (n) => frontend(many(n / 60, (i) => `http-request deny if { src 10.${i >> 8}.${i & 255}.0/24 }`)),
    "allow x": (n) =>
      frontend(
        many(n / 60, (i) => `http-request allow if { path /a${i} }`),
        "http-request deny",
      ),
    "many words": (n) =>
      frontend(
        `acl a path ${listed(n / 10, (i) => `/a${i}`)}`,
        `acl b hdr(host) ${listed(n / 10, (i) => `a${i}`)}`,
        "http-request deny if a b",
        "http-request deny if a !b",
        "http-request deny if b or a",
      ),
    "backend rules x": (n) =>
      `frontend f\n  mode http\n  bind :80\n${many(n / 100, (i) => `  use_backend b if { hdr(host) -i a${i}.test }`)}\nbackend b\n${many(n / 100, (i) => `  http-request deny if { path /a${i} }`)}\n  server s h:1\n`,
    frontends: (n) =>
      `${many(n / 100, (i) => `frontend f${i}\n  mode http\n  bind :${1000 + i}\n  default_backend b`)}\nbackend b\n  server s h:1\n`,
    "same frontends": (n) =>
      `${many(n / 100, (i) => `frontend f${i}\n  mode http\n  bind :80\n  default_backend b`)}\nbackend b\n  server s h:1\n`,
    "defaults rules": (n) =>
      `defaults\n  mode http\n${many(n / 100, (i) => `  http-request set-header A${i} b`)}\n${many(n / 100, (i) => `frontend f${i}\n  bind :80\n  default_backend b`)}\nbackend b\n  server s h:1\n`,
  },
  traefik: {
    routers: (n) => routersFile(many(n / 60, (i) => `    r${i}: {rule: "Host(\`a${i}.test\`)", service: s}`)),
    "host x path": (n) =>
      routersFile(
        `    r: {rule: "(${Array.from({ length: n / 40 }, (_, i) => `Host(\`a${i}\`)`).join("||")}) && (${Array.from({ length: n / 40 }, (_, i) => `PathPrefix(\`/a${i}\`)`).join("||")})", service: s}`,
      ),
    "hosts && paths routers": (n) =>
      routersFile(
        many(
          n / 120,
          (i) =>
            `    r${i}: {rule: "Host(\`a${i}\`,\`b${i}\`) && (PathPrefix(\`/a${i}\`) || PathPrefix(\`/b${i}\`))", service: s}`,
        ),
      ),
    nots: (n) => routersFile(many(n / 80, (i) => `    r${i}: {rule: "!PathPrefix(\`/a${i}\`)", service: s}`)),
    "ands of ors": (n) =>
      routersFile(
        `    r: {rule: "${Array.from({ length: n / 40 }, (_, i) => `(Host(\`a${i}\`)||Host(\`b${i}\`))`).join("&&")}", service: s}`,
      ),
    chains: (n) =>
      routersFile(many(n / 100, (i) => `    r${i}: {rule: "Host(\`a${i}.test\`)", service: s, middlewares: [c0]}`)) +
      `  middlewares:\n${many(n / 100, (i) => `    c${i}: {chain: {middlewares: [c${i + 1}, c${i + 1}, c${i + 1}, c${i + 1}]}}`)}\n`,
    "one middlewares list x routers": (n) =>
      routersFile(many(n / 120, (i) => `    r${i}: {rule: "Host(\`a${i}.test\`)", service: s, middlewares: [c]}`)) +
      `  middlewares:\n    c: {chain: {middlewares: [${Array.from({ length: n / 20 }, (_, i) => `c${i % 300}`).join(",")}]}}\n${many(300, (i) => `    c${i}: {headers: {customRequestHeaders: {X-A${i}: b}}}`)}\n`,
    iplists: (n) =>
      routersFile(many(n / 120, (i) => `    r${i}: {rule: "Host(\`a${i}.test\`)", service: s, middlewares: [c,d]}`)) +
      `  middlewares:\n${["c", "d"].map((x) => `    ${x}: {ipAllowList: {sourceRange: [${Array.from({ length: n / 40 }, (_, i) => `10.${i >> 8}.${i & 255}.1`).join(",")}]}}`).join("\n")}\n`,
    services: (n) =>
      `http:\n  routers:\n${many(n / 100, (i) => `    r${i}: {rule: "Host(\`a${i}.test\`)", service: s}`)}\n  services: {s: {loadBalancer: {servers: [${Array.from({ length: n / 40 }, (_, i) => `{url: "http://h:${i + 1}"}`).join(",")}]}}}\n`,
    weighted: (n) =>
      `http:\n  routers:\n${many(n / 100, (i) => `    r${i}: {rule: "Host(\`a${i}.test\`)", service: w0}`)}\n  services:\n${many(n / 100, (i) => `    w${i}: {weighted: {services: [{name: w${i + 1}, weight: 1},{name: w${i + 1}, weight: 2}]}}`)}\n`,
  },
};
