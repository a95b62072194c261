import { hostAndPort, ipVersion } from "../../core/ip-address.ts";
import { keyFault, readCertificates, readPrivateKey } from "../../proto/pem/pem-text.ts";
import type { ObjectStore } from "./object-store.ts";
import type { ConfigMap, EndpointSlice, Secret, Service, ServicePort } from "./objects.ts";

/** The servers behind a port of a Service. */
interface ServiceBackend {
  /** `10.244.0.5:3000`, sorted; none while no endpoint is ready. */
  readonly addresses: readonly string[];
  /** Of the port: "" for none. */
  readonly appProtocol: string;
}

/** Why there is no such backend. */
type BackendFault = "no service" | "no port" | "external name";

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
  // Its name leads anywhere, and what stands behind it changes without a word.
  if (service.spec?.type === "ExternalName") return "external name";
  const found = portOf(service, port, protocol);
  if (found === null) return "no port";
  const ready = new Set<string>();
  const serving = new Set<string>();
  for (const slice of store.slicesOf<EndpointSlice>(namespace, name)) {
    if (slice.addressType !== "IPv4" && slice.addressType !== "IPv6") continue;
    const target = slice.ports?.find(
      (one) => (one.name ?? "") === (found.name ?? "") && (one.protocol ?? "TCP") === protocol,
    );
    if (target?.port === undefined || !isPort(target.port)) continue;
    for (const { addresses = [], conditions = {} } of slice.endpoints ?? []) {
      const [address = ""] = addresses;
      if (!isServerAddress(address)) continue;
      const text = hostAndPort(address, target.port);
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

function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port < 65_536;
}

/** Whether an address may be a server: services of the machine itself, such as those that give out its credentials, have link-local ones. */
export function isServerAddress(address: string): boolean {
  return ipVersion(address) !== 0 && !LINK_LOCAL.test(address);
}

/** 169.254.0.0/16 and fe80::/10, with the first also in IPv6; addresses that are none of a machine. */
const LINK_LOCAL = /^(?:::ffff:)?(?:169\.254\.|0\.0\.0\.0$)|^fe[89ab][0-9a-f]:|^::$|^::ffff:a9fe:/i;

/** The pair of a Secret of type kubernetes.io/tls, in PEM; null if it is none. It goes into no log and no listing. */
export function certificateOf(store: ObjectStore, namespace: string, name: string): CertificatePair | null {
  const secret = store.get<Secret>("Secret", namespace, name);
  if (secret === null) return null;
  let pair = pairs.get(secret);
  if (pair === undefined) {
    pair = pairIn(secret);
    pairs.set(secret, pair);
  }
  return pair;
}

const pairs: WeakMap<Secret, CertificatePair | null> = new WeakMap();

function pairIn(secret: Secret): CertificatePair | null {
  if (secret.type !== "kubernetes.io/tls") return null;
  try {
    const { leaf, pem } = readCertificates(Buffer.from(textIn(secret, "tls.crt")));
    const { key, pem: keyPem } = readPrivateKey(Buffer.from(textIn(secret, "tls.key")));
    return keyFault(leaf) === "" && leaf.checkPrivateKey(key) ? { cert: pem, key: keyPem } : null;
  } catch {
    return null;
  }
}

/** The certificates of authorities in a ConfigMap, in PEM; "" if they are none. */
export function authoritiesIn({ data }: ConfigMap): string {
  try {
    return readCertificates(Buffer.from(data?.["ca.crt"] ?? "")).pem;
  } catch {
    return "";
  }
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
