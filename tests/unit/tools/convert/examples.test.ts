// Configurations of other gateways: each directive is carried over or named, and the result is in order. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { basename } from "node:path";
import { parse } from "yaml";
import { planOf, recognise } from "../../../../src/tools/convert/convert.ts";
import { Draft } from "../../../../src/tools/convert/draft.ts";
import { convert, type Example, examples } from "../../../harness/conversions.ts";

type Route = Readonly<Record<string, unknown>>;

function routesOf(product: Example["product"], name: string, text?: string): Route[] {
  const { routes, err, code } = convert(product, name, text);
  expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
  return (parse(routes) as { routes: Route[] }).routes;
}

describe("every example", () => {
  for (const example of examples()) {
    const { product, path, text } = example;
    const name = basename(path);
    test(`${product}/${name} is converted, passes the check and names what is left`, () => {
      const { code, err, routes, loaded } = convert(product, name);
      expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
      expect(loaded?.ok === false ? loaded.faults : []).toEqual([]);
      const { ledger } = planOf(product, path, text);
      expect(ledger.account().filter(({ fate }) => fate === null)).toEqual([]);
      const table = routes.split("\n").filter((line) => line.startsWith("# | "));
      for (const { statement, fate } of ledger.account()) {
        if (fate !== "noted") continue;
        const place = `${statement.file}:${statement.line}`;
        expect(table.some((line) => line.includes(`${place} |`))).toBe(true);
      }
    });
    test(`${product}/${name} is recognised`, () => {
      expect(recognise(path, text)).toBe(product);
      // Most of them by the text alone.
      if (!/\.(toml|ya?ml)$/.test(name)) expect(recognise("-", text)).toBe(product);
    });
  }
});

test("there are at least forty examples", () => {
  expect(examples().length).toBeGreaterThanOrEqual(40);
});

