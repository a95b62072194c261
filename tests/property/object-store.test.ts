import { expect, test } from "bun:test";
import fc from "fast-check";
import { backendOf, certificateOf } from "../../src/features/kubernetes/backends.ts";
import { ObjectStore } from "../../src/features/kubernetes/object-store.ts";
import {
  type CertificateUse,
  type KubeObject,
  type ListenerInput,
  NO_TRANSLATION,
  nameOf,
  type ObjectCondition,
  type ObjectEvent,
  type ObjectMeta,
  type ObjectRef,
  type ObjectRoutes,
  type RouteInput,
  refOf,
  type StatusPatch,
  type Translation,
  type TranslationSettings,
} from "../../src/features/kubernetes/objects.ts";

const meta: fc.Arbitrary<ObjectMeta> = fc.record({
  name: fc.constantFrom("a", "b", "c"),
  namespace: fc.constantFrom("one", "two"),
  creationTimestamp: fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
});
const object: fc.Arbitrary<KubeObject> = meta.map((metadata) => ({ apiVersion: "v1", kind: "Service", metadata }));

const SHOWN: ObjectCondition = { type: "Accepted", status: "True", reason: "Accepted", message: "" };

/** A translation that shows every object of a kind once. */
function shown(store: ObjectStore, { controller }: TranslationSettings): Translation {
  const refs: readonly ObjectRef[] = store.list("Service").map(refOf);
  const route: RouteInput = { prefix: "/", type: "respond", status: 204 };
  const certificate: CertificateUse = { names: [], secret: { kind: "Secret", namespace: "one", name: "tls" } };
  const listeners: ListenerInput[] = [{ name: "all", address: ":443", tls: { certificates: [certificate] } }];
  const statuses: StatusPatch[] = refs.map((one) => ({ object: one, status: { controller, conditions: [SHOWN] } }));
  const events: ObjectEvent[] = refs.map((one) => ({ object: one, type: "Normal", reason: "Shown", message: "" }));
  const routes: ObjectRoutes[] = store
    .list("Service")
    .map((one) => ({ name: nameOf(one), object: refOf(one), routes: [route] }));
  return { ...NO_TRANSLATION, routes, listeners, statuses, events };
}

test("the store holds what puts, removals and lists have left, the oldest first", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("put", "remove", "replace"), fc.array(object))), (steps) => {
      const store = new ObjectStore();
      let model = new Map<string, KubeObject>();
      for (const [step, all] of steps) {
        const some = new Map(all.map((one) => [nameOf(one), one]));
        if (step === "put") for (const one of all) store.put(one);
        if (step === "put") for (const [name, one] of some) model.set(name, one);
        for (const { metadata } of step === "remove" ? all : []) {
          store.remove("Service", metadata.namespace!, metadata.name);
          model.delete(nameOf({ metadata }));
        }
        if (step === "replace") store.replace("Service", [...some.values()]);
        if (step === "replace") model = some;
      }
      const age = (one: KubeObject) => `${one.metadata.creationTimestamp} ${nameOf(one)}`;
      const wanted = [...model.values()].sort((a, b) => (age(a) < age(b) ? -1 : 1)).map(nameOf);
      expect(store.list("Service").map(nameOf)).toEqual(wanted);
      const settings = {
        controller: "x",
        ingressClass: "edge",
        ingressPorts: { http: 80, https: 443 },
        addresses: [],
        pool: [],
        isUsable: () => true,
        canListen: () => true,
        fileOf: () => "",
      };
      expect(shown(store, settings).routes.map(({ name }) => name)).toEqual(wanted);
      expect(shown(store, settings).statuses).toHaveLength(wanted.length);
    }),
  );
});

test("a port of a Service has the ready endpoints of its slices, or endpoints that still serve", () => {
  const store = new ObjectStore();
  const ports = [
    { name: "web", port: 80, appProtocol: "kubernetes.io/h2c" },
    { name: "tls", port: 443 },
  ];
  store.put({ apiVersion: "v1", kind: "Service", spec: { ports }, metadata: { name: "s", namespace: "n" } });
  const labels = { "kubernetes.io/service-name": "s" };
  const slice = (name: string, ip: string, conditions: object) =>
    store.put({
      ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: { name, namespace: "n", labels } },
      ...{
        addressType: "IPv4",
        ports: [
          { name: "tls", port: 8443 },
          { name: "web", port: 3000 },
        ],
      },
      ...{ endpoints: [{ addresses: [ip], conditions }] },
    } as KubeObject);
  slice("s-1", "10.0.0.1", { ready: false, serving: true, terminating: true });
  const h2c = "kubernetes.io/h2c";
  expect(backendOf(store, "n", "s", 80)).toEqual({ addresses: ["10.0.0.1:3000"], appProtocol: h2c });
  slice("s-2", "10.0.0.2", { ready: true });
  expect(backendOf(store, "n", "s", "web")).toEqual({ addresses: ["10.0.0.2:3000"], appProtocol: h2c });
  expect(backendOf(store, "n", "s", 81)).toBe("no port");
  expect(backendOf(store, "n", "t", 80)).toBe("no service");
  expect(certificateOf(store, "n", "none")).toBeNull();
});

test("a Service has a stamp of its own after each change, and none once it is gone with its slices", () => {
  const step = fc.record({
    name: fc.constantFrom("a", "b"),
    kind: fc.constantFrom("Service", "EndpointSlice"),
    service: fc.constantFrom("a", "b"),
    isGone: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const store = new ObjectStore();
      const there = { Service: new Map<string, string>(), EndpointSlice: new Map<string, string>() };
      for (const { name, kind, service, isGone } of steps) {
        const objects = there[kind as keyof typeof there];
        const touched = kind === "Service" ? [name] : [objects.get(name), isGone ? undefined : service];
        const isChange = !isGone || objects.has(name);
        if (isGone) store.remove(kind, "n", name);
        else {
          const labels = { "kubernetes.io/service-name": service };
          const slice = { addressType: "IPv4", endpoints: [], ports: [] };
          store.put({ apiVersion: "v1", kind, metadata: { name, namespace: "n", labels }, ...slice } as KubeObject);
        }
        if (isGone) objects.delete(name);
        else objects.set(name, kind === "Service" ? name : service);
        for (const one of isChange ? new Set(touched.filter((each) => each !== undefined)) : []) {
          const isThere = there.Service.has(one) || [...there.EndpointSlice.values()].includes(one);
          const stamp = store.stampOf("n", one);
          expect(stamp > 0).toBe(isThere);
          if (isThere) expect(stamp).toBe(store.version);
        }
      }
      for (const one of ["a", "b"])
        if (!there.Service.has(one) && ![...there.EndpointSlice.values()].includes(one))
          expect([store.stampOf("n", one), store.slicesOf("n", one)]).toEqual([0, []]);
    }),
  );
});
