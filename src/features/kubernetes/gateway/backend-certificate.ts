import { certificateOf, keptCertificateOf } from "../backends.ts";
import type { ObjectStore } from "../object-store.ts";
import type { ObjectCondition } from "../objects.ts";
import { isGranted } from "./grants.ts";
import { condition, type GatewayObject } from "./shapes.ts";

/** The files of a certificate that edge shows to servers which speak TLS. */
export interface BackendPair {
  readonly cert_file: string;
  readonly key_file: string;
}

/** What a Gateway shows to servers, and what its status says of that; null and nothing for a Gateway that names no certificate. */
interface BackendCertificate {
  readonly pair: BackendPair | null;
  readonly conditions: readonly ObjectCondition[];
}

/** The certificate of `spec.tls.backend`. While its Secret is no pair, the one of before is shown. */
export function backendCertificate(
  store: ObjectStore,
  { kind, metadata, spec }: GatewayObject,
  fileOf: (pem: string) => string,
): BackendCertificate {
  const ref = spec?.tls?.backend?.clientCertificateRef;
  if (ref === undefined) return { pair: null, conditions: [] };
  const { namespace: own = "", generation } = metadata;
  const namespace = ref.namespace ?? own;
  const shown = `${ref.kind ?? "Secret"} ${namespace}/${ref.name}`;
  const refused = (reason: string, message: string): BackendCertificate["conditions"] => [
    condition(generation, "ResolvedRefs", false, reason, message),
  ];
  if ((ref.group ?? "") !== "" || (ref.kind ?? "Secret") !== "Secret")
    return { pair: null, conditions: refused(INVALID, `${shown} is no Secret`) };
  if (!isGranted(store, { kind, namespace: own }, { kind: "Secret", namespace, name: ref.name }))
    return { pair: null, conditions: refused("RefNotPermitted", `no ReferenceGrant allows the ${shown}`) };
  const serving = keptCertificateOf(store, namespace, ref.name);
  const pair = serving === null ? null : { cert_file: fileOf(serving.cert), key_file: fileOf(serving.key) };
  if (certificateOf(store, namespace, ref.name) === null)
    return { pair, conditions: refused(INVALID, `there is no ${shown} with a certificate and its key`) };
  return { pair, conditions: [condition(generation, "ResolvedRefs", true, "ResolvedRefs")] };
}

const INVALID = "InvalidClientCertificateRef";
