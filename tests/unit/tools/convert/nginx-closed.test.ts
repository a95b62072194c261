// What nginx keeps closed and no route says is closed here, and the report says so. docs/migrate-nginx.md
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { makeCertificate } from "../../../harness/certificate.ts";
import { convert } from "../../../harness/conversions.ts";

type Route = Readonly<Record<string, unknown>>;
const DENIED = { deny: ["0.0.0.0/0", "::/0"] };
const ROOT = import.meta.dir;
const folder = mkdtempSync(join(tmpdir(), "edge-converted-tls-"));
const certificate = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
const made = await makeCertificate();
writeFileSync(certificate.cert, made.cert);
writeFileSync(certificate.key, made.key);
afterAll(() => rmSync(folder, { recursive: true }));

interface Result {
  readonly routes: Route[];
  readonly server: Route;
  readonly said: string;
}

function converted(text: string): Result {
  const { code, err, config, routes, loaded } = convert("nginx", "nginx.conf", text);
  expect({ code, err: code === 0 ? "" : err, faults: loaded?.ok === false ? loaded.faults : [] }).toEqual({
    code: 0,
    err: "",
    faults: [],
  });
  return {
    routes: (parse(routes) as { routes: Route[] }).routes,
    server: (parse(config) as { server: Route }).server,
    said: config + routes,
  };
}

const site = (inside: string): string => `server { listen 80; root ${ROOT}; ${inside} location / { } }`;

describe("names that something else answers are no files", () => {
  test.each([
    "proxy_pass http://h$arg_x:1;",
    "uwsgi_pass suwsgi://h:1;",
    "scgi_pass $h;",
    "memcached_pass h:1;",
    "perl x::y;",
    "js_content main.x;",
    "content_by_lua_file x.lua;",
    "passenger_enabled on;",
    "any_pass h:1;",
  ])("%s", (content) => {
    const { routes, said } = converted(site(`location ~ \\.php$ { ${content} }`));
    expect(routes).toMatchObject([{ type: "respond", status: 503, regex: "\\.php\\n?$" }, { type: "static" }]);
    expect(said).toContain("the paths that fit are closed");
  });

  test("below a folder, and by another letter case", () => {
    const { routes } = converted(site("location /x/ { location ~* \\.Py$ { memcached_pass h:1; } }"));
    expect(routes).toContainEqual(expect.objectContaining({ prefix: "/x", regex: "(?i)\\.Py\\n?$", status: 503 }));
  });

  test("an expression that no route can have closes all paths that it could take", () => {
    const { routes, said } = converted(site("location ~ (?>a)\\.php$ { proxy_pass http://h:1; }"));
    expect(routes).toMatchObject([{ type: "respond", prefix: "/", status: 503 }]);
    expect(said).toContain("no route can have its expression");
  });

  test("names that only begin with the letters of a prefix", () => {
    const at = (inside: string): readonly Route[] => converted(site(`location /api { ${inside} }`)).routes;
    const wider = { prefix: "/", regex: "^/api[^/]" };
    expect(at("proxy_pass http://h:1;")).toContainEqual(expect.objectContaining({ ...wider, target: "http://h:1" }));
    expect(at("proxy_pass http://h:1/b/;")).toContainEqual(
      expect.objectContaining({ ...wider, rewrite: { regex: "^/api(.*)$", to: "/b/{match.1}" } }),
    );
    expect(at("")).toContainEqual(expect.objectContaining({ ...wider, type: "static", dir: ROOT }));
    for (const inside of [
      "proxy_pass http://h:1/b;",
      `alias ${ROOT}/;`,
      "proxy_pass http://h:1; location ~ b { empty_gif; }",
    ])
      expect(at(inside)).toContainEqual(expect.objectContaining({ ...wider, status: 503 }));
  });
});

