import { describe, expect, test } from "bun:test";
import { judgePolicy } from "../../../../../src/features/kubernetes/control/policy-judge.ts";
import { translatedGateways } from "../../../../../src/features/kubernetes/gateway/translation.ts";
import { translatedIngresses } from "../../../../../src/features/kubernetes/ingress/ingress-translation.ts";
import type { KubeObject } from "../../../../../src/features/kubernetes/objects.ts";
import { optionsOf } from "../../../../../src/features/kubernetes/policy/option-keys.ts";
import { PolicyTable } from "../../../../../src/features/kubernetes/policy/policy-table.ts";
import { POLICY_KEYS } from "../../../../../src/routes/policy-keys.ts";
import { ROUTE_OPTIONS } from "../../../../../src/routes/route-options.ts";
import { CLUSTER_SETTINGS, objectOf, routeFaults, serviceOf, storeOf } from "../../../../harness/cluster-objects.ts";

const HASH = "$2y$10$EBOqD2jX7qdlirb.F7pwBe2yDake26gpiTCuY04uyn.YdYxKoE.B2";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const GROUP = "gateway.networking.k8s.io";
const backend = { name: "web", port: 80 };
const COMMON = [
  objectOf({ kind: "GatewayClass", name: "edge", spec: { controllerName: "edge.dev/gateway" } }),
  objectOf({ kind: "Namespace", name: "default" }),
  objectOf({
    kind: "Gateway",
    name: "front",
    spec: {
      gatewayClassName: "edge",
      listeners: [
        { name: "one", port: 80, protocol: "HTTP", hostname: "*.one.example" },
        { name: "two", port: 80, protocol: "HTTP", hostname: "*.two.example" },
      ],
    },
  }),
  objectOf({
    kind: "HTTPRoute",
    name: "shop",
    spec: {
      parentRefs: [{ name: "front" }],
      hostnames: ["a.one.example", "a.two.example"],
      rules: [
        { name: "api", matches: [{ path: { type: "PathPrefix", value: "/api" } }], backendRefs: [backend] },
        { matches: [{ path: { type: "Exact", value: "/old" } }], filters: [redirect()] },
        { backendRefs: [backend] },
      ],
    },
  }),
  objectOf({
    kind: "Ingress",
    name: "old",
    spec: {
      ingressClassName: "edge",
      rules: [{ host: "i.example", http: { paths: [{ path: "/", pathType: "Prefix", backend: service() }] } }],
    },
  }),
  objectOf({ kind: "Secret", name: "users", data: { list: base64(`alice:${HASH}\n`), client: base64("s3cret\n") } }),
  ...serviceOf("web", "10.244.0.5"),
];

function redirect(): object {
  return { type: "RequestRedirect", requestRedirect: { hostname: "new.example" } };
}

function service(): object {
  return { service: { name: "web", port: { number: 80 } } };
}

function policy(name: string, [kind, target, sectionName]: readonly string[], keys: object, born = 0): KubeObject {
  const group = kind === "Ingress" ? "networking.k8s.io" : GROUP;
  const targetRef = { group, kind, name: target, ...(sectionName === undefined ? {} : { sectionName }) };
  return objectOf({ kind: "EdgePolicy", name, born, spec: { targetRef, ...keys } });
}

/** Routes and statuses with these policies. */
function served(...policies: readonly KubeObject[]) {
  const store = storeOf(...COMMON, ...policies);
  const table = new PolicyTable(store, judgePolicy);
  const groups = [translatedGateways, translatedIngresses].flatMap((of) => of(store, CLUSTER_SETTINGS, table).routes);
  for (const { name, routes } of groups) expect([name, routeFaults(routes)]).toEqual([name, []]);
  const routes = groups.flatMap((group) => [...group.routes]);
  const statuses = Object.fromEntries(
    table.statuses("edge.dev/gateway").map(({ object, status }) => {
      const { ancestors } = status as {
        ancestors: { conditions: { status: string; reason: string; message: string }[] }[];
      };
      return [object.name, ancestors.map(({ conditions: [one] }) => [one!.status, one!.reason, one!.message])];
    }),
  );
  /** A key of the routes of a host, by their path. */
  const at = (host: string, key: string): Record<string, unknown> =>
    Object.fromEntries(
      routes
        .filter(({ hosts }) => (hosts as string[] | undefined)?.includes(host) === true)
        .map((route) => [String(route.path ?? route.prefix), route[key]]),
    );
  return { routes, statuses, at };
}

const ACCEPTED = [["True", "Accepted", ""]];

