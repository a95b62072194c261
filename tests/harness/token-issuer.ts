import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject, sign as signBytes } from "node:crypto";
import { freePort } from "./ports.ts";

/** How a test key signs: as RFC 7518 §3 says for its algorithm. */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** A new key for an algorithm. @param bits of RSA */
export function issuerKey(alg: string, kid: string, bits = 2048): IssuerKey {
  const curve = CURVES[alg.slice(2)] ?? "P-256";
  const pair =
    alg === "EdDSA"
      ? generateKeyPairSync("ed25519")
      : alg.startsWith("ES")
        ? generateKeyPairSync("ec", { namedCurve: curve })
        : generateKeyPairSync("rsa", { modulusLength: bits });
  return { kid, alg, ...pair };
}

/** The key as a member of a JWK set. */
export function publicJwk({ kid, alg, publicKey }: IssuerKey): Readonly<Record<string, string>> {
  return { ...publicKey.export({ format: "jwk" }), kid, alg, use: "sig" } as unknown as Readonly<
    Record<string, string>
  >;
}

/** A JWK set of these keys, as text. */
export function keySetText(...keys: readonly IssuerKey[]): string {
  return JSON.stringify({ keys: keys.map(publicJwk) });
}

/** What a token is usually made of: from `https://id.test`, for `api`, good for an hour. */
export function usualClaims(more: object = {}): object {
  const now = Math.floor(Date.now() / 1000);
  return { iss: "https://id.test", aud: "api", sub: "alice", iat: now, exp: now + 3600, ...more };
}

/** A token by a key; header and payload may be anything, also text that is no JSON. */
export function token(key: IssuerKey, payload: object | string = usualClaims(), header: object | string = {}): string {
  const full = typeof header === "string" ? header : { alg: key.alg, kid: key.kid, typ: "JWT", ...header };
  const data = `${part(full)}.${part(payload)}`;
  return `${data}.${signature(key, data).toString("base64url")}`;
}

/** A token by a shared secret. */
export function secretToken(secret: string | Uint8Array, payload: object = usualClaims(), header: object = {}): string {
  const full = { alg: "HS256", typ: "JWT", ...header };
  const data = `${part(full)}.${part(payload)}`;
  const hash = `sha${full.alg.slice(2)}`;
  return `${data}.${createHmac(hash, secret).update(data).digest("base64url")}`;
}

/** One part of a token: an object as JSON, a text as it is. */
export function part(value: object | string): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

/** The signature of a key over some bytes. */
export function signature({ alg, privateKey }: IssuerKey, data: string): Buffer {
  if (alg === "EdDSA") return signBytes(null, Buffer.from(data), privateKey);
  const hash = `sha${alg.slice(2)}`;
  const pss = { padding: 6, saltLength: Number(alg.slice(2)) / 8 };
  const options = alg.startsWith("ES") ? { dsaEncoding: "ieee-p1363" as const } : alg.startsWith("PS") ? pss : {};
  return signBytes(hash, Buffer.from(data), { key: createPrivateKey(pem(privateKey)), ...options });
}

/** A key as PEM. */
export function pem(key: KeyObject): string {
  return key.type === "public"
    ? key.export({ type: "spki", format: "pem" }).toString()
    : key.export({ type: "pkcs8", format: "pem" }).toString();
}

/** Serves a JWK set by HTTP, as a test says at each moment. */
export class KeyServer {
  /** What it answers; a promise makes it slow. */
  answer: () => Response | Promise<Response>;
  requests = 0;
  readonly port: number = freePort();
  private server: ReturnType<typeof Bun.serve> | null = null;

  constructor(answer: () => Response | Promise<Response>, start = true) {
    this.answer = answer;
    if (start) this.start();
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/jwks.json`;
  }

  start(): void {
    this.server = Bun.serve({
      port: this.port,
      hostname: "127.0.0.1",
      fetch: () => {
        this.requests++;
        return this.answer();
      },
    });
  }

  async stop(): Promise<void> {
    await this.server?.stop(true);
    this.server = null;
  }
}

const CURVES: Readonly<Record<string, string>> = { "256": "P-256", "384": "P-384", "512": "P-521" };
