// What generated sites of nginx, Caddy and HAProxy did otherwise behind edge convert: the origin gets the same path, and clients the same fields,
// or a note says so. tests/conformance/converted-sites.test.ts compares them with the originals.
import { expect, test } from "bun:test";
import { parse } from "yaml";
import type { Product } from "../../../../src/tools/convert/convert.ts";
import { convert } from "../../../harness/conversions.ts";
import type { Settings } from "../../../harness/gateway.ts";

/** The routes of a text, and the table of what is noted. */
function converted(product: Product, text: string): { readonly routes: readonly Settings[]; readonly notes: string } {
  const names = { nginx: "nginx.conf", caddy: "Caddyfile", haproxy: "haproxy.cfg", traefik: "traefik.yaml" } as const;
  const { code, routes, err } = convert(product, names[product], text);
  expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
  return { routes: (parse(routes) as { routes: Settings[] }).routes, notes: routes.slice(routes.indexOf("# | place")) };
}

const haproxy = (rules: string): string =>
  `defaults\n  mode http\nfrontend f\n  bind :80\n  default_backend b\nbackend b\n${rules}\n  server s h:1\n`;

test("a part of a route with an expression in its rewrite takes nothing off other paths", () => {
  const { routes } = converted(
    "caddy",
    "http://h.test {\n\t@post method POST\n\t@others not path /pub/*\n\thandle @post {\n\t\turi strip_prefix /a\n\t\treverse_proxy h:1\n\t}\n\trequest_header @others X-Set value\n\treverse_proxy h:1\n}\n",
  );
  const parts = routes.filter(({ prefix, rewrite }) => prefix === "/pub" && rewrite !== undefined);
  expect(parts.length).toBeGreaterThan(0);
  for (const part of parts) expect(part).toMatchObject({ strip_prefix: false });
});

test("Caddy's rewrite within handle_path sees what is left of the path", () => {
  const { routes } = converted(
    "caddy",
    "http://h.test {\n\thandle_path /a/* {\n\t\trewrite * /v2{uri}\n\t\treverse_proxy h:1\n\t}\n}\n",
  );
  expect(routes[0]).toMatchObject({ prefix: "/a", rewrite: { regex: "^/a/?(.*)$", to: "/v2/{match.1}" } });
});

test.each([
  ["\thandle_path /a/* {\n\t\tredir https://other.test{uri} 301\n\t}\n", "redir https://other.test{uri} 301"],
  ["\t@m not path /pub/*\n\trespond @m 404\n\thandle {\n\t\treverse_proxy h:1\n\t}\n", "respond @m 404"],
  ["\troot * /srv\n\thandle /b {\n\t\tfile_server\n\t}\n\treverse_proxy h:1\n", "file_server"],
])("Caddy: %j is noted", (body, directive) => {
  expect(converted("caddy", `http://h.test {\n${body}}\n`).notes).toContain(`| ${directive} |`);
});

test.each(["-X-Admin", "X-Admin no", "-X-*", "@post +X-Admin 1"])(
  "Caddy: a matcher of a field that request_header %s changes before opens nothing",
  (change) => {
    const { routes, notes } = converted(
      "caddy",
      `http://h.test {\n\t@post method POST\n\t@admin header X-Admin 1\n\trequest_header ${change}\n\thandle @admin {\n\t\treverse_proxy admin:1\n\t}\n\treverse_proxy h:1\n}\n`,
    );
    expect(JSON.stringify(routes)).not.toContain("admin:1");
    expect(notes).toContain("| handle @admin |");
  },
);

test("HAProxy: a second change of the path closes the route, unless nothing of the first is left", () => {
  const twice = converted(
    "haproxy",
    haproxy("  http-request replace-path ^/a/(.*) /b/\\1\n  http-request set-path /c%[path]"),
  );
  expect(twice.routes.at(-1)).toMatchObject({ type: "respond", status: 503 });
  expect(twice.notes).toContain("| http-request set-path /c%[path] |");
  const whole = converted(
    "haproxy",
    haproxy("  http-request replace-path ^/a/(.*) /b/\\1\n  http-request set-path /c"),
  );
  expect(whole.routes.at(-1)).toMatchObject({ type: "upstream", rewrite: { path: "/c" } });
});

test("nginx: locations that never take index.html leave the pages of folders open", () => {
  for (const location of ["^~ /b", "~ ^/a(.*)$", "~* ^/(a|pub)/b"]) {
    const { routes } = converted(
      "nginx",
      `http { server { listen 80; root /srv; location ${location} { proxy_pass http://h:1; } } }`,
    );
    expect({ location, closed: routes.filter(({ regex }) => regex === "/$") }).toEqual({ location, closed: [] });
  }
  const beside = converted(
    "nginx",
    "http { server { root /srv; location ~ ^/c.php(.*)$ { return 410; } location /a { try_files $uri $uri/ =404; } } }",
  );
  const atFolder = beside.routes.filter(({ prefix, regex }) => prefix === "/a" && regex === "/$");
  expect(atFolder).toEqual([]);
  const { routes } = converted("nginx", "http { server { root /srv; location ^~ /in { proxy_pass http://h:1; } } }");
  expect(routes.filter(({ regex }) => regex === "/$")).toHaveLength(1);
});

