// What edge convert leaves out of Caddy, HAProxy and Traefik closes what is behind it, and listeners stay apart. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import type { Product } from "../../../../src/tools/convert/convert.ts";
import { convert } from "../../../harness/conversions.ts";
import { type Call, type Route, routed } from "../../../harness/converted-routes.ts";

const site = mkdtempSync(join(tmpdir(), "edge-closed-"));
mkdirSync(join(site, "sub"));
process.on("exit", () => rmSync(site, { recursive: true, force: true }));

const NAMES = { caddy: "Caddyfile", haproxy: "haproxy.cfg", traefik: "dynamic.yml", nginx: "nginx.conf" } as const;

interface Made {
  readonly routes: readonly Route[];
  readonly text: string;
  readonly config: string;
}

function made(product: Product, text: string): Made {
  const { code, err, routes, config, loaded } = convert(product, NAMES[product], text.replaceAll("SITE", site));
  expect({ code, err: code === 0 ? "" : err, faults: loaded?.ok === false ? loaded.faults : [] }).toEqual({
    code: 0,
    err: "",
    faults: [],
  });
  return { routes: (parse(routes) as { routes: Route[] }).routes, text: routes, config };
}

const CALL: Call = { host: "a.test", path: "/", method: "GET", address: "192.0.2.1", fields: {} };

/** The type of the route that lets a request in; "" where it is refused. */
function lets({ routes }: Made, path: string, more: Partial<Call> = {}): string {
  return routed(routes, { ...CALL, path, ...more })?.type ?? "";
}

describe("Caddy: in front of a folder", () => {
  const caddy = (...lines: readonly string[]): Made =>
    made("caddy", `:80 {\n\troot * SITE\n${lines.map((line) => `\t${line}\n`).join("")}}\n`);

  test.each([
    ["@php path *.php\n\treverse_proxy @php h:1", "file_server", "upstream"],
    ["@php path *.php\n\trespond @php 403", "file_server", ""],
    ["@php path *.php\n\thandle @php {\n\t\treverse_proxy h:1\n\t}", "file_server", "upstream"],
    ["@php path *.php\n\thandle @php {\n\t\treverse_proxy /a h:1\n\t}", "file_server", ""],
    ["@php path_regexp (?i)\\.php$\n\thandle @php {\n\t\treverse_proxy h:1\n\t}", "file_server", "upstream"],
    ["file_server {\n\t\thide *.php\n\t}", "", ""],
    ["file_server {\n\t\thide *.php .git\n\t}", "", ""],
  ])("%s: scripts are not sent, all else is", (line, end, scripts) => {
    const found = caddy(line, end);
    expect([lets(found, "/x.php"), lets(found, "/x.PHP"), lets(found, "/x.txt")]).toEqual([scripts, scripts, "static"]);
  });

  test.each([
    "@x expression `{path}.endsWith('.py')`\n\trespond @x 403",
    "@x vars {path} /a\n\treverse_proxy @x h:1",
    "cgi /cgi-bin/* /usr/bin/x",
    "some_plugin",
    "templates",
    "method POST",
    "invoke named",
    "import ../nowhere.conf",
    "rewrite * /public{uri}",
    "@x file\n\terror @x 403",
    "@x client_ip\n\tabort @x",
    "route {\n\t\theader X-A b\n\t}",
  ])("%s: the folder is closed, and the table says so", (line) => {
    const found = caddy(line, "file_server");
    expect(lets(found, "/x.py")).toBe("");
    expect(found.text).toMatch(/closed/);
  });

  test("another root for a part closes the part", () => {
    const found = caddy("root /sub/* /srv/other", "file_server");
    expect([lets(found, "/sub/x"), lets(found, "/SUB/x"), lets(found, "/x")]).toEqual(["", "", "static"]);
  });

  test("the path that a block has taken off is not that of its matchers", () => {
    const found = caddy("handle_path /s/* {\n\t\trespond /deep/* 403\n\t\treverse_proxy h:1\n\t}", "reverse_proxy h:2");
    expect([lets(found, "/s/deep/x"), lets(found, "/S/deep/x"), lets(found, "/deep/x")]).toEqual(["", "", "upstream"]);
  });

  test("the part that is taken off is a text, whatever its signs", () => {
    const found = caddy("handle_path /v(1)/* {\n\t\treverse_proxy /x/* h:1\n\t}");
    expect(found.text).toContain('regex: ^/v\\(1\\)/(.*)$\n      to: "/{match.1}"\n');
  });

  test("lines of one matcher are alternatives, and addresses are those of the peer", () => {
    const text = "@x {\n\t\tpath /a/*\n\t\tpath /b/*\n\t}\n\trespond @x 403";
    expect([lets(caddy(text, "file_server"), "/b/x"), lets(caddy(text, "file_server"), "/c")]).toEqual(["", "static"]);
    const behind = made(
      "caddy",
      "{\n\tservers {\n\t\ttrusted_proxies static 10.0.0.0/8\n\t\tclient_ip_headers X-Real-IP\n\t}\n}\n:80 {\n\t@x not client_ip 192.0.2.0/24\n\tabort @x\n\treverse_proxy h:1\n}\n",
    );
    expect([lets(behind, "/"), behind.config.includes("trusted_proxies:")]).toEqual(["", false]);
  });
});