test("what no route closes for nothing", () => {
  const at = (inside: string): readonly Route[] => converted(site(inside)).routes;
  // A folder that is not there may be one file.
  expect(at("location /no-such-folder { }")[0]).toMatchObject({
    type: "static",
    prefix: "/no-such-folder",
    dir: ROOT,
    rewrite: { path: "{path}" },
  });
  expect(at("location /a { proxy_pass http://h:1; limit_except GET { } if ($arg_x) { } }")[0]).toEqual(
    expect.not.objectContaining({ methods: expect.anything() }),
  );
  expect(at("location /a { if ($arg_x) { return 403; } }")[0]).toMatchObject({
    status: 403,
    match: { query: { "/^x$/i": "/^([^0]|0.)/" } },
  });
  expect(
    at("location /a { proxy_pass http://h:1; proxy_request_buffering off; proxy_http_version 2; }")[0],
  ).toMatchObject({
    target: "h2c://h:1",
    inbound_chunked_mode: "passthrough",
  });
  expect(
    at('location /a { add_header ETag x; add_header Last-Modified ""; add_header X-C $upstream_cache_status; }')[0],
  ).toMatchObject({
    headers: { response: { set: { ETag: "x" }, remove: ["Last-Modified"], add: { "X-C": "{cache.status}" } } },
  });
});

test("TLS to origins of gRPC is said by names of its own", () => {
  const tls = "grpc_ssl_verify on; grpc_ssl_name h.example; grpc_ssl_server_name on; grpc_ssl_session_reuse off;";
  expect(converted(site(`location /a { grpc_pass grpcs://h:1; ${tls} }`)).routes[0]).toMatchObject({
    target: "h2://h:1",
    tls: { server_name: "h.example" },
  });
});

test("the first name of a server is what $server_name is, whatever the host", () => {
  const { routes, said } = converted(
    "server { listen 80; http2 on; server_name www.a.example a.example; return 301 https://$server_name$request_uri; }",
  );
  expect(routes).toMatchObject([{ type: "redirect", to: "https://www.a.example{uri}" }]);
  expect(said).not.toContain("http2 on");
});

test("rewrites that lead elsewhere keep the query of the client", () => {
  const at = (to: string): unknown => converted(site(`rewrite ^/a http://h/${to} redirect;`)).routes[0]?.to;
  expect(["b", "b?c=d", "b?"].map(at)).toEqual(["http://h/b?{query}", "http://h/b?c=d&{query}", "http://h/b"]);
});

describe("expressions for the content of a location", () => {
  const at = (inside: string): readonly Route[] => converted(site(inside)).routes;
  const css = "(?i)\\.(css|js)\\n?$";

  test.each([
    [
      "location ~* \\.(css|js)$ { expires 30d; add_header X-A b; }",
      { type: "static", dir: ROOT, cache_control: "max-age=2592000", headers: { response: { add: { "X-A": "b" } } } },
    ],
    ["location ~* \\.(css|js)$ { root /srv/o/; try_files $uri =404; }", { type: "static", dir: "/srv/o" }],
    [
      "location ~* \\.(css|js)$ { proxy_pass http://h:1; expires 1h; }",
      { type: "upstream", target: "http://h:1", strip_prefix: false },
    ],
    [
      "location ~* \\.(css|js)$ { grpc_pass h:1; allow 10.0.0.0/8; deny all; }",
      { type: "upstream", target: "h2c://h:1", ip_rules: { allow: ["10.0.0.0/8"] } },
    ],
  ])("%s", (inside, wanted) => {
    for (const text of [inside, `${inside} location /x { proxy_pass http://h:2; }`]) {
      const { routes, said } = converted(site(text.replaceAll("/srv/o", ROOT)));
      const own = JSON.parse(JSON.stringify(wanted).replaceAll("/srv/o", ROOT)) as Route;
      expect(routes[0]).toMatchObject({ prefix: "/", regex: css, ...own });
      expect(said).not.toContain("routes go by paths, not by expressions");
    }
  });

  test("a dot takes no line break, and a sign of several bytes is not one of them", () => {
    expect(at("location ~ ^/a.*\\.css$ { proxy_pass http://h:1; }")[0]).toMatchObject({
      type: "upstream",
      regex: "^/a[^\\n]*\\.css\\n?$",
    });
    for (const text of ["^/.\\.css$", "^/[^a]\\.css$", "\\W\\.css$", "(?!a)\\.css$", "é\\.css$"])
      expect(at(`location ~ ${text} { proxy_pass http://h:1; }`)[0]).toMatchObject({ type: "respond", status: 503 });
  });

  test("the first expression that fits takes a path, and none is asked below ^~", () => {
    const routes = at(
      "location ~ \\.css$ { proxy_pass http://h:1; } location ~ \\.(css|js)$ { root /srv/o; } location ^~ /f/ { proxy_pass http://h:2; }",
    );
    expect(routes.filter(({ prefix, regex }) => prefix === "/" && regex !== undefined)).toMatchObject([
      { type: "upstream", target: "http://h:1" },
      { type: "respond", status: 503 },
    ]);
    expect(routes.filter(({ prefix }) => prefix === "/f")).toMatchObject([{ target: "http://h:2" }]);
  });

  test.each([
    "location ~ ^/f/ { location ~ \\.css$ { } }",
    "location ~ (/|\\.css)$ { expires 1d; }",
    "location ~ a|\\.css$ { root /srv/other; }",
    "location /i/ { alias /srv/a/; location ~ \\.css$ { expires 1d; } }",
    "location ~ \\.css$ { alias /srv/a/x.css; }",
    "location ~ \\.css$ { try_files $uri /x.html; root /srv/other; }",
    "location ~ \\.css$ { if ($arg_a) { return 403; } }",
  ])("%s: no static route has it", (inside) => {
    expect(at(inside).filter(({ type, regex }) => type === "static" && regex !== undefined)).toEqual([]);
  });
});

