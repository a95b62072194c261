import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

/** A text that was sealed with none of the keys, or for another name. */
export class SealBroken extends Error {}

/**
 * Seals the documents of a shared store, and their copies on disk: AES-256-GCM under keys that follow from `storage_key` (HKDF, RFC 5869).
 * The name is authenticated with the text: no document can be put in the place of another. docs/acme.md#encryption
 */
export class DocumentSeal {
  private readonly keys: readonly SealKey[];

  /** @param secrets the first one seals, all of them open; at least one */
  constructor(secrets: readonly string[]) {
    this.keys = secrets.map((secret) => ({
      id: derived(secret, "id", ID_BYTES),
      key: derived(secret, "key", KEY_BYTES),
    }));
  }

  /** @returns letters, digits and `. - _` */
  seal(name: string, text: string): string {
    const { id, key } = this.keys[0]!;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce);
    cipher.setAAD(Buffer.from(name, "utf8"));
    const bytes = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return [FORMAT, id.toString("hex"), bytes.toString("base64url")].join(".");
  }

  /**
   * @returns the text, and whether it was sealed with the first of the keys
   * @throws SealBroken
   */
  open(name: string, sealed: string): { readonly text: string; readonly isCurrent: boolean } {
    const [format, id, content] = sealed.split(".");
    if (format !== FORMAT || content === undefined) throw new SealBroken(`${name} is no document of this release`);
    const index = this.keys.findIndex((one) => one.id.toString("hex") === id);
    if (index < 0) throw new SealBroken(`${name} was sealed with another storage_key`);
    const bytes = Buffer.from(content, "base64url");
    const tagFrom = bytes.length - TAG_BYTES;
    if (tagFrom < NONCE_BYTES) throw new SealBroken(`${name} is cut short`);
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.keys[index]!.key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(name, "utf8"));
    decipher.setAuthTag(bytes.subarray(tagFrom));
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, tagFrom)), decipher.final()]);
      return { text: text.toString("utf8"), isCurrent: index === 0 };
    } catch {
      throw new SealBroken(`${name} was changed, or sealed for another name`);
    }
  }
}

interface SealKey {
  /** Tells which of the keys has sealed a document; says nothing of the key. */
  readonly id: Buffer;
  readonly key: Buffer;
}

function derived(secret: string, use: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "edge server.acme.storage", use, bytes));
}

const CIPHER = "aes-256-gcm";
const FORMAT = "edge1";
const ID_BYTES = 4;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