describe("nginx", () => {
  test("the path goes on as proxy_pass says", () => {
    const routes = routesOf("nginx", "rewrite-proxy.conf");
    const at = (place: string): Route =>
      routes.find(({ prefix, path, type }) => type !== "redirect" && (prefix ?? path) === place)!;
    expect(at("/v1")).toMatchObject({ rewrite: { regex: "^/v1/(.*)$", to: "/api/{match.1}" } });
    expect(at("/same")).toMatchObject({ target: "http://127.0.0.1:9000/same" });
    expect(at("/odd")).toMatchObject({ rewrite: { regex: "^/odd(.*)$", to: "/base/{match.1}" } });
    expect(at("/one")).toMatchObject({ path: "/one", rewrite: { path: "/two" } });
    expect(at("/var")).toMatchObject({ target: "http://127.0.0.1:9100", strip_prefix: false });
    expect(at("/dynamic")).toMatchObject({ type: "respond", status: 503 });
  });

  test("what decides who may come in, and cannot be said, closes the route", () => {
    const routes = routesOf("nginx", "access-rules.conf");
    const at = (place: string): Route => routes.find(({ prefix }) => prefix === place)!;
    expect(at("/admin")).toMatchObject({ ip_rules: { allow: ["10.0.0.0/8", "192.168.1.7"] } });
    expect(at("/partner")).toMatchObject({ ip_rules: { allow: ["203.0.113.0/24"], deny: ["203.0.113.9"] } });
    expect(at("/odd")).toMatchObject({ ip_rules: { deny: ["0.0.0.0/0", "::/0"] } });
    // The file with the passwords is not there.
    expect(at("/private")).toEqual({ type: "respond", prefix: "/private", status: 503 });
    expect(at("/closed")).toMatchObject({ type: "respond", status: 403 });
    expect(at("/login")).toMatchObject({ rate_limit: { requests: 5, window: "1m", burst: 4, status: 429 } });
    const forwarded = routesOf("nginx", "auth-request.conf");
    expect(forwarded.find(({ prefix, regex }) => prefix === "/" && regex === undefined)).toMatchObject({
      auth: { forward: { url: "http://127.0.0.1:4180/oauth2/auth" } },
    });
    expect(forwarded.find(({ prefix }) => prefix === "/missing")).toMatchObject({
      ip_rules: { deny: ["0.0.0.0/0", "::/0"] },
    });
  });

  test("pages of errors that are not there cost the pages alone", () => {
    const routes = routesOf("nginx", "error-pages-away.conf");
    expect(routes.map(({ type, prefix, path, errors }) => [type, prefix ?? path, errors])).toEqual([
      ["respond", "/ok", undefined],
      ["redirect", "/api", undefined],
      ["upstream", "/api", undefined],
      // Folders are looked for without a slash.
      ["respond", "/", undefined],
      ["static", "/", undefined],
    ]);
    expect(routes[0]).toMatchObject({ content_type: "text/css" });
    expect(convert("nginx", "error-pages-away.conf").config).toContain("#   errors:");
  });

  test("servers are found before locations", () => {
    const routes = routesOf("nginx", "virtual-hosts.conf");
    // /api of the pattern must not take what belongs to the shop.
    expect(
      routes.find(({ prefix, host }) => prefix === "/api" && Array.isArray(host) && host.includes("shop.example.com")),
    ).toMatchObject({
      target: "http://127.0.0.1:8001",
    });
  });

  test("a server that only leads to TLS, as Certbot writes it, is a setting", () => {
    expect(routesOf("nginx", "certbot.conf")).toMatchObject([{ prefix: "/", target: "http://127.0.0.1:3000" }]);
    expect(convert("nginx", "certbot.conf").config).toContain("redirect_http: true");
  });

  test("clear text and TLS of one name have routes of their own", () => {
    const { config, routes } = convert("nginx", "clear-and-tls.conf");
    // The certificate is not there: what is served by TLS alone is a comment, and not to be had in clear text.
    expect(config).toContain('# server:\n#   listeners:\n#     - name: https\n#       address: ":443"');
    const served = (parse(routes) as { routes: Record<string, unknown>[] }).routes;
    const at = (host: string): unknown => served.find((one) => one.prefix === "/" && one.host === host);
    expect(at("old.example.com")).toMatchObject({ to: "https://new.example.com{uri}", listeners: ["http-80"] });
    expect(JSON.stringify(served)).toContain("http://127.0.0.1:8001");
    expect(JSON.stringify(served)).not.toContain("http://127.0.0.1:8002");
  });

  test("a single quote, an escape and a brace in a word are read as nginx reads them", () => {
    const routes = routesOf("nginx", "quotes-and-comments.conf");
    expect(routes.find(({ prefix }) => prefix === "/a")).toMatchObject({
      body: 'semi;colon {{brace}} "quoted" # no comment',
    });
  });
});

describe("HAProxy", () => {
  test("the first rule that fits wins, whatever its kind", () => {
    const routes = routesOf("haproxy", "order.cfg");
    const target = (host: string | undefined, prefix: string): unknown =>
      routes.find((one) => one.host === host && one.prefix === prefix)?.target;
    expect(target("blue.example.com", "/")).toBe("http://127.0.0.1:9001");
    expect(target("blue.example.com", "/api")).toBe("http://127.0.0.1:9001");
    expect(target("green.example.com", "/")).toBe("http://127.0.0.1:9003");
    expect(target("green.example.com", "/api")).toBeUndefined();
    expect(target(undefined, "/api")).toBe("http://127.0.0.1:9002");
    expect(target(undefined, "/")).toBe("http://127.0.0.1:9004");
  });

  test("a condition at a change makes routes of their own", () => {
    const routes = routesOf("haproxy", "conditions.cfg");
    const find = (host: string | undefined, prefix: string, hasMatch = false): Route =>
      routes.find((one) => one.host === host && one.prefix === prefix && (one.match !== undefined) === hasMatch)!;
    expect(find(undefined, "/admin")).toMatchObject({
      target: "http://10.0.0.1:80",
      ip_rules: { allow: ["198.51.100.0/24"] },
    });
    expect(find("api.example.com", "/admin")).toMatchObject({
      target: "http://10.0.1.1:8080",
      ip_rules: { allow: ["198.51.100.0/24"] },
      headers: { request: { set: { "X-Team": "api" } } },
    });
    expect(find(undefined, "/").ip_rules).toBeUndefined();
    expect(find(undefined, "/").headers).toBeUndefined();
    expect(find(undefined, "/", true)).toMatchObject({ headers: { request: { set: { "X-Beta": "yes" } } } });
  });

  test("passwords that cannot be verified close the routes", () => {
    expect(routesOf("haproxy", "auth.cfg")).toMatchObject([{ ip_rules: { deny: ["0.0.0.0/0", "::/0"] } }]);
  });
});