describe("Caddy: matchers as Caddy joins their lines", () => {
  const caddy = (matcher: string): Made =>
    made("caddy", `:80 {\n\t@x ${matcher}\n\trespond @x 403\n\treverse_proxy h:1\n}\n`);

  test("not with a block on the line of the name", () => {
    for (const block of ["not {", "{\n\t\tnot {"]) {
      const found = caddy(`${block}\n\t\tmethod GET\n\t\tpath /api/*\n\t}${block.startsWith("{") ? "\n\t}" : ""}`);
      const seen = [lets(found, "/api/x"), lets(found, "/"), lets(found, "/api/x", { method: "POST" })];
      expect({ block, seen }).toEqual({ block, seen: ["upstream", "", ""] });
    }
  });

  test("values of one field are alternatives, fields are not", () => {
    const one = caddy("{\n\t\theader X-Token good\n\t\theader x-token bad\n\t}");
    const two = caddy("{\n\t\theader X-Token good\n\t\theader X-Other 1\n\t}");
    const fields: Record<string, string>[] = [
      { "x-token": "good" },
      { "x-token": "bad" },
      { "x-token": "good", "x-other": "1" },
      {},
    ];
    expect(fields.map((each) => lets(one, "/", { fields: each }))).toEqual(["", "", "", "upstream"]);
    expect(fields.map((each) => lets(two, "/", { fields: each }))).toEqual(["upstream", "upstream", "", "upstream"]);
  });

  test.each([
    "{\n\t\tquery a=1\n\t\tquery b=1\n\t}",
    "{\n\t\tquery a=1\n\t\tquery a=2\n\t}",
    "{\n\t\theader X-Token good\n\t\theader !X-Token\n\t}",
    "{\n\t\tpath_regexp ^/a\n\t\tpath_regexp ^/b\n\t}",
    "{\n\t\theader_regexp X-A a\n\t\theader_regexp X-A b\n\t}",
    "path_regexp {\n\t\tx\n\t}",
  ])("%j: what is joined otherwise by the version refuses all", (matcher) => {
    expect(lets(caddy(matcher), "/")).toBe("");
  });

  test("a path below a password takes no path of a refusal", () => {
    const rule = "basic_auth {\n\t\t\tu $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n\t\t}";
    const inside = `handle /api/* {\n\t\t${rule}\n\t\treverse_proxy h:1\n\t}\n\thandle {\n\t\terror 404\n\t}`;
    const found = made("caddy", `:80 {\n\t${inside}\n}\n`);
    expect(routed(found.routes, { ...CALL, path: "/api" })?.type ?? "").toBe("");
    expect(found.text).toContain("path: /api\n");
  });
});

test("Caddy: a site whose clients need certificates is closed", () => {
  const tls = "tls {\n\t\tclient_auth {\n\t\t\tmode require_and_verify\n\t\t}\n\t}";
  const found = made("caddy", `a.test {\n\t${tls}\n\treverse_proxy h:1\n}\nhttp://b.test:81 {\n\trespond b\n}\n`);
  expect([lets(found, "/"), lets(found, "/", { host: "b.test" })]).toEqual(["", "respond"]);
  expect(found.text + found.config).toContain("need certificates");
});

