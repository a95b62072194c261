import { expect, test } from "bun:test";
import { translatedGateways } from "../../../../../src/features/kubernetes/gateway/translation.ts";
import type { ObjectStore } from "../../../../../src/features/kubernetes/object-store.ts";
import type { KubeObject } from "../../../../../src/features/kubernetes/objects.ts";
import { PolicyTable } from "../../../../../src/features/kubernetes/policy/policy-table.ts";
import { CLUSTER_SETTINGS, objectOf, storeOf } from "../../../../harness/cluster-objects.ts";

const all = { namespaces: { from: "All" } };
const base = [
  objectOf({ kind: "GatewayClass", name: "edge", spec: { controllerName: CLUSTER_SETTINGS.controller } }),
  objectOf({
    ...{ kind: "Gateway", namespace: "infra", name: "gw", born: 0 },
    spec: {
      gatewayClassName: "edge",
      listeners: [
        { name: "http", port: 80, protocol: "HTTP", allowedRoutes: all },
        { name: "other", port: 8081, protocol: "HTTP", allowedRoutes: all },
      ],
    },
  }),
];
const ingress = (namespace: string, born: number, host: string) =>
  objectOf({ kind: "Ingress", namespace, name: "i", born, spec: { ingressClassName: "edge", rules: [{ host }] } });
const route = (namespace: string, born: number, hostnames: readonly string[], sectionName = "http") =>
  objectOf({
    ...{ kind: "HTTPRoute", namespace, name: "r", born },
    spec: { parentRefs: [{ name: "gw", namespace: "infra", sectionName }], hostnames, rules: [{}] },
  });

function outcome(store: ObjectStore, settings = CLUSTER_SETTINGS) {
  const { routes, statuses } = translatedGateways(
    store,
    settings,
    new PolicyTable(store, () => ({ keys: {}, faults: [] })),
  );
  const { status } = statuses.find(({ object }) => object.kind === "HTTPRoute")!;
  const [parent] = (status as { readonly parents: readonly KubeObject[] }).parents;
  const [accepted] = (parent as never as { readonly conditions: readonly { readonly reason: string }[] }).conditions;
  const hosts = routes
    .filter(({ name }) => name.startsWith("HTTPRoute"))
    .flatMap((one) => one.routes.flatMap((each) => each.hosts ?? []));
  return [accepted!.reason, ...new Set(hosts as string[])];
}

test("at one address, no younger route takes a host from an older Ingress of another namespace", () => {
  const older = ingress("team", 2, "A.test");
  expect(outcome(storeOf(...base, older, route("thief", 5, ["a.test"])))).toEqual(["HostnameConflict"]);
  expect(outcome(storeOf(...base, older, route("thief", 5, ["a.test", "b.test"])))).toEqual(["Accepted", "b.test"]);
  expect(outcome(storeOf(...base, older, route("team", 5, ["a.test"])))).toEqual(["Accepted", "a.test"]);
  expect(outcome(storeOf(...base, older, route("first", 1, ["a.test"])))).toEqual(["Accepted", "a.test"]);
  expect(outcome(storeOf(...base, older, route("apart", 5, ["a.test"], "other")))).toEqual(["Accepted", "a.test"]);
  const pool = { ...CLUSTER_SETTINGS, pool: ["192.0.2.1", "192.0.2.2"] };
  expect(outcome(storeOf(...base, older, route("apart", 5, ["a.test"])), pool)).toEqual(["Accepted", "a.test"]);
});

test("an Ingress whose class is another controller's by now loses the addresses that this one has written", async () => {
  const { translatedIngresses } = await import("../../../../../src/features/kubernetes/ingress/ingress-translation.ts");
  const left = (own: boolean) => {
    const object = ingress("team", 2, "a.test");
    const moved = { ...object, spec: { ...object.spec, ingressClassName: "nginx" } };
    return own ? { ...moved, metadata: { ...moved.metadata, hasOwnStatus: true } } : moved;
  };
  const patches = (own: boolean, isListed: boolean) => {
    const store = storeOf(left(own));
    if (isListed) store.replace("IngressClass", []);
    return translatedIngresses(store, CLUSTER_SETTINGS, new PolicyTable(store, () => ({ keys: {}, faults: [] })))
      .statuses;
  };
  expect(patches(true, true).map(({ status }) => status)).toEqual([{ loadBalancer: { ingress: null } }]);
  expect([patches(false, true), patches(true, false)]).toEqual([[], []]);
});
