import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";

/** What a sealed text is: one kind is never taken for another. */
type SealedKind = "session" | "attempt";

/** Whom sealed texts are for: what one route, client or provider has sealed, no other opens. */
export interface SealScope {
  readonly issuer: string;
  readonly clientId: string;
  /** Of which routes: all of the server's, or one. */
  readonly routes: string;
}

/**
 * Seals what a client keeps and cannot read or change: AES-256-GCM under keys that follow from the secrets (HKDF, RFC
 * 5869), one for each kind. Scope, kind and host are authenticated with the text. docs/authentication.md#sessions
 */
export class Sealer {
  /** Tells apart the cookies of scopes that share a host. */
  readonly tag: string;
  private readonly scope: string;
  private readonly keys: Readonly<Record<SealedKind, readonly Buffer[]>>;

  /** @param secrets the first one seals, all of them open */
  constructor(secrets: readonly string[], { issuer, clientId, routes }: SealScope) {
    this.scope = JSON.stringify([issuer, clientId, routes]);
    this.tag = createHash("sha256").update(this.scope).digest("hex").slice(0, TAG_CHARS);
    this.keys = { session: keysOf(secrets, "session"), attempt: keysOf(secrets, "attempt") };
  }

  /** @param host that it is for @returns letters, digits, `-` and `_` */
  seal(kind: SealedKind, host: string, bytes: Buffer): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.keys[kind][0]!, nonce);
    cipher.setAAD(this.boundTo(kind, host));
    const sealed = [nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString("base64url");
  }

  /** @returns what was sealed; null for whatever was not sealed so, for this kind and host */
  open(kind: SealedKind, host: string, sealed: string): Buffer | null {
    const bytes = Buffer.from(sealed, "base64url");
    // Of all spellings of these bytes, the one that `seal` writes.
    if (bytes.length < NONCE_BYTES + AUTH_TAG_BYTES || bytes.toString("base64url") !== sealed) return null;
    for (const key of this.keys[kind]) {
      const opened = this.openWith(key, this.boundTo(kind, host), bytes);
      if (opened !== null) return opened;
    }
    return null;
  }

  private openWith(key: Buffer, boundTo: Buffer, bytes: Buffer): Buffer | null {
    const tagFrom = bytes.length - AUTH_TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: AUTH_TAG_BYTES });
    decipher.setAAD(boundTo);
    decipher.setAuthTag(bytes.subarray(tagFrom));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, tagFrom)), decipher.final()]);
    } catch {
      return null;
    }
  }

  private boundTo(kind: SealedKind, host: string): Buffer {
    return Buffer.from(JSON.stringify([FORMAT, kind, host, this.scope]));
  }
}

function keysOf(secrets: readonly string[], kind: SealedKind): Buffer[] {
  return secrets.map((secret) => Buffer.from(hkdfSync("sha256", secret, "edge auth.oidc", kind, KEY_BYTES)));
}

const CIPHER = "aes-256-gcm";
/** Changed with what is sealed: sessions of another release are signed in anew. */
const FORMAT = 1;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const AUTH_TAG_BYTES = 16;
const TAG_CHARS = 10;