describe("listeners", () => {
  /** What a listener serves. */
  const at = (found: Made, listener: string): Made => ({
    ...found,
    routes: found.routes.filter(({ listeners }) => listeners?.includes(listener) ?? true),
  });

  test("of Caddy's sites, those on another port are at it alone", () => {
    const found = made("caddy", "http://a.test {\n\trespond open\n}\n:9000 {\n\trespond inside\n}\n");
    const bodies = (listener: string) => at(found, listener).routes.map(({ body }) => body);
    expect([bodies("http-80"), bodies("http-9000")]).toEqual([["open"], ["inside"]]);
    expect(found.text).not.toContain("left out");
  });

  test("of HAProxy's frontends, those on another port or address are at it alone, or left out if it cannot be", () => {
    for (const [bind, name] of [
      ["10.0.0.5:8081", "http-10-0-0-5-8081"],
      [":8081", "http-8081"],
      ["/run/x.sock", "http-run-x-sock"],
      ["10.0.0.5:80", ""],
    ] as const) {
      const text = `defaults\n  mode http\nfrontend a\n  bind :80\n  use_backend b if { path_beg /a/ }\nfrontend own\n  bind ${bind}\n  default_backend c\nbackend b\n  server s h:1\nbackend c\n  server s h:2\n`;
      const found = made("haproxy", text);
      const ways = ["http-80", name].map((listener) => lets(at(found, listener), "/x"));
      expect({ bind, ways, said: /own.*left out/.test(found.text) }).toEqual({
        bind,
        ways: ["", name === "" ? "" : "upstream"],
        said: name === "",
      });
      // In the other order the wider address stays as well.
      const turned = made(
        "haproxy",
        text.replace(/(frontend a[\s\S]*)(frontend own[\s\S]*)(backend b[\s\S]*)/, "$2$1$3"),
      );
      expect([bind, lets(at(turned, "http-80"), "/a/x"), lets(at(turned, "http-80"), "/x")]).toEqual([
        bind,
        "upstream",
        "",
      ]);
    }
  });

  test("of Traefik's routers, those of another entry point are left out", () => {
    for (const key of ["entryPoints", "entrypoints"]) {
      const text = `http:\n  routers:\n    a: {rule: "Path(\`/a\`)", service: s, entryPoints: [web]}\n    b: {rule: "PathPrefix(\`/\`)", service: s, ${key}: [internal]}\n  services: {s: {loadBalancer: {servers: [{url: "http://h:1"}]}}}\n`;
      const found = made("traefik", text);
      expect([lets(found, "/a"), lets(found, "/x"), /left out/.test(found.text)]).toEqual(["upstream", "", true]);
    }
  });

  test("of Traefik's routers, those of an entry point whose address is in the file are at it alone", () => {
    const text = `entryPoints:
  web: {address: ":80", http: {redirections: {entryPoint: {to: websecure}}}}
  websecure: {address: ":8443"}
  internal: {address: "127.0.0.1:9000"}
http:
  routers:
    a: {rule: "Path(\`/a\`)", service: s, entryPoints: [websecure], tls: {}}
    b: {rule: "PathPrefix(\`/\`)", service: s, entryPoints: [internal]}
  services: {s: {loadBalancer: {servers: [{url: "http://h:1"}]}}}
`;
    const found = made("traefik", text);
    const ways = ["http-80", "https-8443", "http-127-0-0-1-9000"].map((listener) =>
      ["/a", "/x"].map((path) => lets(at(found, listener), path)),
    );
    expect(ways).toEqual([
      ["", ""],
      ["upstream", ""],
      ["upstream", "upstream"],
    ]);
    expect(found.config).toContain("redirect_https: true");
  });
});

