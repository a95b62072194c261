// docs/internals/configuration.md#changes-in-a-cluster: what is renewed is what another translation of all objects gives.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { CertificateFolder } from "../../src/features/kubernetes/control/certificate-folder.ts";
import { type ClusterResult, clusterResult } from "../../src/features/kubernetes/control/translations.ts";
import { ObjectStore } from "../../src/features/kubernetes/object-store.ts";
import type { KubeObject } from "../../src/features/kubernetes/objects.ts";
import { RouteMemory } from "../../src/loading/beside-routes.ts";
import { type ConfigRequest, loadConfig } from "../../src/loading/load-config.ts";
import { CLUSTER_SETTINGS, objectOf, serviceOf } from "../harness/cluster-objects.ts";

const SETTINGS = { ...CLUSTER_SETTINGS, pool: ["127.0.0.1"] };
const SERVICES = ["a", "b", "c"];
const HOSTS = ["x.test", "y.test", "*.test"];
let version = 0;

function versioned(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(++version) } };
}

const weighted = fc.record({ name: fc.constantFrom(...SERVICES, "gone"), weight: fc.constantFrom(1, 1, 3) });
const rule = fc.record({
  backendRefs: fc.array(
    weighted.map((one) => ({ ...one, port: 80 })),
    { minLength: 1, maxLength: 2 },
  ),
  matches: fc.constantFrom(
    [{}],
    [{ path: { value: "/p" } }],
    [{ path: { type: "Exact", value: "/e" }, method: "GET" }],
  ),
  filters: fc.constantFrom(
    ...[
      [],
      [{ type: "ResponseHeaderModifier", responseHeaderModifier: { set: [{ name: "X-V", value: "1" }] } }],
      [{ type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "X-V", value: "{2}" }] } }],
      [{ type: "RequestRedirect", requestRedirect: { hostname: "z.test" } }],
      [{ type: "URLRewrite", urlRewrite: { hostname: "a b" } }],
    ],
  ),
});
const route = fc
  .record({ i: fc.nat(3), host: fc.constantFrom(...HOSTS), rules: fc.array(rule, { minLength: 1, maxLength: 2 }) })
  .map(({ i, host, rules }) =>
    objectOf({
      ...{ kind: "HTTPRoute", name: `r${i}`, born: i },
      spec: { parentRefs: [{ name: "gw" }], hostnames: [host], rules },
    }),
  );
const stream = fc.constantFrom(...SERVICES).map((name) =>
  objectOf({
    ...{ kind: "TCPRoute", name: "t" },
    spec: { parentRefs: [{ name: "gw" }], rules: [{ backendRefs: [{ name, port: 80 }] }] },
  }),
);
const ingress = fc.constantFrom(...SERVICES).map((name) =>
  objectOf({
    ...{ kind: "Ingress", name: "i", born: 2 },
    spec: {
      ingressClassName: "edge",
      rules: [
        {
          host: "x.test",
          http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name, port: { number: 80 } } } }] },
        },
      ],
    },
  }),
);
const endpoints = fc
  .record({ name: fc.constantFrom(...SERVICES), ends: fc.subarray(["10.0.0.1", "10.0.0.2", "10.0.0.3"]) })
  .map(({ name, ends }) => serviceOf(name, ...ends)[1]!);
const service = fc
  .record({ name: fc.constantFrom(...SERVICES), port: fc.constantFrom(80, 81) })
  .map(({ name, port }) =>
    objectOf({ kind: "Service", name, spec: { clusterIP: "10.96.0.9", ports: [{ name: "http", port }] } }),
  );
const beside = fc.constantFrom("Secret", "ConfigMap", "Namespace").map((kind) => objectOf({ kind, name: "default" }));
const policy = fc.constantFrom(...SERVICES).map((name) =>
  objectOf({
    ...{ kind: "BackendTLSPolicy", name: "p" },
    spec: {
      targetRefs: [{ group: "", kind: "Service", name }],
      validation: { hostname: "s.test", wellKnownCACertificates: "System" },
    },
  }),
);
const change = fc.oneof(
  { weight: 6, arbitrary: endpoints },
  { weight: 6, arbitrary: route },
  { weight: 2, arbitrary: service },
  { weight: 2, arbitrary: beside },
  ...[stream, ingress, policy].map((arbitrary) => ({ weight: 1, arbitrary })),
);
const step = fc.record({ object: change, isGone: fc.constantFrom(false, false, false, true) });