describe("Caddy", () => {
  test("a modifier for a part of the paths makes routes of its own", () => {
    const all = routesOf("caddy", "auth.caddyfile");
    const routes = all.filter(({ regex }) => regex === undefined);
    // Letter case does not count there.
    expect(all.filter(({ regex }) => regex !== undefined)).toMatchObject([
      { type: "respond", prefix: "/", status: 403, regex: "(?i)^/admin(/|$)" },
      { type: "respond", prefix: "/", status: 403, regex: "(?i)^/app(/|$)" },
    ]);
    expect(routes.map(({ prefix, auth }) => [prefix, Object.keys((auth ?? {}) as object)[0]])).toEqual([
      ["/admin", "basic"],
      ["/app", "forward"],
      ["/", undefined],
    ]);
  });

  test("handle_path removes what it matches, handle does not", () => {
    const routes = routesOf("caddy", "paths.caddyfile");
    const at = (place: string): Route => routes.find(({ prefix }) => prefix === place)!;
    expect(at("/strip").strip_prefix).toBeUndefined();
    expect(at("/keep").strip_prefix).toBe(false);
    expect(at("/routed").strip_prefix).toBeUndefined();
    expect(at("/rewritten").rewrite).toEqual({ path: "/base{path}" });
  });
});

test("blocks of Caddy's imports are put in their place, or noted", () => {
  const routes = routesOf("caddy", "blocks.caddyfile");
  expect(routes.map(({ host, prefix, body, target }) => [host, prefix, body ?? target])).toEqual([
    ["a.test", "/", "first"],
    ["b.test", "/", "http://localhost:9001"],
    ["c.test", "/a", "named"],
    ["c.test", "/", "rest"],
  ]);
  expect(convert("caddy", "blocks.caddyfile").routes).toContain("what it imports has no place for second of its block");
});

describe("Traefik", () => {
  test("services within services become targets", () => {
    const routes = routesOf("traefik", "services.toml");
    const at = (host: string): Route => routes.find((one) => one.host === host)!;
    expect(at("canary.example.com").targets).toEqual([
      { url: "https://10.0.0.1", weight: 9 },
      { url: "http://10.0.0.2:8080", weight: 1 },
    ]);
    expect(at("copy.example.com")).toMatchObject({ mirror: { target: "http://10.0.0.2:8080", share: "10%" } });
    expect(at("spare.example.com").targets).toEqual([
      { url: "https://10.0.0.1" },
      { url: "http://10.0.0.2:8080", backup: true },
    ]);
  });

  test("middlewares that keep clients out close the route where they are not carried over", () => {
    const routes = routesOf("traefik", "middlewares.yml");
    expect(routes.find(({ prefix }) => prefix === "/odd")).toMatchObject({ type: "respond", status: 503 });
    expect(routes.find(({ prefix }) => prefix === "/signed")).toMatchObject({
      auth: { forward: { url: "http://127.0.0.1:4181" } },
    });
  });
});

