import { expect, test } from "bun:test";
import { translatedGateways } from "../../../../../src/features/kubernetes/gateway/translation.ts";
import type {
  KubeObject,
  ObjectCondition,
  TranslationSettings,
} from "../../../../../src/features/kubernetes/objects.ts";
import { PolicyTable } from "../../../../../src/features/kubernetes/policy/policy-table.ts";
import { CLUSTER_SETTINGS, objectOf, serviceOf, storeOf } from "../../../../harness/cluster-objects.ts";

const CLASS = objectOf({ kind: "GatewayClass", name: "edge", spec: { controllerName: "edge.dev/gateway" } });
const gateway = (name: string, born: number, ...listeners: readonly object[]): KubeObject =>
  objectOf({ kind: "Gateway", name, born, spec: { gatewayClassName: "edge", listeners } });
const route = (name: string, parent: string, rules: readonly object[], more: object = {}): KubeObject =>
  objectOf({ kind: "HTTPRoute", name, spec: { parentRefs: [{ name: parent }], ...more, rules } });
const to = (name: string) => ({ backendRefs: [{ name, port: 80 }] });

function translated(objects: readonly KubeObject[], settings: Partial<TranslationSettings> = {}) {
  const store = storeOf(CLASS, ...objects);
  const policies = new PolicyTable(store, (keys) => ({ keys, faults: [] }));
  return translatedGateways(store, { ...CLUSTER_SETTINGS, ...settings }, policies);
}

interface Shown {
  readonly conditions: readonly ObjectCondition[];
  readonly listeners?: readonly Shown[];
  readonly parents?: readonly Shown[];
}

function reasons(result: ReturnType<typeof translated>, name: string, type: string): (string | undefined)[] {
  const { listeners, parents } = result.statuses.find(({ object }) => object.name === name)!.status as unknown as Shown;
  return [...(listeners ?? []), ...(parents ?? [])].map(
    ({ conditions }) => conditions.find((one) => one.type === type)?.reason,
  );
}

const HTTP = { name: "http", port: 80, protocol: "HTTP" };

test("Gateways at one address: the older listener of a host serves, and the younger one's routes take nothing of it", () => {
  const www = { ...HTTP, hostname: "www.a.example" };
  const objects = [
    gateway("old", 1, www),
    gateway("new", 2, www, { ...HTTP, name: "any" }, { name: "tls", port: 80, protocol: "HTTPS" }),
    ...serviceOf("app", "10.0.0.1"),
    route("theirs", "new", [to("app")], { hostnames: ["www.a.example", "b.example"] }),
  ];
  const shared = translated(objects);
  expect(reasons(shared, "new", "Conflicted")).toEqual(["HostnameConflict", "NoConflicts", "ProtocolConflict"]);
  const hosts = shared.routes.filter(({ name }) => name === "HTTPRoute default/theirs").flatMap(({ routes }) => routes);
  expect(hosts.map((one) => one.hosts)).toEqual([["b.example"]]);
  const apart = translated(objects, { pool: ["10.1.0.1", "10.1.0.2"] });
  expect(reasons(apart, "new", "Conflicted")).toEqual(["NoConflicts", "NoConflicts", "ProtocolConflict"]);
});

test("at one address, no younger Gateway of another namespace takes the host of a route by a more specific listener", () => {
  const thief = (namespace: string, ...hostnames: readonly string[]) => ({
    ...gateway("thief", 9, ...hostnames.map((hostname, i) => ({ ...HTTP, name: `l${i}`, hostname }))),
    metadata: { ...gateway("thief", 9).metadata, namespace },
  });
  const own = [gateway("old", 1, HTTP), ...serviceOf("app", "10.0.0.1")];
  const app = route("app", "old", [to("app")], { hostnames: ["www.a.example"] });
  const hosts = ["www.a.example", "*.a.example", "b.example"];
  const judged = (namespace: string, settings = {}) =>
    reasons(translated([...own, app, thief(namespace, ...hosts)], settings), "thief", "Conflicted");
  expect(judged("evil")).toEqual(["HostnameConflict", "HostnameConflict", "NoConflicts"]);
  expect(judged("default")).toEqual(["NoConflicts", "NoConflicts", "NoConflicts"]);
  expect(judged("evil", { pool: ["10.1.0.1", "10.1.0.2"] })).toEqual(["NoConflicts", "NoConflicts", "NoConflicts"]);
});

