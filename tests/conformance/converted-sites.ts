// Grammars of small sites of nginx, Caddy and HAProxy, each at a host of its own in one file.
import type { SeededRandom } from "../harness/seeded-random.ts";

/** Products that have a grammar here. */
export type Written = "nginx" | "caddy" | "haproxy";

/** A file of sites. */
export interface SitesFile {
  readonly text: string;
  /** The lines of each site, as editors count them, in the order of the hosts. */
  readonly lines: readonly (readonly [from: number, to: number])[];
}

const lineCount = (text: string): number => text.split("\n").length;

/** A file with one site for each host. */
export function sitesFile(product: Written, hosts: readonly string[], random: SeededRandom): SitesFile {
  const { head, tail, site } = GRAMMARS[product];
  const ways = product === "haproxy" ? hosts.map((host, i) => `  use_backend b${i} if { hdr(host) ${host} }\n`) : [];
  let text = head + ways.join("");
  const lines = hosts.map((host, i): readonly [number, number] => {
    const from = lineCount(text);
    text += `${site(host, i, random)}\n`;
    return [from, lineCount(text) - 1];
  });
  return { text: text + tail, lines };
}

const PATHS = ["/a", "/a/", "/a/b", "/b", "/b/", "/pub", "/pub/", "/c.php"] as const;
const CODES = [401, 403, 404, 410, 503] as const;
const MOVED = [301, 302, 307, 308] as const;
const some = <T>(random: SeededRandom, from: number, to: number, make: () => T): T[] =>
  Array.from({ length: random.integer(from, to) }, make);

/** A location of nginx, with what is in it. */
function location(random: SeededRandom): string {
  const path = random.pick(PATHS);
  const place = random.pick([
    `location ${path}`,
    `location ${path}`,
    `location = ${path}`,
    `location ^~ ${path}`,
    "location ~ \\.php$",
    "location ~* ^/(a|pub)/b",
    `location ~ ^${path}(.*)$`,
  ]);
  const isRegex = place.includes("~ ") || place.includes("~* ");
  const content = random.pick([
    "proxy_pass http://127.0.0.1:ORIGIN;",
    "proxy_pass http://127.0.0.1:ORIGIN;",
    // What a location without a slash at its end alone becomes is the gateway's own: docs/migrate.md.
    isRegex || !path.endsWith("/")
      ? "proxy_pass http://127.0.0.1:ORIGIN;"
      : `proxy_pass http://127.0.0.1:ORIGIN${random.pick(PATHS)};`,
    `return ${random.pick(CODES)};`,
    'return 200 "text";',
    `return ${random.pick(MOVED)} ${random.pick(["/r", "https://elsewhere.test/r", "https://$host$request_uri"])};`,
    "root SITE;",
    "root SITE; try_files $uri $uri/ =404;",
    "root SITE; try_files $uri /index.html;",
  ]);
  const extra = some(random, 0, 2, () =>
    random.pick([
      "proxy_set_header X-Set value;",
      "proxy_set_header Host $host;",
      "proxy_set_header X-Real $remote_addr;",
      "proxy_set_header X-Key '';",
      "add_header X-Added yes;",
      "add_header X-Added always always;",
      "proxy_hide_header X-Own;",
      "deny all;",
      "allow 127.0.0.1; deny all;",
      "deny 10.0.0.0/8; allow all;",
      "limit_except GET { deny all; }",
      "if ($request_method = POST) { return 405; }",
      "if ($arg_k) { return 402; }",
      `rewrite ^/a/(.*)$ /pub/$1 ${random.pick(["last", "break", "redirect", "permanent"])};`,
    ]),
  );
  // nginx answers before it asks who the client is; here the rule about clients counts.
  const kept = [...new Set(extra)].filter((one) => !content.startsWith("return") || !/^(?:deny|allow)/.test(one));
  const inner = !isRegex && !place.includes("=") && random.chance(0.15) ? nested(random, path) : "";
  return `    ${place} { ${kept.join(" ")} ${content} ${inner} }`;
}

function nested(random: SeededRandom, path: string): string {
  return `location ${path.replace(/\/$/, "")}/b { ${random.pick([`return ${random.pick(CODES)};`, "proxy_pass http://127.0.0.1:ORIGIN;"])} }`;
}

function nginxSite(host: string, _: number, random: SeededRandom): string {
  const places = new Map(
    some(random, 1, 3, () => location(random)).map((one) => [one.split(" {")[0]!.replace("^~ ", ""), one]),
  );
  const wide = some(random, 0, 1, () =>
    random.pick([
      "add_header X-Wide yes;",
      "proxy_set_header X-Wide yes;",
      "root SITE;",
      "if ($http_x_key = 2) { return 403; }",
    ]),
  );
  return [
    "  server {",
    `    listen 127.0.0.1:PORT; server_name ${host};`,
    ...wide.map((one) => `    ${one}`),
    ...places.values(),
    "  }",
  ].join("\n");
}

