import { expect, test } from "bun:test";
import { translatedGateways } from "../../../../../src/features/kubernetes/gateway/translation.ts";
import { translatedIngresses } from "../../../../../src/features/kubernetes/ingress/ingress-translation.ts";
import { PolicyTable } from "../../../../../src/features/kubernetes/policy/policy-table.ts";
import { CLUSTER_SETTINGS, objectOf, serviceOf, storeOf } from "../../../../harness/cluster-objects.ts";

const listeners = Array.from({ length: 32 }, (_, i) => ({
  ...{ name: `l${i}`, port: 8000 + i, protocol: "HTTP", hostname: `*.t${i}.test` },
}));
const backendRefs = Array.from({ length: 16 }, (_, i) => ({
  ...{ name: "a", port: 80, weight: i + 1 },
  filters: [{ type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "X", value: String(i) }] } }],
}));
const settings = { ...CLUSTER_SETTINGS, pool: ["127.0.0.1"] };
const policiesOf = (store: ReturnType<typeof storeOf>) => new PolicyTable(store, () => ({ keys: {}, faults: [] }));
const base = [
  objectOf({ kind: "GatewayClass", name: "edge", spec: { controllerName: settings.controller } }),
  objectOf({ kind: "Gateway", name: "gw", spec: { gatewayClassName: "edge", listeners } }),
  ...serviceOf("a", "10.0.0.1"),
];
const route = (name: string, count: number, refs: readonly object[]) =>
  objectOf({
    ...{ kind: "HTTPRoute", name },
    spec: {
      parentRefs: [{ name: "gw" }],
      hostnames: listeners.slice(0, 16).map((_, i) => `h.t${i}.test`),
      rules: [{ matches: Array.from({ length: count }, (_, i) => ({ path: { value: `/p${i}` } })), backendRefs: refs }],
    },
  });

test("one object makes a bounded number of routes, and others serve", () => {
  const store = storeOf(...base, route("evil", 64, backendRefs), route("good", 8, backendRefs.slice(0, 1)));
  const { routes, statuses } = translatedGateways(store, settings, policiesOf(store));
  const made = routes.filter(({ name }) => name.startsWith("HTTPRoute"));
  expect(made.map(({ name, routes: all }) => [name, all.length])).toEqual([["HTTPRoute default/good", 128]]);
  const said = statuses
    .filter(({ object }) => object.kind === "HTTPRoute")
    .map(({ object, status }) => {
      const [parent] = (status as { readonly parents: readonly { readonly conditions: readonly object[] }[] }).parents;
      return [object.name, (parent!.conditions[0] as { readonly reason: string }).reason];
    });
  expect(said).toEqual([
    ["evil", "UnsupportedValue"],
    ["good", "Accepted"],
  ]);
});

test("of an Ingress with more paths than that, the longest serve", () => {
  const paths = Array.from({ length: 1200 }, (_, i) => ({
    ...{ path: `/${"p".repeat(i < 200 ? 1 : 2)}${i}`, pathType: "Prefix" },
    backend: { service: { name: "a", port: { number: 80 } } },
  }));
  const store = storeOf(
    ...serviceOf("a", "10.0.0.1"),
    objectOf({
      kind: "Ingress",
      name: "i",
      spec: { ingressClassName: "edge", rules: [{ host: "x.test", http: { paths } }] },
    }),
  );
  const { routes, events } = translatedIngresses(store, settings, policiesOf(store));
  expect(routes[0]!.routes).toHaveLength(1000);
  expect(events.map(({ reason }) => reason)).toEqual(["TooManyPaths"]);
});
