import type { DescMethod } from "@bufbuild/protobuf";
import { schemaOfTable } from "../grpc/compact-proto.ts";

/** The SPIFFE Workload API, as far as certificates are asked for. docs/sidecar.md#workload-api */
const API = schemaOfTable(
  "",
  [],
  {
    X509SVIDRequest: [],
    X509SVIDResponse: ["svids: X509SVID[] = 1"],
    X509SVID: ["spiffe_id: string = 1", "x509_svid: bytes = 2", "x509_svid_key: bytes = 3", "bundle: bytes = 4"],
  },
  { SpiffeWorkloadAPI: ["FetchX509SVID: X509SVIDRequest -> X509SVIDResponse[]"] },
);

/** The call whose stream brings each new certificate. */
export const FETCH_X509_SVID: DescMethod = API.method("/SpiffeWorkloadAPI/FetchX509SVID")!;

/** A message of its stream. */
export interface X509SvidResponse {
  readonly svids: readonly {
    readonly spiffeId: string;
    /** DER, the own certificate first. */
    readonly x509Svid: Uint8Array;
    readonly x509SvidKey: Uint8Array;
    readonly bundle: Uint8Array;
  }[];
}

/** An identity as the SPIFFE Workload API gives it, made texts of. docs/sidecar.md#workload-api */
export interface X509Svid {
  readonly id: string;
  /** PEM, the own certificate first. */
  readonly chain: string;
  /** PEM. */
  readonly key: string;
  /** The authorities of the own trust domain, PEM. */
  readonly bundle: string;
}

/**
 * The first identity of a response, which is the default one. Bundles of other trust domains and lists of revoked certificates are passed over.
 * @returns the fault in it, if it cannot be used
 */
export function identityIn({ svids: [first] }: X509SvidResponse): X509Svid | string {
  if (first === undefined) return "no identity in the response";
  const { spiffeId: id, x509Svid: chain, x509SvidKey: key, bundle } = first;
  if ([id, chain, key, bundle].some((field) => field.length === 0))
    return "an identity without certificate, key or bundle";
  const certificates = derElements(chain);
  const authorities = derElements(bundle);
  if (certificates === null || authorities === null) return "certificates that cannot be read";
  return {
    id,
    chain: certificates.map((der) => pem("CERTIFICATE", der)).join(""),
    key: pem("PRIVATE KEY", key),
    bundle: authorities.map((der) => pem("CERTIFICATE", der)).join(""),
  };
}

/** Elements of DER that stand one after the other, whole; null if they do not end with the bytes. */
function derElements(bytes: Uint8Array): Uint8Array[] | null {
  const elements: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at + 1] ?? 0xff;
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    if (lengthBytes > 3) return null;
    let length = lengthBytes === 0 ? first : 0;
    for (let i = 0; i < lengthBytes; i++) length = length * 256 + (bytes[at + 2 + i] ?? 0);
    const end = at + 2 + lengthBytes + length;
    if (end > bytes.length) return null;
    elements.push(bytes.subarray(at, end));
    at = end;
  }
  return elements;
}

/** RFC 7468 §2 */
function pem(label: string, der: Uint8Array): string {
  const lines = Buffer.from(der).toString("base64").replace(/.{64}/g, "$&\n").trimEnd();
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}