function caddySite(host: string, _: number, random: SeededRandom): string {
  const matchers: string[] = [];
  const matcher = (): string => {
    if (random.chance(0.5))
      return random.pick(["/a/*", "/a*", "/b", "/pub/*", "*.php", "/a/b"].filter((one) => one[0] === "/"));
    const name = `@m${matchers.length}`;
    matchers.push(
      `\t${name} ${random.pick([
        "path /a/* /b",
        "not path /pub/*",
        "path_regexp ^/a/(.*)$",
        "method POST",
        "header X-Key 1",
        "header X-Key *",
        "query k=1",
        "remote_ip 10.0.0.0/8",
        "path *.php",
      ])}`,
    );
    return name;
  };
  const end = (): string =>
    random.pick([
      "reverse_proxy 127.0.0.1:ORIGIN",
      "reverse_proxy 127.0.0.1:ORIGIN {\n\t\t\theader_up X-Set value\n\t\t\theader_up -X-Key\n\t\t}",
      "reverse_proxy 127.0.0.1:ORIGIN {\n\t\t\theader_down X-Down yes\n\t\t\theader_down -X-Own\n\t\t}",
      `respond ${random.pick(CODES)}`,
      'respond "text" 200',
      "root * SITE\n\t\tfile_server",
      `redir ${random.pick(["/r", "https://elsewhere.test{uri}"])} ${random.pick(MOVED)}`,
      "uri strip_prefix /a\n\t\treverse_proxy 127.0.0.1:ORIGIN",
      "rewrite * /pub/x\n\t\treverse_proxy 127.0.0.1:ORIGIN",
      "rewrite * /pub{uri}\n\t\treverse_proxy 127.0.0.1:ORIGIN",
    ]);
  const lines = some(random, 1, 3, () =>
    random.pick([
      () => `\thandle ${matcher()} {\n\t\t${end()}\n\t}`,
      () => `\thandle ${matcher()} {\n\t\t${end()}\n\t}`,
      () => `\thandle_path ${random.pick(["/a/*", "/pub/*", "/a*"])} {\n\t\t${end()}\n\t}`,
      () => `\troute ${matcher()} {\n\t\t${end()}\n\t}`,
      () => `\trespond ${matcher()} ${random.pick(CODES)}`,
      () => `\tredir ${matcher()} /r ${random.pick(MOVED)}`,
      () => `\theader ${matcher()} X-Added yes`,
      () => "\theader X-Wide yes",
      () => "\theader -X-Own",
      () => `\trequest_header ${matcher()} X-Set value`,
      () => "\trequest_header -X-Key",
      () => `\trewrite ${matcher()} /pub/x`,
      () => "\turi strip_prefix /pub",
      () => `\treverse_proxy ${matcher()} 127.0.0.1:ORIGIN`,
    ])(),
  );
  const last = random.pick([
    "\treverse_proxy 127.0.0.1:ORIGIN",
    "\trespond 404",
    "\thandle {\n\t\treverse_proxy 127.0.0.1:ORIGIN\n\t}",
  ]);
  return [`http://${host}:PORT {`, ...matchers, ...lines, last, "}"].join("\n");
}

function haproxySite(_: string, index: number, random: SeededRandom): string {
  const test = (): string =>
    `${random.chance(0.2) ? "!" : ""}{ ${random.pick([
      "path_beg /a/",
      "path_beg /a",
      "path /b",
      "path -i /PUB",
      "path_end .php",
      "path_reg ^/a/.*b$",
      "path_sub ub",
      "method POST",
      "req.hdr(X-Key) 1",
      "req.hdr(X-Key) -m found",
      "src 10.0.0.0/8",
      "url_param(k) 1",
      "req.cook(k) 1",
    ])} }`;
  const asked = (): string =>
    `${random.pick(["if", "if", "unless"])} ${some(random, 1, 2, test).join(random.pick([" ", " or "]))}`;
  const rules = some(random, 1, 3, () =>
    random.pick([
      () => `http-request deny ${asked()}`,
      () => `http-request deny deny_status 410 ${asked()}`,
      () => `http-request return status 200 content-type text/plain string text ${asked()}`,
      () => `http-request redirect location /r code ${random.pick(MOVED)} ${asked()}`,
      () => `http-request redirect prefix https://elsewhere.test code 302 ${asked()}`,
      () => `http-request set-header X-Set value ${random.chance(0.5) ? asked() : ""}`,
      () => "http-request set-header X-Real %[src]",
      () => "http-request del-header X-Key",
      () => `http-request set-path /pub/x ${asked()}`,
      () => "http-request set-path /pub%[path]",
      () => "http-request replace-path ^/a/(.*) /pub/\\1",
      () => `http-request set-method GET ${asked()}`,
      () => "http-response set-header X-Added yes",
      () => "http-response del-header X-Own",
      () => "http-response set-status 503 if { status 200 }",
    ])(),
  );
  return [`backend b${index}`, ...rules.map((one) => `  ${one.trimEnd()}`), "  server s 127.0.0.1:ORIGIN"].join("\n");
}

const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((one) => `${one}_temp_path FOLDER/${one};`);
const GRAMMARS = {
  nginx: {
    head: `daemon off; pid FOLDER/nginx.pid; error_log FOLDER/error.log; worker_processes 1;\nevents { }\nhttp {\n  access_log off; default_type text/plain; ${TEMPORARY.join(" ")}\n  server { listen 127.0.0.1:PORT default_server; return 404; }\n`,
    tail: "}\n",
    site: nginxSite,
  },
  caddy: { head: "{\n\tadmin off\n\tauto_https off\n}\n", tail: "", site: caddySite },
  haproxy: {
    head: "defaults\n  mode http\n  timeout connect 5s\n  timeout client 10s\n  timeout server 10s\nfrontend f\n  bind 127.0.0.1:PORT\n",
    tail: "",
    site: haproxySite,
  },
} as const;