describe("what cannot be read", () => {
  const FAULTY: readonly (readonly [Example["product"], string, string, RegExp])[] = [
    ["nginx", "nginx.conf", "server { listen 80;", /nginx\.conf:1: the block of "server" is not closed/],
    ["nginx", "nginx.conf", "listen 80\n}", /not ended/],
    ["nginx", "nginx.conf", 'return 200 "a', /is not closed/],
    ["nginx", "nginx.conf", `${"a {".repeat(100)}${"}".repeat(100)}`, /too deep/],
    ["nginx", "nginx.conf", "\n \n", /is empty/],
    ["caddy", "Caddyfile", "\x7fELF\0\x01 {\n}\n", /is no text/],
    ["nginx", "nginx.conf", "# a comment", /no directives/],
    ["caddy", "Caddyfile", ":80 {\n\trespond ok\n", /not closed/],
    ["haproxy", "haproxy.cfg", "bind :80", /in no section/],
    ["traefik", "dynamic.yml", "http: [", /dynamic\.yml:1/],
    ["traefik", "dynamic.toml", "[http", /dynamic\.toml/],
  ];
  for (const [product, name, text, message] of FAULTY) {
    test(`${JSON.stringify(text.slice(0, 20))} as ${name} is a fault with exit code 1`, () => {
      const { code, err } = convert(product, name, text);
      expect(code).toBe(1);
      expect(err).toMatch(message);
    });
  }

  test("an include of itself ends", () => {
    const { code, err } = convert("nginx", "nginx.conf", "include nginx.conf;");
    expect({ code, err }).toMatchObject({ code: 1 });
    expect(err).toContain("too deep");
  });
});