describe("HAProxy", () => {
  test("a redirect to a page for signing in takes all that begins with its letters", () => {
    const rules = [
      "location /login if { path_beg /admin } !{ cook(sid) -m found }",
      "prefix https://x if { path_beg /old }",
    ];
    const text = `frontend f\n  mode http\n  bind :80\n${rules.map((one) => `  http-request redirect ${one}\n`).join("")}  default_backend b\nbackend b\n  mode http\n  server s h:1\n`;
    const found = made("haproxy", text);
    expect(["/admin", "/adminx", "/admin;a/b", "/old", "/oldx", "/x"].map((path) => lets(found, path))).toEqual([
      "redirect",
      "redirect",
      "redirect",
      "redirect",
      "redirect",
      "upstream",
    ]);
  });

  const haproxy = (...lines: readonly string[]): Made =>
    made(
      "haproxy",
      `defaults\n  mode http\nfrontend f\n  bind :80\n${lines.map((line) => `  ${line}\n`).join("")}  default_backend b\nbackend b\n  server s h:1\n`,
    );

  test.each([
    "http-request deny if { var(txn.bad) -m found }",
    'http-request deny if { src "$BAD" }',
    "http-request deny if { src -f /etc/bad.lst }",
    "http-request return status 403 if { rand(2) 1 }",
    "http-request lua.check",
    "http-request tarpit if { sc_http_req_rate(0) gt 10 }",
    "tcp-request content reject if { req.len gt 10 }",
    "use_backend %[path,map(/x)]",
    "use_backend c if { nbsrv(c) gt 0 }",
    "reqdeny ^GET",
    "filter lua.waf",
    "http-request set-uri /x%[path] if { path_len 3 }",
    "http-response deny if { status 500 }",
  ])("%s: what it may be for is closed, and the table says so", (line) => {
    const found = haproxy(line);
    expect(lets(found, "/abc")).toBe("");
    expect(found.text).toMatch(/closed/);
  });

  test("paths are refused as they are compared there", () => {
    const found = haproxy("http-request deny if { path_beg -i /adm } or { path_end .bak .sql }");
    expect(["/adm", "/ADMIN/x", "/x.sql", "/y"].map((path) => lets(found, path))).toEqual(["", "", "", "upstream"]);
  });

  test("backends by expressions for the path", () => {
    const backends = "c:\nd: http-request deny if { path_beg /v1/ }".replace(
      /^(\w): ?(.*)$/gm,
      "backend $1\n  $2\n  server s $1:1",
    );
    const found = haproxy(
      "http-request deny if { path_beg /shut/ }",
      "use_backend c if { path_end -i .css .js } or { path_sub /_x/ } { method POST }",
      "use_backend d if { path_reg ^/v[0-9]+/ }",
      `default_backend b\n${backends}\nfrontend unused\n  bind :80`,
    );
    const target = (path: string, method = "GET"): unknown =>
      (routed(found.routes, { ...CALL, path, method }) as { target?: string } | null)?.target;
    const paths = ["/x.css", "/a/x.JS", "/x.css/y", "/shut/x.css", "/a/_x/b", "/v2/x", "/v/x"];
    expect(paths.map((path) => target(path))).toEqual([
      "http://c:1",
      "http://c:1",
      "http://h:1",
      undefined,
      "http://h:1",
      undefined,
      "http://h:1",
    ]);
    expect(target("/a/_x/b", "POST")).toBe("http://c:1");
    for (const odd of ["path_reg ^/.$", "path_end %41", "path_sub //", "path_reg (?!a)b"])
      for (const { type, regex } of haproxy(`use_backend b if { ${odd} }`).routes)
        if (regex !== undefined) expect(type).toBe("respond");
  });

  test("what has been changed before is no longer the client's", () => {
    const path = haproxy("http-request set-path /x%[path]", "http-request deny if { path_beg /x/a }");
    const field = haproxy("http-request del-header X-In", "http-request deny unless { req.hdr(X-In) 1 }");
    expect([lets(path, "/a"), lets(field, "/", { fields: { "X-In": "1" } })]).toEqual(["", ""]);
  });

  test("fields about the client that are set or taken off are carried over", () => {
    const { routes } = haproxy(
      "http-request set-header X-Forwarded-Proto https",
      "http-request del-header X-Forwarded-Host",
      'http-request set-header X-User "$USER"',
    );
    expect(routes).toMatchObject([
      { headers: { request: { set: { "X-Forwarded-Proto": "https" }, remove: ["X-Forwarded-Host", "X-User"] } } },
    ]);
  });
});

