import { hostAndPort } from "../../core/ip-address.ts";
import type { ObjectStore } from "./object-store.ts";
import type { EndpointSlice, Secret, Service, ServicePort } from "./objects.ts";

/** The servers behind a port of a Service. */
interface ServiceBackend {
  /** `10.244.0.5:3000`, sorted; none while no endpoint is ready. */
  readonly addresses: readonly string[];
  /** Of the port: "" for none. */
  readonly appProtocol: string;
}

/** Why there is no such backend. */
type BackendFault = "no service" | "no port";

/**
 * The ready endpoints of a port of a Service, from its EndpointSlices. While none is ready, endpoints count that terminate and still serve.
 * @param port a number, or the name of a port
 */
export function backendOf(
  store: ObjectStore,
  namespace: string,
  name: string,
  port: number | string,
  protocol: "TCP" | "UDP" = "TCP",
): ServiceBackend | BackendFault {
  const service = store.get<Service>("Service", namespace, name);
  if (service === null) return "no service";
  const found = portOf(service, port, protocol);
  if (found === null) return "no port";
  const ready = new Set<string>();
  const serving = new Set<string>();
  for (const slice of store.byLabel<EndpointSlice>("EndpointSlice", namespace, SERVICE_NAME, name)) {
    if (slice.addressType !== "IPv4" && slice.addressType !== "IPv6") continue;
    const target = slice.ports?.find(
      (one) => (one.name ?? "") === (found.name ?? "") && (one.protocol ?? "TCP") === protocol,
    );
    if (target?.port === undefined) continue;
    for (const { addresses = [], conditions = {} } of slice.endpoints ?? []) {
      const text = addresses[0] === undefined ? null : hostAndPort(addresses[0], target.port);
      if (text === null) continue;
      if (conditions.ready !== false) ready.add(text);
      else if (conditions.serving === true) serving.add(text);
    }
  }
  const addresses = [...(ready.size > 0 ? ready : serving)].sort();
  return { addresses, appProtocol: found.appProtocol ?? "" };
}

function portOf({ spec }: Service, port: number | string, protocol: string): ServicePort | null {
  const all = spec?.ports?.filter((one) => (one.protocol ?? "TCP") === protocol) ?? [];
  return all.find((one) => (typeof port === "number" ? one.port === port : one.name === port)) ?? null;
}

const SERVICE_NAME = "kubernetes.io/service-name";

/** The pair of a Secret of type kubernetes.io/tls, in PEM; null if it is none. It goes into no log and no listing. */
export function certificateOf(
  store: ObjectStore,
  namespace: string,
  name: string,
): { cert: string; key: string } | null {
  const secret = store.get<Secret>("Secret", namespace, name);
  if (secret?.type !== "kubernetes.io/tls") return null;
  const [cert, key] = [textIn(secret, "tls.crt"), textIn(secret, "tls.key")];
  return cert.includes("-----BEGIN CERTIFICATE-----") && key.includes("PRIVATE KEY-----") ? { cert, key } : null;
}

/** A value of a Secret; "" for none. */
function textIn({ data }: Secret, key: string): string {
  return Buffer.from(data?.[key] ?? "", "base64").toString();
}

interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

const kept: WeakMap<ObjectStore, Map<string, CertificatePair>> = new WeakMap();

/** The same; while the Secret is no pair, the one that it was before. A Secret that is gone has none. */
export function keptCertificateOf(store: ObjectStore, namespace: string, name: string): CertificatePair | null {
  const pairs = kept.get(store) ?? new Map<string, CertificatePair>();
  kept.set(store, pairs);
  const key = `${namespace}/${name}`;
  const pair = certificateOf(store, namespace, name);
  if (pair !== null) pairs.set(key, pair);
  else if (store.get("Secret", namespace, name) === null) pairs.delete(key);
  return pairs.get(key) ?? null;
}