describe("what keeps clients out elsewhere than at a route", () => {
  const LOCAL = ["127.0.0.0/8", "::1"];
  test("a listener of this machine alone stays one, beside others", () => {
    const haproxy = `frontend in
  mode http
  bind :80
  use_backend x if { hdr(host) a.test }
frontend own
  mode http
  bind 127.0.0.1:80
  default_backend x
backend x
  server s 127.0.0.1:9`;
    const caddy = "http://a.test {\n\trespond a\n}\nhttp://b.test {\n\tbind 127.0.0.1\n\trespond b\n}\n";
    for (const [product, name, text] of [
      ["haproxy", "haproxy.cfg", haproxy],
      ["caddy", "Caddyfile", caddy],
    ] as const) {
      const routes = routesOf(product, name, text);
      const own = routes.find(({ host }) => host === "b.test" || (product === "haproxy" && host === undefined));
      const open = routes.find((one) => one !== own);
      expect({ product, open: open!.ip_rules, own: own!.ip_rules }).toEqual({
        product,
        open: undefined,
        own: { allow: LOCAL },
      });
    }
  });

  test("a server that no route can be chosen for is named with what it refuses", () => {
    const text = `server { listen 80; location / { return 200 a; } }
server { listen 80; server_name ~^b; location / { deny all; } }
server { listen 127.0.0.1:80; location / { allow 10.0.0.0/8; deny all; } }`;
    const { routes } = convert("nginx", "nginx.conf", text);
    for (const words of ["nginx.conf:2 | deny all", "nginx.conf:3 | allow 10.0.0.0/8", "nginx.conf:3 | deny all"])
      expect(routes).toContain(words);
  });

  test("prefixes below one with ^~ have expressions before them, and that one has none", () => {
    const text =
      "server { location ^~ /a/ { proxy_pass http://a; } location /a/b/ { proxy_pass http://b; } location ~ secret { deny all; } }";
    const routes = routesOf("nginx", "nginx.conf", text);
    const refused = routes.filter(({ regex }) => regex === "secret");
    expect(refused.flatMap(({ prefix }) => prefix ?? [])).toEqual(["/a/b", "/"]);
  });

  test("a refusal by an expression that no route can have closes what would get its requests", () => {
    const text = "server { location / { proxy_pass http://a; } location ~ ^/[[:nothing:]]/x { deny all; } }";
    const { routes } = convert("nginx", "nginx.conf", text);
    expect((parse(routes) as { routes: Route[] }).routes).toMatchObject([
      { type: "respond", prefix: "/", status: 503 },
    ]);
  });

  test("what nginx runs is not sent as a file", () => {
    const text = `server { listen 80; root ${import.meta.dir}; location / { } location ~ [.]x$ { memcached_pass 127.0.0.1:9; } }`;
    expect(routesOf("nginx", "nginx.conf", text)).toMatchObject([
      { type: "respond", regex: "[.]x\\n?$", status: 503 },
      { type: "static" },
    ]);
    const refused = routesOf("nginx", "nginx.conf", text.replace("memcached_pass 127.0.0.1:9", "deny all"));
    expect(refused).toMatchObject([{ type: "respond", regex: "[.]x\\n?$", status: 403 }, { type: "static" }]);
    // No expression of a route looks around itself: more is refused.
    const around = text.replace("[.]x$", "[.](?!x)").replace("memcached_pass 127.0.0.1:9", "deny all");
    expect(routesOf("nginx", "nginx.conf", around)[0]).toMatchObject({ type: "respond", regex: "[.]", status: 403 });
    const unknown = "server { location / { if ($bad) { return 403; } return 200; } }";
    expect(routesOf("nginx", "nginx.conf", unknown)).toMatchObject([{ ip_rules: { deny: ["0.0.0.0/0", "::/0"] } }]);
  });

  test("the strictest of several servers asks for certificates", () => {
    const server = (name: string, verify: string): string =>
      `server { listen 443 ssl; server_name ${name}; ssl_certificate c; ssl_certificate_key k; ssl_client_certificate ca; ssl_verify_client ${verify}; return 200; }`;
    for (const order of [
      ["on", "optional"],
      ["optional", "on"],
    ])
      expect(
        convert("nginx", "nginx.conf", order.map((one, i) => server(`${i}.test`, one)).join("\n")).config,
      ).toContain("client_auth: require");
  });

  test("middlewares that are not there, and unknown ones, close the route", () => {
    const text = (name: string): string => `http:
  routers: { r: { rule: "Host(\`a.test\`)", service: s, middlewares: [${name}] } }
  middlewares: { mine: { something: { x: y } }, many: { inFlightReq: { amount: 5 } } }
  services: { s: { loadBalancer: { servers: [{ url: "http://127.0.0.1:9" }] } } }`;
    const types = ["away@docker", "mine", "many"].map(
      (name) => routesOf("traefik", "dynamic.yml", text(name))[0]!.type,
    );
    expect(types).toEqual(["respond", "respond", "upstream"]);
  });

  test("two networks that both must hold a client are the smaller one, and two ways to sign in are none", () => {
    const text = `:80 {
	@a not remote_ip 10.0.0.0/8
	abort @a
	@b not remote_ip 10.1.0.0/16
	abort @b
	forward_auth 127.0.0.1:9091
	basic_auth {
		bob $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG
	}
	reverse_proxy 127.0.0.1:9000
}`;
    const rules = (words: string): unknown => routesOf("caddy", "Caddyfile", words)[0]!.ip_rules;
    expect(rules(text.replace("forward_auth 127.0.0.1:9091", ""))).toEqual({ allow: ["10.1.0.0/16"] });
    expect(rules(text)).toEqual({ deny: ["0.0.0.0/0", "::/0"] });
  });
});

test("a route that edge check refuses is a comment with a route in its place", () => {
  const plan = planOf("nginx", "x.conf", "server { listen 80; location /a { root /nowhere/at/all; } }");
  const draft = new Draft(plan, "x.conf");
  draft.takeFromRoute(draft.written(), "routes[0].dir", "no such folder");
  expect(draft.routesText()).toContain("  #   dir: /nowhere/at/all/a");
  expect(parse(draft.routesText())).toEqual({ routes: [{ type: "respond", prefix: "/a", status: 503 }] });
});

test("a method that an expression for paths leaves out stays out", () => {
  const text = `http:
  routers: { r: { rule: "PathRegexp(\`[.]php$\`) && !Method(\`POST\`)", service: s } }
  services: { s: { loadBalancer: { servers: [{ url: "http://h:1" }] } } }`;
  // Routes with regex are asked before those without, and routes with match, too.
  expect(routesOf("traefik", "traefik.yaml", text)).toMatchObject([
    { type: "respond", methods: ["POST"], match: { share: "100%" }, status: 404 },
    { type: "upstream", regex: "[.]php$" },
  ]);
});