function base(): ObjectStore {
  const store = new ObjectStore();
  const listeners = [
    { name: "http", port: 8080, protocol: "HTTP" },
    { name: "tcp", port: 9000, protocol: "TCP" },
  ];
  for (const one of [
    objectOf({ kind: "GatewayClass", name: "edge", spec: { controllerName: SETTINGS.controller } }),
    objectOf({ kind: "Gateway", name: "gw", spec: { gatewayClassName: "edge", listeners } }),
    ...SERVICES.flatMap((name) => serviceOf(name, "10.0.0.1")),
  ])
    store.put(versioned(one));
  return store;
}

const shown = ({ files, listeners, statuses, events }: ClusterResult) => ({
  files: files.map(({ file: { path, bytes } }) => [path, Buffer.from(bytes!).toString()]),
  ...{ listeners, events },
  // A status that asks for nothing is none.
  statuses: [...statuses].filter(([, { status }]) => Object.keys(status).length > 0).sort(),
});

const bytes = Buffer.from("server: {host: 127.0.0.1, port: 0}\n");
const given = { config: { name: "config.yaml", path: "/none/config.yaml", bytes }, routes: null };
const request = (
  { files: routeFiles, listeners }: ClusterResult,
  memory: RouteMemory,
  isPartial: boolean,
): ConfigRequest => ({
  ...{ configPath: null, routesPath: null, cwd: "/none", env: {}, given, routeFiles, listeners, memory, isPartial },
});

test("after any changes, renewed routes, statuses and configuration are those of all objects", () => {
  const folder = new CertificateFolder("/none");
  let renewals = 0;
  let readings = 0;
  fc.assert(
    fc.property(fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 }), (rounds) => {
      const store = base();
      const [memory, other] = [new RouteMemory(), new RouteMemory()];
      let last = clusterResult(store, SETTINGS, folder);
      store.takeChanges();
      loadConfig(request(last, memory, true));
      loadConfig(request(last, other, false));
      for (const round of rounds) {
        for (const { object, isGone } of round) {
          if (isGone) store.remove(object.kind, object.metadata.namespace ?? "", object.metadata.name);
          else store.put(versioned(object));
        }
        const renewed = last.renewed(store.takeChanges());
        const whole = clusterResult(store, SETTINGS, folder);
        if (renewed !== null) {
          renewals++;
          expect(shown(renewed.result)).toEqual(shown(whole));
        }
        last = renewed?.result ?? whole;
        const [before, after] = [loadConfig(request(last, memory, true)), loadConfig(request(whole, other, false))];
        if (!before.ok || !after.ok) throw new Error("the lists of a cluster are left out alone");
        expect(before.config.routes).toEqual(after.config.routes);
        expect(before.beside.left.map(({ name }) => name)).toEqual(after.beside.left.map(({ name }) => name));
        readings++;
      }
    }),
    { numRuns: 12, seed: 7 },
  );
  // Not by translating everything again.
  expect(renewals).toBeGreaterThan(readings / 5);
});

test("what a change of endpoints asks the store for does not depend on the number of routes", () => {
  const asks = [50, 400].map((count) => {
    const store = base();
    for (let i = 0; i < count; i++) {
      const [made, ends] = serviceOf(`s${i}`, "10.0.0.1");
      const rules = [{ backendRefs: [{ name: `s${i}`, port: 80 }] }];
      const spec = { parentRefs: [{ name: "gw" }], hostnames: [`h${i}.test`], rules };
      for (const one of [made!, ends!, objectOf({ kind: "HTTPRoute", name: `r${i}`, spec })]) store.put(versioned(one));
    }
    const whole = clusterResult(store, SETTINGS, new CertificateFolder("/none"));
    store.takeChanges();
    store.put(versioned(serviceOf("s7", "10.0.0.2")[1]!));
    let asked = 0;
    for (const name of ["get", "list", "slicesOf"] as const) {
      const ask = store[name].bind(store) as (...args: unknown[]) => unknown;
      store[name] = ((...args: unknown[]) => {
        asked++;
        return ask(...args);
      }) as never;
    }
    const renewed = whole.renewed(store.takeChanges());
    expect(renewed!.statuses).toEqual(["HTTPRoute default/r7"]);
    expect(renewed!.result.files.filter((file, i) => file !== whole.files[i])).toHaveLength(1);
    return asked;
  });
  expect(asks[1]).toBe(asks[0]!);
});