describe("conditions and rewrites that no route has", () => {
  test.each([
    "if ($request_uri ~* secret) { return 403; }",
    "if ($args ~ x) { return 403; }",
    "if ($no) { return 403; }",
    "set $no 0; if ($remote_addr = 10.0.0.1) { set $no 1; } if ($no = 1) { return 403; }",
    "valid_referers none; if ($invalid_referer) { return 403; }",
    'if ($secure_link = "") { return 403; }',
    "if ($http_cookie ~ x) { return 403; }",
    "if (-f /srv/down) { return 503; }",
    "if ($request_uri ~ x) { rewrite ^ /y last; }",
    "auth_jwt x;",
    "frobnicate on;",
  ])("%s", (guard) => {
    const { routes, said } = converted(site(guard));
    expect(routes.at(-1)).toMatchObject({ type: "static", ip_rules: DENIED });
    expect(said).toContain("closed");
  });

  test("those that can be said are said", () => {
    const { routes } = converted(site("if ($uri ~* \\.(py|inc)$) { return 404; } rewrite \\.sh$ /x last;"));
    expect(routes).toMatchObject([
      { type: "respond", status: 404, regex: "(?i)\\.(py|inc)\\n?$" },
      { type: "respond", status: 503, regex: "\\.sh\\n?$" },
      { type: "static", prefix: "/" },
    ]);
  });

  test("a variable with two values is none", () => {
    const text = "set $up a; if ($http_x) { set $up b; } location /u/ { proxy_pass http://$up; }";
    expect(converted(site(text)).routes.find(({ prefix }) => prefix === "/u")).toMatchObject({ status: 503 });
  });
});

describe("listeners", () => {
  const inside = "location / { return 200 inside; }";

  test.each(["10.0.0.5:80", "127.0.0.1:80"])("%s, beside the same port of every address, is left out", (place) => {
    const { routes, said } = converted(
      `${site("server_name a.test;")} server { listen ${place}; server_name b.test; ${inside} }`,
    );
    expect(JSON.stringify(routes)).not.toContain("inside");
    expect(said).toContain("it is left out");
  });

  test.each(["8081", "10.0.0.5:8081", "unix:/run/x.sock"])("%s has routes of its own", (place) => {
    const text = `server { listen 80; root ${ROOT}; location /a { } } server { listen ${place}; ${inside} }`;
    const { routes, server } = converted(text);
    const [, own] = server.listeners as readonly Route[];
    expect(own).toMatchObject({ address: place === "8081" ? ":8081" : place });
    const bodies = routes.filter(({ body }) => body === "inside");
    expect(bodies.map(({ listeners }) => listeners)).toEqual([[own!.name]]);
    expect(routes.every(({ listeners }) => Array.isArray(listeners))).toBe(true);
  });

  test("two ports of the same servers have the same routes", () => {
    const { routes, server } = converted(`server { listen 80; listen 8080; ${inside} }`);
    expect(server.listeners).toMatchObject([{ address: ":80" }, { address: ":8080" }]);
    expect(routes).toMatchObject([{ body: "inside" }]);
    expect(routes[0]).not.toHaveProperty("listeners");
  });

  test("each port has a server of its own for names that none has", () => {
    const text = `server { listen 80; server_name a.test; return 200 one; }
server { listen 8081; server_name a.test; return 200 two; }
server { listen 8081 default_server; server_name b.test; return 200 three; }`;
    const at = (name: string) =>
      converted(text)
        .routes.filter(({ listeners }) => (listeners as string[]).includes(name))
        .map(({ host, body }) => [host, body]);
    expect(at("http")).toEqual([[undefined, "one"]]);
    expect(at("http-8081")).toEqual([
      ["a.test", "two"],
      [undefined, "three"],
    ]);
  });

  test("what is served by TLS alone is not served in clear text", () => {
    const { cert, key } = certificate;
    const tls = `ssl_certificate ${cert}; ssl_certificate_key ${key}; ssl_client_certificate ${cert}; ssl_verify_client on;`;
    const { routes } = converted(
      `server { listen 443 ssl; server_name b.test; ${tls} ${inside} } ${site("server_name a.test;")}`,
    );
    expect(routes.map(({ type, listeners }) => [type, listeners])).toEqual([
      ["respond", ["https"]],
      ["static", ["http-80"]],
    ]);
  });

  test("without its certificate, an address of TLS and its routes are comments", () => {
    const { routes, server, said } = converted(
      `server { listen 443 ssl; server_name b.test; ssl_certificate c; ssl_certificate_key k; ${inside} } ${site("server_name a.test;")}`,
    );
    expect(server.listeners).toMatchObject([{ address: ":80" }]);
    expect(routes).toMatchObject([{ type: "static", listeners: ["http-80"] }]);
    expect(said).toContain("server.listeners :443: the address is a comment");
  });

  test("a file of streams alone opens no port for other machines", () => {
    const { server } = converted("stream { server { listen 8080; proxy_pass h:5432; } }");
    expect(server).toMatchObject({ host: "127.0.0.1", port: 8081 });
  });
});