describe("an EdgePolicy", () => {
  test("holds for its Gateway, listener, route, rule or Ingress; the narrower one goes first, key by key", () => {
    const { at, statuses } = served(
      policy("gateway", ["Gateway", "front"], { max_body_bytes: 1, compression: { enabled: true } }),
      policy("listener", ["Gateway", "front", "two"], { max_body_bytes: 2 }),
      policy("route", ["HTTPRoute", "shop"], { cache: { default_ttl: "5m" } }),
      policy("rule", ["HTTPRoute", "shop", "api"], { max_body_bytes: 3, timeouts: { idle: "7s" } }),
      policy("ingress", ["Ingress", "old"], { max_body_bytes: 4 }),
    );
    expect(at("a.one.example", "max_body_bytes")).toEqual({ "/api": 3, "/old": 1, "/": 1 });
    expect(at("a.two.example", "max_body_bytes")).toEqual({ "/api": 3, "/old": 2, "/": 2 });
    expect(at("a.two.example", "cache")).toEqual({
      "/api": { default_ttl: "5m" },
      "/old": { default_ttl: "5m" },
      "/": { default_ttl: "5m" },
    });
    expect(at("a.one.example", "compression")["/"]).toEqual({ enabled: true });
    expect(at("a.one.example", "timeouts")).toEqual({ "/api": { idle: "7s" }, "/old": undefined, "/": undefined });
    expect(at("i.example", "max_body_bytes")).toEqual({ "/": 4 });
    expect(statuses).toEqual(
      Object.fromEntries(["gateway", "listener", "route", "rule", "ingress"].map((name) => [name, ACCEPTED])),
    );
  });

  test("that comes later than another one of its target is Conflicted", () => {
    const { at, statuses } = served(
      policy("young", ["HTTPRoute", "shop"], { max_body_bytes: 2, waf: { mode: "off" } }, 9),
      policy("old", ["HTTPRoute", "shop"], { max_body_bytes: 1 }, 1),
    );
    expect([at("a.one.example", "max_body_bytes")["/"], at("a.one.example", "waf")["/"]]).toEqual([1, undefined]);
    expect(statuses).toEqual({
      old: ACCEPTED,
      young: [["False", "Conflicted", "default/old is older and has the same target"]],
    });
  });

  test("that is not valid says why, and its routes serve nothing, redirects included; others do", () => {
    const { at, statuses } = served(
      policy("bad", ["HTTPRoute", "shop"], { auth: { basic: { users: { alice: "plain" } } } }),
      policy("ingress", ["Ingress", "old"], { rate_limit: { requests: 5 } }),
    );
    expect(at("a.one.example", "type")).toEqual({ "/api": "respond", "/old": "respond", "/": "respond" });
    expect(at("a.one.example", "status")["/"]).toBe(500);
    expect(at("i.example", "type")).toEqual({ "/": "upstream" });
    expect(statuses.bad![0]!.slice(0, 2)).toEqual(["False", "Invalid"]);
    expect(statuses.bad![0]![2]).toContain("auth.basic.users.alice: expected a bcrypt or argon2id hash");
  });

  test.each([
    ["a file", { auth: { basic: { users_file: "/etc/passwd" } } }, "names a file"],
    ["a socket", { auth: { forward: { url: "unix:/run/auth.sock:/" } } }, "names a file"],
    ["a server", { targets: [{ url: "http://169.254.169.254" }] }, "targets: a policy has no such key"],
    ["a module", { hooks: { module: "./x.ts" } }, "hooks: a policy has no such key"],
    ["a mistyped key", { wafs: {} }, "wafs: a policy has no such key"],
    ["a Secret that is not there", { auth: { basic: { users_secret: { name: "gone" } } } }, "no Secret default/gone"],
  ])("cannot name %s", (_, keys, message) => {
    const { at, statuses } = served(policy("bad", ["HTTPRoute", "shop"], keys));
    expect(statuses.bad![0]![2]).toContain(message);
    expect(at("a.one.example", "type")["/"]).toBe("respond");
  });

  test("takes secrets and users of a Secret of its namespace", () => {
    const oidc = {
      issuer: "https://id.example.com",
      client_id: "shop",
      client_secret: { name: "users", key: "client" },
      cookie_secret: [{ name: "users", key: "list" }],
    };
    const { at, statuses } = served(
      policy("route", ["HTTPRoute", "shop"], { auth: { oidc } }),
      policy("ingress", ["Ingress", "old"], { auth: { basic: { users_secret: { name: "users", key: "list" } } } }),
    );
    expect(statuses).toEqual({ route: ACCEPTED, ingress: ACCEPTED });
    expect(at("a.one.example", "auth")["/"]).toMatchObject({
      oidc: { client_secret: "s3cret", cookie_secret: [`alice:${HASH}`] },
    });
    expect(at("i.example", "auth")["/"]).toEqual({ basic: { users: { alice: HASH } } });
  });

  test.each([
    ["no object", ["HTTPRoute", "gone"], "there is no HTTPRoute default/gone"],
    ["no listener", ["Gateway", "front", "three"], "Gateway default/front has no listener with the name three"],
    ["no rule", ["HTTPRoute", "shop", "x"], "HTTPRoute default/shop has no rule with the name x"],
    ["another kind", ["Service", "web"], "policies are not for the kind Service"],
  ])("of %s is TargetNotFound", (_, target, message) => {
    const { statuses, at } = served(policy("lost", target, { max_body_bytes: 1 }));
    expect(statuses.lost).toEqual([["False", "TargetNotFound", message]]);
    expect(at("a.one.example", "max_body_bytes")["/"]).toBeUndefined();
  });

  test("keys of upstream routes alone are those that no other route has", () => {
    const all = Object.fromEntries(Object.keys(POLICY_KEYS).map((key) => [key, true]));
    const options = Object.keys(POLICY_KEYS).filter((key) => key in ROUTE_OPTIONS.rows);
    expect(Object.keys(optionsOf(all)).sort()).toEqual(options.sort());
  });
});
