import { ConfiguredFiles } from "../../src/config/configured-file.ts";
import { FaultLog } from "../../src/config/fault-log.ts";
import { SharedParts } from "../../src/config/shared-parts.ts";
import { ObjectStore } from "../../src/features/kubernetes/object-store.ts";
import type { KubeObject, RouteInput, TranslationSettings } from "../../src/features/kubernetes/objects.ts";
import { resolveRoutes } from "../../src/loading/route-resolution.ts";
import { asItIs } from "../../src/loading/source-listeners.ts";
import { configFile } from "../../src/settings/config-settings.ts";

/** Objects of a cluster by what is particular of each. */
export type Particulars = Readonly<Record<string, unknown>> & {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Its age: the smaller, the older. */
  readonly born?: number;
};

const CLUSTER_KINDS = ["IngressClass", "GatewayClass", "Namespace"];

export function objectOf({
  kind,
  name,
  namespace = "default",
  annotations,
  born = 0,
  ...rest
}: Particulars): KubeObject {
  const place = CLUSTER_KINDS.includes(kind) ? {} : { namespace };
  const creationTimestamp = `2026-01-01T00:00:${String(born).padStart(2, "0")}Z`;
  return {
    apiVersion: "v1",
    kind,
    metadata: { name, ...place, creationTimestamp, generation: 1, ...(annotations ? { annotations } : {}) },
    ...rest,
  };
}

/** A Service with a port 80 by the name http, and its ready endpoints. */
export function serviceOf(name: string, ...addresses: string[]): KubeObject[] {
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  const slice = objectOf({
    kind: "EndpointSlice",
    name: `${name}-1`,
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: "http", port: 8080 }],
  });
  const metadata = { ...slice.metadata, labels: { "kubernetes.io/service-name": name } };
  return [objectOf({ kind: "Service", name, spec: { clusterIP: "10.96.0.9", ports } }), { ...slice, metadata }];
}

export function storeOf(...objects: readonly KubeObject[]): ObjectStore {
  const store = new ObjectStore();
  for (const one of objects) store.put(one);
  return store;
}

export const CLUSTER_SETTINGS: TranslationSettings = {
  controller: "edge.dev/gateway",
  ingressClass: "edge",
  ingressPorts: { http: 80, https: 443 },
  addresses: ["192.0.2.1"],
  pool: [],
  isUsable: () => true,
  canListen: () => true,
  fileOf: () => "/certificate.pem",
};

/** What the gateway has against routes, if it has their listeners. */
export function routeFaults(routes: readonly RouteInput[]): string[] {
  const log = new FaultLog(asItIs("", null));
  const files = new ConfiguredFiles(log, "/");
  const { server, proxy, cluster } = configFile.resolve(log.read(configFile, {}, [], 1), { path: [], log, files });
  const names = [...new Set(routes.flatMap(({ listeners }) => (listeners ?? []) as readonly string[]))];
  const open = { ...server, listeners: names.map((name) => ({ name })) as never };
  const around = { server: open, proxy, cluster, path: [], log, files };
  resolveRoutes(routes, { ...around, parts: new SharedParts(), knownWafRules: [], maps: [] });
  return log.faults.map(({ path, message }) => `${path}: ${message}`);
}
