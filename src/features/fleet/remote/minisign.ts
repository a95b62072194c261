import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";

/** A public key of minisign. */
export interface SigningKey {
  /** As minisign prints it: 16 hexadecimal digits. */
  readonly id: string;
  readonly key: KeyObject;
}

/** What a signature that holds says. */
export interface SignedNote {
  readonly keyId: string;
  /** The trusted comment, which is signed as well. */
  readonly comment: string;
  /** `timestamp:` of the trusted comment, in seconds since the epoch; 0 if there is none. */
  readonly signedAtS: number;
}

/**
 * Reads public keys: the lines of one `minisign.pub` or of several behind each other, so that a new key is known before the old one goes.
 * docs/fleet.md#signatures
 * @throws where a line is no key, or there is none
 */
export function readSigningKeys(text: string): readonly SigningKey[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.startsWith(UNTRUSTED));
  const keys = lines.map((line) => {
    const bytes = decoded(line.trim(), KEY_BYTES);
    if (bytes === null || bytes.toString("latin1", 0, 2) !== LEGACY)
      throw new Error("not a public key of minisign (a line of 56 characters that begins with RW)");
    const raw = bytes.subarray(10);
    const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: "der", type: "spki" });
    return { id: idOf(bytes), key };
  });
  if (keys.length === 0) throw new Error("holds no public key of minisign");
  return keys;
}

/**
 * Verifies a signature of minisign, over the text itself or over its BLAKE2b-512, and the one over its trusted comment.
 * docs/fleet.md#signatures
 * @param signature the text of the file `.minisig`
 * @throws why the signature does not hold
 */
export function verifySignature(data: Uint8Array, signature: string, keys: readonly SigningKey[]): SignedNote {
  const [untrusted = "", first = "", trusted = "", second = ""] = signature.split(/\r?\n/);
  const bytes = decoded(first, SIGNATURE_BYTES);
  const global = decoded(second, ED25519_BYTES);
  if (!untrusted.startsWith(UNTRUSTED) || !trusted.startsWith(TRUSTED) || bytes === null || global === null)
    throw new Error("the signature is not one of minisign");
  const algorithm = bytes.toString("latin1", 0, 2);
  if (algorithm !== LEGACY && algorithm !== PREHASHED) throw new Error("the signature has an unknown algorithm");
  const keyId = idOf(bytes);
  const signer = keys.find(({ id }) => id === keyId);
  if (signer === undefined) throw new Error(`signed with key ${keyId}, which is not one of --signature-key`);
  const own = bytes.subarray(10);
  const message = algorithm === PREHASHED ? createHash("blake2b512").update(data).digest() : data;
  if (!verify(null, message, signer.key, own)) throw new Error(`the signature of key ${keyId} does not fit the text`);
  const comment = trusted.slice(TRUSTED.length);
  if (!verify(null, Buffer.concat([own, Buffer.from(comment, "utf8")]), signer.key, global))
    throw new Error(`the trusted comment is not that of key ${keyId}`);
  const [, seconds = "0"] = /(?:^|\s)timestamp:(\d{1,15})(?=\s|$)/.exec(comment) ?? [];
  return { keyId, comment, signedAtS: Number(seconds) };
}

/** Null if the text is not base64 of so many bytes. */
function decoded(text: string, length: number): Buffer | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length !== Math.ceil(length / 3) * 4) return null;
  const bytes = Buffer.from(text, "base64");
  return bytes.length === length ? bytes : null;
}

/** The eight bytes after the algorithm are a number, least byte first. */
function idOf(bytes: Buffer): string {
  return bytes.readBigUInt64LE(2).toString(16).toUpperCase().padStart(16, "0");
}

const UNTRUSTED = "untrusted comment:";
const TRUSTED = "trusted comment: ";
/** Over the text itself; the kind of every key, too. */
const LEGACY = "Ed";
/** Over the BLAKE2b-512 of the text. */
const PREHASHED = "ED";
const ED25519_BYTES = 64;
/** Algorithm, id, and the key or the signature. */
const KEY_BYTES = 2 + 8 + 32;
const SIGNATURE_BYTES = 2 + 8 + ED25519_BYTES;
/** What precedes the 32 bytes of a key in a SubjectPublicKeyInfo. RFC 8410 §4 */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
