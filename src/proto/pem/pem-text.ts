import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";

/** The certificates of a file, each of which has been read. */
export interface PemCertificates {
  /** The first one. */
  readonly leaf: X509Certificate;
  /** All of them, and nothing else, in the order of the file. */
  readonly pem: string;
}

/**
 * Reads all certificates of a PEM file. Keys and text between them are passed over; a byte order mark is none of it.
 * @throws Error that names the fault, and with which certificate: one that is cut off or damaged spoils the file, wherever it stands
 */
export function readCertificates(bytes: Uint8Array): PemCertificates {
  const blocks = blocksOf(textOf(bytes, "a certificate")).filter(({ label }) => !label.endsWith("PRIVATE KEY"));
  const certificates = blocks.map(({ label, text }, i) => {
    if (!CERTIFICATES.has(label)) throw new Error(`expected certificates, found ${label} (block ${i + 1} of the file)`);
    return { text, certificate: certificateOf(text, i, blocks.length) };
  });
  const first = certificates[0];
  if (first === undefined) throw new Error("expected a certificate in PEM form (-----BEGIN CERTIFICATE-----)");
  return { leaf: first.certificate, pem: certificates.map(({ text }) => text).join("") };
}

/** A private key. */
interface PemKey {
  readonly key: KeyObject;
  /** The key alone. */
  readonly pem: string;
}

/**
 * Reads the private key of a PEM file.
 * @throws Error that names the fault
 */
export function readPrivateKey(bytes: Uint8Array): PemKey {
  const blocks = blocksOf(textOf(bytes, "a private key"));
  const block = blocks.find(({ label }) => label.endsWith("PRIVATE KEY"));
  if (block === undefined || block.label === "ENCRYPTED PRIVATE KEY" || block.text.includes("Proc-Type:"))
    throw new Error(NO_KEY);
  try {
    return { key: createPrivateKey(block.text), pem: block.text };
  } catch {
    throw new Error(NO_KEY);
  }
}

/**
 * Reads the lists of revoked certificates (RFC 5280 §5) of a PEM file, in the order of the file.
 * @param isDamaged asks the library
 * @throws Error that names the fault, and the list
 */
export function readRevocations(
  bytes: Uint8Array,
  isDamaged: (list: string) => boolean = () => false,
): readonly string[] {
  const blocks = blocksOf(textOf(bytes, "a list of revoked certificates"));
  const lists = blocks.filter(({ label }) => label === REVOCATIONS).map(({ text }) => text);
  if (lists.length === 0)
    throw new Error(`expected a list of revoked certificates in PEM form (${BEGIN}X509 CRL-----)`);
  for (const [i, list] of lists.entries()) {
    if (isDamaged(list))
      throw new Error(`list ${i + 1} of ${lists.length} is damaged: expected an X509 CRL in PEM form`);
  }
  return lists;
}

/**
 * Why a server cannot show a certificate although it is one, or "".
 * @param certificate the server's own
 */
export function keyFault(certificate: X509Certificate): string {
  let key: KeyObject;
  try {
    key = certificate.publicKey;
  } catch {
    return "its key is of a kind that TLS here does not take, such as RSA-PSS: issue it with an RSA or ECDSA key";
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS;
  return bits < MIN_RSA_BITS ? `its RSA key has ${bits} bits, too few for TLS: issue it with 2048 or more` : "";
}

interface Block {
  readonly label: string;
  /** With its first and last line. */
  readonly text: string;
}

/** RFC 7468 §2. Line by line: what a block holds is for the reader of certificates. */
function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let label = "";
  let lines: string[] = [];
  for (const line of text.split("\n")) {
    const bare = line.trim();
    const begins = bare.startsWith(BEGIN) && bare.endsWith(DASHES) ? bare.slice(BEGIN.length, -DASHES.length) : "";
    if (begins !== "" && label !== "") throw new Error(cutOff(blocks.length, label));
    if (begins !== "") {
      label = begins;
      lines = [];
    }
    if (label !== "") lines.push(bare);
    if (label === "" || bare !== `-----END ${label}${DASHES}`) continue;
    blocks.push({ label, text: `${lines.join("\n")}\n` });
    label = "";
  }
  if (label !== "") throw new Error(cutOff(blocks.length, label));
  return blocks;
}

function cutOff(before: number, label: string): string {
  return `${label} is cut off: block ${before + 1} of the file has no -----END ${label}${DASHES}`;
}

function certificateOf(text: string, index: number, count: number): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    const which = count === 1 ? "the certificate" : `certificate ${index + 1} of ${count}`;
    throw new Error(`${which} is damaged: expected a certificate in PEM form (-----BEGIN CERTIFICATE-----)`);
  }
}

/** @param what the file should be */
function textOf(bytes: Uint8Array, what: string): string {
  const [first = 0, second = 0, third = 0] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    throw new Error("the file is UTF-16: save it as ASCII or UTF-8");
  // A SEQUENCE whose length has two bytes: what all certificates and keys begin with.
  if (first === 0x30 && (second === 0x82 || second === 0x81))
    throw new Error(`${what} in DER form: convert it with "openssl ${DER_TOOLS.get(what) ?? "pkey"} -inform der"`);
  const hasMark = first === 0xef && second === 0xbb && third === 0xbf;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1", hasMark ? 3 : 0);
}

const DER_TOOLS: ReadonlyMap<string, string> = new Map([
  ["a certificate", "x509"],
  ["a list of revoked certificates", "crl"],
]);
const BEGIN = "-----BEGIN ";
const DASHES = "-----";
const CERTIFICATES: ReadonlySet<string> = new Set(["CERTIFICATE", "X509 CERTIFICATE"]);
const REVOCATIONS = "X509 CRL";
const NO_KEY = "expected an unencrypted private key in PEM form (-----BEGIN PRIVATE KEY-----)";
const MIN_RSA_BITS = 1024;
