import { BinaryReader } from "@bufbuild/protobuf/wire";

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
 * Reads an `X509SVIDResponse`: the first identity in it is the default one. Bundles of other trust domains and lists of revoked
 * certificates are passed over.
 * @returns what is wrong with it, where it is no such message
 */
export function readX509Response(message: Uint8Array): X509Svid | string {
  try {
    const reader = new BinaryReader(message);
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (field === 1) return readSvid(reader.bytes());
      reader.skip(type, field);
    }
  } catch {
    return "a message that cannot be read";
  }
  return "no identity in the response";
}

function readSvid(message: Uint8Array): X509Svid | string {
  const reader = new BinaryReader(message);
  const fields: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field >= 1 && field <= 4) fields[field] = reader.bytes();
    else reader.skip(type, field);
  }
  const [, id, chain, key, bundle] = fields;
  if (id === undefined || chain === undefined || key === undefined || bundle === undefined)
    return "an identity without certificate, key or bundle";
  const certificates = derElements(chain);
  const authorities = derElements(bundle);
  if (certificates === null || certificates.length === 0 || authorities === null || authorities.length === 0)
    return "certificates that cannot be read";
  return {
    id: Buffer.from(id).toString("utf8"),
    chain: certificates.map((der) => pem("CERTIFICATE", der)).join(""),
    key: pem("PRIVATE KEY", key),
    bundle: authorities.map((der) => pem("CERTIFICATE", der)).join(""),
  };
}

/** Elements of DER that stand one after the other, whole; null where they do not end with the bytes. */
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