describe("Traefik", () => {
  const traefik = (middlewares: string, names = "[m]", rule = "PathPrefix(`/a`)"): Made =>
    made(
      "traefik",
      `http:\n  routers:\n    a: {rule: "${rule}", service: s, priority: 9, middlewares: ${names}}\n    z: {rule: "PathPrefix(\`/\`)", service: s, priority: 1}\n  middlewares: {m: ${middlewares}}\n  services: {s: {loadBalancer: {servers: [{url: "http://h:1"}]}}}\n`,
    );

  test.each([
    "{digestAuth: {users: [x]}}",
    "{plugin: {p: {a: b}}}",
    "{ipAllowList: {sourceRange: [192.0.2.0/24], ipStrategy: {depth: 1}}}",
    "{compress: {}, ipAllowList: {sourceRange: [10.0.0.0/8]}}",
    "{chain: {middlewares: [nowhere]}}",
    "{IPALLOWLIST: {SOURCERANGE: [10.0.0.0/8]}}",
    "{basicauth: {usersfile: /nowhere/users}}",
    "{headers: {allowedHosts: [b.test]}}",
    "{redirectRegex: {regex: x, replacement: y}}",
    "{stripPrefixRegex: {regex: [x]}}",
    "{passTLSClientCert: {pem: true}}",
  ])("%s closes its routes", (own) => {
    const found = traefik(own);
    // Letters that only begin so are the router's, too.
    expect([lets(found, "/a"), lets(found, "/a/x"), lets(found, "/ax"), lets(found, "/b")]).toEqual([
      "",
      "",
      "",
      "upstream",
    ]);
  });

  test("a rule that cannot be said closes what it may be for", () => {
    for (const rule of ["Path(`/{x}`)", "Odd(`x`)", "Header(`A`, `1`) && Header(`A`, `2`)"]) {
      const found = traefik("{compress: {}}", "[m]", rule);
      expect({ rule, found: lets(found, "/x.php", { fields: { A: "1" } }) }).toEqual({ rule, found: "" });
    }
  });

  test("keys and middlewares in any letter case, and lists of one text", () => {
    const text = `HTTP:\n  Routers:\n    a: {Rule: "Path(\`/a\`)", Service: s, Middlewares: "m, n"}\n  Middlewares: {m: {IpAllowList: {SourceRange: [10.0.0.0/8]}}, n: {Compress: {}}}\n  Services: {s: {LoadBalancer: {Servers: [{URL: "http://h:1"}]}}}\n`;
    const found = made("traefik", text);
    expect([lets(found, "/a"), lets(found, "/a", { address: "10.0.0.1" })]).toEqual(["", "upstream"]);
  });
});

test("a variable of another product is none of edge's", () => {
  const caddy = made("caddy", ':80 {\n\trespond "${HOME:-x} $HOME"\n}\n');
  const traefik = made(
    "traefik",
    'http:\n  routers: {a: {rule: "Path(`/a`)", service: s, middlewares: [m]}}\n  middlewares: {m: {headers: {customRequestHeaders: {X-A: "${HOME}"}}}}\n  services: {s: {loadBalancer: {servers: [{url: "http://h:1"}]}}}\n',
  );
  expect(caddy.text).toContain("$${{HOME:-x}} $HOME");
  expect(traefik.text).toContain("$${{HOME}}");
});

describe("a refusal of some requests, at a route with an expression for the path", () => {
  const refused: readonly (readonly [Product, string])[] = [
    [
      "haproxy",
      "frontend f\n  mode http\n  bind :80\n  http-request deny unless METH_GET\n  http-request redirect location /r if { path_end .php }\n  default_backend b\nbackend b\n  mode http\n  server s h:1\n",
    ],
    [
      "nginx",
      "server { listen 80; if ($request_method !~ ^(GET|HEAD)$) { return 405; } location ~ \\.php$ { return 301 /r; } location / { proxy_pass http://h:1; } }\n",
    ],
    [
      "nginx",
      "server { listen 80; if ($request_method !~ ^(GET|HEAD)$) { return 200 no; } location ~ \\.php$ { return 301 /r; } location / { proxy_pass http://h:1; } }\n",
    ],
  ];

  test.each(refused)("%s: takes the paths of the expression alone", (product, text) => {
    const found = made(product, text);
    expect(found.routes.filter(({ type, methods, regex }) => type === "respond" && !methods && !regex)).toEqual([]);
    const seen = ["/x.php", "/x"].flatMap((path) => [lets(found, path), lets(found, path, { method: "POST" })]);
    const other = text.includes("return 200") ? "respond" : "";
    expect(seen).toEqual(["redirect", other, "upstream", other]);
  });
});