describe("names that no host of a route says", () => {
  const open = "location / { proxy_pass http://h:1; }";
  const shut = "location / { return 403; }";

  test.each(["~^a\\..*$", "www.example.*", "~^(www\\.)?a\\.test$", "b.test ~x", "$hostname"])(
    "%s: the server of all other names is closed, its own names are not",
    (name) => {
      const { routes, said } = converted(
        `server { listen 80 default_server; server_name own.test; ${open} } server { listen 80; server_name ${name}; ${shut} }`,
      );
      expect(routes).toContainEqual(expect.objectContaining({ type: "upstream", host: "own.test" }));
      for (const route of routes)
        if (route.type === "upstream" && route.host === undefined) expect(route).toMatchObject({ ip_rules: DENIED });
      expect(said).toContain("its routes are closed but for its own names");
    },
  );

  test("of the server of all other names itself, they are its own", () => {
    const { routes } = converted(
      `server { listen 80 default_server; server_name ~x; ${open} } server { listen 80; server_name b.test; ${shut} }`,
    );
    expect(routes).toContainEqual({
      type: "upstream",
      prefix: "/",
      target: "http://h:1",
      strip_prefix: false,
      preserve_host: false,
      rewrite_location: [{ from: "http://h:1/", to: "/" }],
    });
  });
});

test.each(["=404", "=403", "=500"])("folders of try_files $uri %s have no page", (last) => {
  const { routes } = converted(`server { listen 80; root ${ROOT}; location / { try_files $uri ${last}; } }`);
  expect(routes).toMatchObject([{ type: "respond", regex: "/$" }, { type: "static" }]);
});

test("a rewrite that does not fit leaves the path whole", () => {
  const { routes } = converted(
    "server { listen 80; location /api/ { rewrite ^/api/old$ /api/new break; proxy_pass http://h:1; } }",
  );
  expect(routes).toContainEqual(expect.objectContaining({ prefix: "/api", strip_prefix: false }));
});