test("nginx: add_header counts for a redirect of an expression, and not for refusals without always", () => {
  const { routes } = converted(
    "nginx",
    "http { server { listen 80; add_header X-A b; location ~ [.]php$ { return 301 https://h.test/; } location /no { return 403; } } }",
  );
  expect(routes.find(({ type }) => type === "redirect")).toMatchObject({
    headers: { response: { add: { "X-A": "b" } } },
  });
  expect(routes.filter(({ status, headers }) => status === 403 && headers !== undefined)).toEqual([]);
});

const caddy = (body: string): string => `http://h.test {\n${body}\n}\n`;
const server = (body: string): string => `http { server { ${body} } }`;

test("Caddy: a block whose matcher has several paths, or none, keeps its place in front of a longer path", () => {
  for (const matcher of ["path /a/* /b", "query k=1"]) {
    const { routes } = converted(
      "caddy",
      caddy(`\t@m ${matcher}\n\thandle @m {\n\t\trespond 404\n\t}\n\thandle /a/* {\n\t\treverse_proxy h:1\n\t}`),
    );
    const ofPath = routes.filter(({ prefix }) => prefix === "/a" || prefix === "/");
    expect({ matcher, first: ofPath[0]?.type }).toEqual({ matcher, first: "respond" });
  }
});

test("Caddy: paths that begin with a part that the site removes are none with that part", () => {
  const { routes } = converted(
    "caddy",
    caddy('\turi strip_prefix /pub\n\thandle_path /pub/* {\n\t\trespond "text" 200\n\t}\n\trespond 404'),
  );
  expect(routes.filter(({ status }) => status === 200).map(({ prefix }) => prefix)).toEqual(["/pub/pub"]);
});

test("Caddy: a path without the part that the site removes stays whole, or is rewritten as its block says", () => {
  const { routes } = converted(
    "caddy",
    caddy(
      "\turi strip_prefix /pub\n\thandle /a/* {\n\t\trewrite * /x\n\t\treverse_proxy h:1\n\t}\n\thandle /b/* {\n\t\treverse_proxy h:1\n\t}",
    ),
  );
  const at = (place: string): Settings | undefined => routes.find(({ prefix }) => prefix === place);
  expect(at("/a")).toMatchObject({ rewrite: { path: "/x" } });
  expect(at("/pub/a")).toMatchObject({ rewrite: { path: "/x" } });
  expect(at("/b")).toMatchObject({ strip_prefix: false });
  expect(at("/b")).not.toHaveProperty("rewrite");
  expect(at("/pub/b")).toMatchObject({ rewrite: { regex: "^/pub/(.*)$", to: "/{match.1}" } });
});

test("Caddy: header sees the path before uri changes it, request_header after", () => {
  const { routes } = converted(
    "caddy",
    caddy("\turi strip_prefix /pub\n\theader /pub/* X-A a\n\trequest_header /pub/* X-B b\n\treverse_proxy h:1"),
  );
  const places = (direction: string): unknown[] =>
    routes.filter(({ headers }) => JSON.stringify(headers)?.includes(direction)).map(({ prefix }) => prefix);
  expect(places("X-A").sort()).toEqual(["/pub", "/pub/pub"]);
  expect(places("X-B")).toEqual(["/pub/pub"]);
});

test("nginx: methods that are refused at a file's own path leave its GET alone", () => {
  const { routes } = converted(
    "nginx",
    server("root /srv; location = /a.php { limit_except GET { deny all; } try_files $uri =404; }"),
  );
  expect(routes.filter(({ path, methods }) => path === "/a.php" && methods !== undefined)).toEqual([]);
  expect(routes.find(({ status }) => status === 403)).toMatchObject({ prefix: "/a.php", regex: "^/a\\.php$" });
});

test("nginx: fields of responses are those of redirects by rewrite and if, too", () => {
  const { routes } = converted(
    "nginx",
    server(
      "add_header X-A a; location /a { rewrite ^/a/(.*)$ /b/$1 permanent; if ($http_x = 1) { return 301 /x; } return 404; }",
    ),
  );
  const redirects = routes.filter(({ type }) => type === "redirect");
  expect(redirects.length).toBe(2);
  for (const one of redirects) expect(one).toMatchObject({ headers: { response: { add: { "X-A": "a" } } } });
});

test("nginx: limit_except refuses before the location answers", () => {
  const { routes } = converted("nginx", server("location /a { limit_except GET { deny all; } return 410; }"));
  const ofPath = routes.filter(({ prefix }) => prefix === "/a");
  expect(ofPath.map(({ status, methods }) => [status, JSON.stringify(methods ?? "").includes("POST")])).toEqual([
    [410, false],
    [403, true],
  ]);
});

test("HAProxy: the first refusal gives the status, and a redirect behind a change of the path is noted", () => {
  const { routes } = converted(
    "haproxy",
    haproxy("  http-request deny deny_status 410 unless { method POST }\n  http-request deny unless { method POST }"),
  );
  expect(routes.filter(({ status }) => status === 403)).toEqual([]);
  const { notes } = converted(
    "haproxy",
    haproxy(
      "  http-request set-path /pub%[path]\n  http-request redirect prefix https://a.test code 302 if { method POST }",
    ),
  );
  expect(notes).toContain("| http-request redirect prefix https://a.test code 302 if { method POST } |");
});