test("more listeners than may be: those of older Gateways serve", () => {
  const many = (name: string, born: number) =>
    gateway(name, born, ...[1, 2, 3].map((port) => ({ name: `p${port}`, port: 100 * born + port, protocol: "HTTP" })));
  const result = translated([many("new", 2), many("old", 1)], { maxListeners: 4 });
  expect(reasons(result, "old", "Accepted")).toEqual(["Accepted", "Accepted", "Accepted"]);
  expect(reasons(result, "new", "Accepted")).toEqual(["Accepted", "PortUnavailable", "PortUnavailable"]);
  expect(result.listeners).toHaveLength(4);
});

test("names that every object has demand as others do", () => {
  const headers = ["__proto__", "constructor", "X-A", "x-a"].map((name, i) => ({ name, value: `${i}` }));
  const edits = { requestHeaderModifier: { set: headers } };
  const rule = { matches: [{ headers }], filters: [{ type: "RequestHeaderModifier", ...edits }], ...to("app") };
  const { routes } = translated([gateway("old", 1, HTTP), ...serviceOf("app", "10.0.0.1"), route("a", "old", [rule])]);
  const [{ match, headers: edited }] = routes[0]!.routes as unknown as [
    { match: { header: object }; headers: { request: { set: object } } },
  ];
  const wanted = [
    ["__proto__", "0"],
    ["constructor", "1"],
    ["X-A", "2"],
  ];
  expect(Object.entries(match.header)).toEqual(wanted as never);
  expect(Object.entries(edited.request.set)).toEqual(wanted as never);
});

test("a mirror without a server, and a filter of a backend that is not served, are in the status; the rule serves", () => {
  const mirror = {
    type: "RequestMirror",
    requestMirror: { backendRef: { name: "app", namespace: "other", port: 80 } },
  };
  const own = { backendRefs: [{ name: "app", port: 80, filters: [{ type: "ExtensionRef" }] }] };
  const result = translated([
    gateway("old", 1, HTTP),
    ...serviceOf("app", "10.0.0.1"),
    route("mirrors", "old", [{ filters: [mirror], ...to("app") }]),
    route("extends", "old", [{ matches: [{ path: { value: "/x" } }], ...own }]),
  ]);
  expect(reasons(result, "mirrors", "ResolvedRefs")).toEqual(["RefNotPermitted"]);
  expect(reasons(result, "extends", "ResolvedRefs")).toEqual(["UnsupportedValue"]);
  const { routes } = result.routes.find(({ object }) => object.name === "mirrors")!;
  expect(routes.map(({ type, mirrors }) => [type, mirrors])).toEqual([["upstream", undefined]]);
});

test("a route whose Gateway is gone keeps no word of edge in its status, and that of others", () => {
  const parent = (controllerName: string, namespace = "default") => ({
    controllerName,
    parentRef: { name: "gone", namespace },
    conditions: [],
  });
  const [ours, far, others] = [
    parent("edge.dev/gateway"),
    parent("edge.dev/gateway", "far"),
    parent("other.dev/gateway"),
  ];
  const left = { ...route("left", "gone", [to("app")]), status: { parents: [ours, far, others] } };
  const alone = { ...route("alone", "gone", [to("app")]), status: { parents: [others] } };
  const { statuses } = translated([left, alone], { isWatched: (namespace) => namespace !== "far" });
  const shown = statuses
    .filter(({ object }) => object.kind === "HTTPRoute")
    .map(({ object, status }) => [object.name, status]);
  expect(shown).toEqual([["left", { parents: [far, others] }]]);
});

test("a Service with an ExternalName, and link-local endpoints, get nothing", () => {
  const outside = objectOf({
    ...{ kind: "Service", name: "out" },
    spec: { type: "ExternalName", externalName: "169.254.169.254", ports: [{ port: 80, name: "http" }] },
  });
  const result = translated([
    gateway("old", 1, HTTP),
    outside,
    ...serviceOf("out", "10.0.0.9").slice(1),
    ...serviceOf("near", "169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "0.0.0.0", "10.0.0.2"),
    route("a", "old", [{ matches: [{ path: { value: "/out" } }], ...to("out") }]),
    route("b", "old", [{ matches: [{ path: { value: "/near" } }], ...to("near") }]),
  ]);
  expect(reasons(result, "a", "ResolvedRefs")).toEqual(["BackendNotFound"]);
  const [a, b] = ["a", "b"].map((name) => result.routes.find((one) => one.object.name === name)!.routes[0]);
  expect([a!.status, b!.targets]).toEqual([500, [{ url: "http://10.0.0.2:8080" }]]);
});
