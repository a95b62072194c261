// docs/providers.md#labels-of-traefik
import { describe, expect, test } from "bun:test";
import { traefikRoutes } from "../../../../src/tools/convert/traefik/traefik-labels.ts";

type Labels = Readonly<Record<string, string>>;

const around = { listeners: ["public"], redirectsHttps: true, isTrusted: false, provider: "docker" };
const container = (name: string, labels: Labels) => ({
  name,
  labels: Object.fromEntries(Object.entries(labels).map(([key, value]) => [`traefik.${key}`, value])),
  defaultHost: `${name}.localhost`,
  urlAt: ({ port }: { readonly port: string }) => `http://10.0.0.${name.length}:${port || 80}`,
});
const read = (...containers: readonly Labels[]) =>
  traefikRoutes(
    containers.map((labels, i) => container("c".repeat(i + 1), labels)),
    around,
  );
/** The routes of one router with a rule and a middleware. */
const one = (rule: string, more: Labels = {}) =>
  read({ "http.routers.r.rule": rule, ...more }).routes.flatMap(({ routes }) => routes);

describe("rules", () => {
  test.each<[rule: string, routes: readonly object[]]>([
    ["Host(`a.test`)", [{ prefix: "/", host: "a.test" }]],
    ["Host(`A.test`, `b.test`)", [{ prefix: "/", host: ["a.test", "b.test"] }]],
    ["HostRegexp(`^.+\\.a\\.test$`)", [{ host: "*.a.test" }]],
    ["Host(`a.test`) && PathPrefix(`/x`)", [{ prefix: "/x", host: "a.test", strip_prefix: false }]],
    ["Path(`/x`)", [{ path: "/x" }]],
    ["PathRegexp(`^/x[0-9]+$`)", [{ regex: "^/x[0-9]+$" }]],
    ["Host(`a.test`) && (Path(`/x`) || Path(`/y`))", [{ path: "/x" }, { path: "/y" }]],
    ["Method(`GET`, `post`)", [{ methods: ["GET", "POST"] }]],
    ["Header(`X-A`, `1`)", [{ match: { header: { "X-A": "1" } } }]],
    ["Query(`v`, `2`)", [{ match: { query: { v: "2" } } }]],
    ["ClientIP(`10.0.0.0/8`)", [{ match: { client_ip: ["10.0.0.0/8"] } }]],
  ])("%s", (rule, routes) => {
    const found = one(rule);
    expect(found).toHaveLength(routes.length);
    for (const [i, route] of routes.entries()) expect(found[i]).toMatchObject(route);
  });

  test("a router without a rule has the default host, with its guards", () => {
    const { routes } = read({
      "http.routers.r.middlewares": "m",
      "http.middlewares.m.basicauth.users": "a:$2y$05$z",
    });
    expect(routes.flatMap(({ routes: all }) => all)).toMatchObject([
      { prefix: "/", host: "c.localhost", auth: { basic: { users: { a: "$2y$05$z" } } } },
    ]);
  });

  test("what is no rule leaves its router out, in one fault", () => {
    for (const rule of ["", "Host(", "Nothing(`x`)", "!PathRegexp(`^/[a-z]+x`)", "(".repeat(100)]) {
      const { routes, faults } = read({ "http.routers.r.rule": rule });
      expect([rule, routes, faults.map(({ label, route }) => [label, route])]).toEqual([
        rule,
        [],
        [["traefik.http.routers.r", "r"]],
      ]);
    }
  });
});