describe("the client's address", () => {
  const allow = "location /in/ { allow 10.1.0.0/16; deny all; proxy_pass http://h:1; }";
  const at = ({ routes }: Result): unknown =>
    routes.find(({ prefix, type }) => prefix === "/in" && type === "upstream")?.ip_rules;

  test.each([
    "set_real_ip_from 10.0.0.0/8;",
    "set_real_ip_from 10.0.0.0/8; real_ip_header X-Real-IP;",
    "set_real_ip_from 10.0.0.0/8; real_ip_header CF-Connecting-IP;",
    "set_real_ip_from 10.0.0.0/8; real_ip_header proxy_protocol;",
  ])("%s", (trust) => {
    const result = converted(site(`${trust} ${allow}`));
    expect(at(result)).toEqual(DENIED);
    expect(result.server.trusted_proxies).toBeUndefined();
    expect(result.said).toContain("rules about addresses are closed");
  });

  test("X-Forwarded-For of the same proxies for all servers", () => {
    const trust = "set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For; real_ip_recursive on;";
    const one = converted(site(`${trust} ${allow}`));
    expect(one.server.trusted_proxies).toEqual(["10.0.0.0/8"]);
    expect(at(one)).toEqual({ allow: ["10.1.0.0/16"] });
    const two = converted(`${site(`server_name a.test; ${trust} ${allow}`)} ${site("server_name b.test;")}`);
    expect(two.server.trusted_proxies).toBeUndefined();
    expect(at(two)).toEqual(DENIED);
  });
});

describe("what is different is said", () => {
  test.each([
    ["types { text/x-own txt; }", "types"],
    ["charset koi8-r;", "charset koi8-r"],
    ["max_ranges 5;", "max_ranges 5"],
    ["etag off;", "etag off"],
    ["gunzip on;", "gunzip on"],
    ["underscores_in_headers on;", "underscores_in_headers on"],
    ["proxy_http_version 1.0;", "proxy_http_version 1.0"],
    ["merge_slashes off;", "merge_slashes off"],
    ["ssl_stapling on;", "ssl_stapling on"],
    ["keepalive_requests 5;", "keepalive_requests 5"],
    [
      "location /p/ { proxy_pass http://h:1; proxy_set_header X-Forwarded-Proto https; }",
      "proxy_set_header X-Forwarded-Proto https",
    ],
    ["location /p/ { proxy_pass http://h:1/q/; proxy_redirect ~x /y; }", "proxy_redirect ~x /y"],
    ["location /p/ { return 200 x; }", "return 200 x"],
  ])("%s", (inside, words) => {
    expect(converted(site(inside)).said).toMatch(new RegExp(`\\| ${words.replaceAll(/[.$]/g, "\\$&")}[ "]*[^|]*\\|`));
  });

  test("the query of a path without its slash is kept", () => {
    const { routes } = converted(site("location /app/ { proxy_pass http://h:1; }"));
    expect(routes).toContainEqual(expect.objectContaining({ type: "redirect", path: "/app", to: "/app/?{query}" }));
  });

  test("a field whose value cannot be said is not the client's own", () => {
    const { routes } = converted(site("location /p/ { proxy_pass http://h:1; proxy_set_header X-User $who; }"));
    const { headers } = routes.find(({ prefix }) => prefix === "/p") as { headers: { request: Route } };
    expect(headers.request.remove).toEqual(["X-User"]);
  });
});

describe("methods that files do not take", () => {
  /** Files are for these two; the refusal behind them names none, so that PURGE and PROPFIND get it, too. */
  const FILE_METHODS = { method: ["GET", "HEAD"] };

  test("go to no other server's origin", () => {
    const { routes } = converted(
      `server { listen 80; server_name a.test; root ${ROOT}; } server { listen 80 default_server; location / { proxy_pass http://h:1; } }`,
    );
    const [files, refusal] = routes;
    expect(files).toMatchObject({ type: "static", host: "a.test", match: FILE_METHODS });
    expect(refusal).toEqual({ type: "respond", prefix: "/", host: "a.test", status: 405 });
  });

  test("go to no origin of the location around an expression", () => {
    const { routes } = converted(
      `server { listen 80; root ${dirname(ROOT)}; location /convert { proxy_pass http://h:1; location ~* \\.txt$ { } } }`,
    );
    const [files, refusal, origin] = routes;
    expect([files?.type, refusal?.status, origin?.type]).toEqual(["static", 405, "upstream"]);
    expect(files).toMatchObject({ match: FILE_METHODS });
    expect(refusal).toEqual({ type: "respond", prefix: "/convert", regex: files?.regex, status: 405 });
  });

  test("need no refusal where nothing else takes them", () => {
    expect(converted(site("")).routes.filter(({ status }) => status === 405)).toEqual([]);
  });
});

test("what an expression spares that looks ahead gets no response of it", () => {
  const { routes } = converted(site('location ~ ^/(?!docs) { return 200 "text"; }'));
  expect(routes.filter(({ status }) => status === 200)).toEqual([]);
  expect(routes.some(({ regex, status }) => regex === "^/" && status === 503)).toBe(true);
});
