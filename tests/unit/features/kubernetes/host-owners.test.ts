import { expect, test } from "bun:test";
import { challengeHosts, routeOwners } from "../../../../src/features/kubernetes/host-owners.ts";
import { objectOf, storeOf } from "../../../harness/cluster-objects.ts";

const route = (namespace: string, born: number, ...hostnames: readonly string[]) =>
  objectOf({ kind: "HTTPRoute", namespace, name: `r${born}`, born, spec: { hostnames } });
const ingress = (namespace: string, born: number, host: string) =>
  objectOf({ kind: "Ingress", namespace, name: `i${born}`, born, spec: { rules: [{ host }] } });

test("challenges of a host belong to the namespace of the oldest object that names it, of whatever kind", () => {
  const store = storeOf(
    route("late", 5, "a.example", "b.example"),
    ingress("team", 2, "A.example"),
    route("team", 3, "c.example"),
    ingress("late", 4, "c.example"),
  );
  const takes = challengeHosts(store);
  expect([takes("team", ["a.example"]), takes("late", ["a.example"])]).toEqual([true, false]);
  expect([takes("team", ["c.example"]), takes("late", ["c.example"])]).toEqual([true, false]);
  expect([takes("late", ["b.example"]), takes("late", ["b.example", "a.example"])]).toEqual([true, false]);
  // A host that only a listener names, every host, and a wildcard.
  expect([takes("any", ["x.example"]), takes("any", [""]), takes("any", []), takes("team", ["*.example"])]).toEqual([
    ...[true, false, false, false],
  ]);
  store.remove("Ingress", "team", "i2");
  expect(challengeHosts(store)("late", ["a.example"])).toBe(true);
});

test("hosts of routes with a Gateway of ours belong to the oldest of them", () => {
  const gateway = (name: string, gatewayClassName: string) =>
    objectOf({ kind: "Gateway", namespace: "web", name, born: 1, spec: { gatewayClassName } });
  const attached = (namespace: string, born: number, parentRef: object) =>
    objectOf({
      ...{ kind: "HTTPRoute", namespace, name: `r${born}`, born },
      spec: { hostnames: ["A.example"], parentRefs: [parentRef] },
    });
  const store = storeOf(
    objectOf({ kind: "GatewayClass", name: "edge", spec: { controllerName: "edge.dev/gateway" } }),
    gateway("ours", "edge"),
    gateway("theirs", "other"),
    objectOf({
      kind: "ListenerSet",
      namespace: "sets",
      name: "set",
      spec: { parentRef: { name: "ours", namespace: "web" } },
    }),
    attached("first", 2, { name: "theirs", namespace: "web" }),
    attached("late", 4, { name: "ours", namespace: "web" }),
    attached("set", 3, { kind: "ListenerSet", name: "set", namespace: "sets" }),
  );
  const owners = routeOwners(store, "edge.dev/gateway");
  expect([...owners].map(([host, { metadata }]) => [host, metadata.namespace])).toEqual([["a.example", "set"]]);
  // The translations of Gateways and of Ingresses ask for the same of one state of the store.
  expect(routeOwners(store, "edge.dev/gateway")).toBe(owners);
  store.remove("HTTPRoute", "set", "r3");
  expect(routeOwners(store, "edge.dev/gateway").get("a.example")!.metadata.namespace).toBe("late");
  expect(routeOwners(store, "other.dev/gateway").size).toBe(0);
});