test.each<[middleware: Labels, keys: object]>([
  [{ "stripprefix.prefixes": "/x" }, { prefix: "/x" }],
  [{ "addprefix.prefix": "/p" }, { target: "http://10.0.0.1:80/p" }],
  [{ "basicauth.users": "a:$apr1$x$y, b:$2y$05$z" }, { auth: { basic: { users: { a: "$apr1$x$y", b: "$2y$05$z" } } } }],
  [{ "ipallowlist.sourcerange": "10.0.0.0/8, ::1" }, { ip_rules: { allow: ["10.0.0.0/8", "::1"] } }],
  [{ "forwardauth.address": "http://auth/" }, { auth: { forward: { url: "http://auth/" } } }],
  [{ "headers.customresponseheaders.X-A": "1" }, { headers: { response: { set: { "X-A": "1" } } } }],
  [{ "ratelimit.average": "5", "ratelimit.burst": "9" }, { rate_limit: { requests: 5, burst: 9 } }],
  [{ compress: "true" }, { compression: { enabled: true } }],
  [{ "redirectscheme.scheme": "https" }, { type: "redirect", to: "https://{host}{uri}" }],
])("%j is carried over", (middleware, keys) => {
  const own = Object.entries(middleware).map(([key, value]) => [`http.middlewares.m.${key}`, value]);
  const found = one("Host(`a.test`) && PathPrefix(`/x`)", {
    ...Object.fromEntries(own),
    "http.routers.r.middlewares": "m@docker",
  });
  expect(found[0]).toMatchObject(keys);
});

test("a guard that cannot be carried over leaves its router out; if others are there, its place is empty", () => {
  for (const guard of ["digestauth.users", "plugin.x.y", "ipallowlist.ipstrategy.depth", "headers.allowedhosts"]) {
    const shut = {
      "http.routers.shut.rule": "Host(`a.test`) && PathPrefix(`/admin`)",
      "http.routers.shut.middlewares": "g",
      [`http.middlewares.g.${guard}`]: "1",
    };
    const alone = read(shut);
    expect([guard, alone.routes, alone.faults.some(({ route }) => route === "shut")]).toEqual([guard, [], true]);
    const both = read({ ...shut, "http.routers.open.rule": "Host(`a.test`)" }).routes;
    const place = both.find(({ name }) => name === "shut")!.routes;
    expect(place[0]).toEqual({ type: "respond", prefix: "/admin", host: "a.test", status: 404 });
    expect(place.map(({ status }) => status)).toEqual(place.map(() => 404));
  }
  for (const elsewhere of ["g@file", "nowhere"]) {
    const labels = { "http.routers.r.rule": "Host(`a.test`)", "http.routers.r.middlewares": elsewhere };
    expect(read({ ...labels, "http.middlewares.g.compress": "true" }).routes).toEqual([]);
  }
});

test("containers with one service are its servers; entry points are listeners", () => {
  const labels = { "http.routers.r.rule": "Host(`a.test`)", "http.services.s.loadbalancer.server.port": "8000" };
  const [found] = read(labels, labels).routes;
  expect(found).toMatchObject({ name: "r", containers: ["c", "cc"] });
  expect(found!.routes[0]!.targets).toEqual([{ url: "http://10.0.0.1:8000" }, { url: "http://10.0.0.2:8000" }]);
  expect(one("Host(`a.test`)", { "http.routers.r.entrypoints": "public" })[0]).toMatchObject({ listeners: ["public"] });
  expect(one("Host(`a.test`)", { "http.routers.r.entrypoints": "admin" })).toEqual([]);
  expect(one("Host(`a.test`)", { "http.routers.r.entrypoints": "web,websecure" })[0]).not.toHaveProperty("listeners");
  expect(read({ "http.services.s.loadbalancer.server.port": "9" }).routes[0]!.routes[0]).toMatchObject({
    host: "c.localhost",
    target: "http://10.0.0.1:9",
  });
});

test("priority decides among routers of one host", () => {
  const labels = {
    "http.routers.wide.rule": "Host(`a.test`)",
    "http.routers.wide.priority": "1000",
    "http.routers.narrow.rule": "Host(`a.test`) && PathPrefix(`/x`)",
    "http.routers.wide.service": "w",
    "http.routers.narrow.service": "n",
    "http.services.w.loadbalancer.server.port": "1",
    "http.services.n.loadbalancer.server.port": "2",
  };
  const at = (found: ReturnType<typeof read>) =>
    found.routes.flatMap(({ name, routes }) => routes.map(({ prefix }) => `${name} ${prefix}`)).sort();
  expect(at(read(labels))).not.toContain("narrow /x");
  expect(at(read({ ...labels, "http.routers.wide.priority": "1" }))).toEqual(["narrow /x", "wide /"]);
});
