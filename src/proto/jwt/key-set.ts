import { createPublicKey, type JsonWebKeyInput, type KeyObject } from "node:crypto";

/** Bytes of the largest JWK set that is read. */
export const MAX_JWKS_BYTES = 262_144;

/** Keys of a JWK set that count. */
const MAX_JWKS_KEYS = 64;
/** Longest name of a key. */
const MAX_JWK_ID_CHARS = 256;
/** RSA keys that verify tokens. RFC 7518 §3.3; longer ones cost too much. */
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;

/** How one algorithm of RFC 7518 §3.1 or RFC 8037 verifies. */
interface SignatureAlgorithm {
  /** `edwards` has a hash of its own. */
  readonly hash: "sha256" | "sha384" | "sha512" | null;
  readonly family: "secret" | "rsa" | "rsa-pss" | "ec" | "edwards";
  /** Of `ec`, as the runtime names it; "" for others. */
  readonly curve: string;
  /** Whether a signature takes more than a fraction of a millisecond, so that it is verified off the event loop. */
  readonly isSlow: boolean;
}

/** THE algorithms that tokens may be signed with. `none` is not among them. docs/authentication.md#keys */
export const ALGORITHMS = {
  HS256: row("secret", "sha256"),
  HS384: row("secret", "sha384"),
  HS512: row("secret", "sha512"),
  RS256: row("rsa", "sha256"),
  RS384: row("rsa", "sha384"),
  RS512: row("rsa", "sha512"),
  PS256: row("rsa-pss", "sha256"),
  PS384: row("rsa-pss", "sha384"),
  PS512: row("rsa-pss", "sha512"),
  ES256: row("ec", "sha256", "prime256v1"),
  ES384: row("ec", "sha384", "secp384r1", true),
  ES512: row("ec", "sha512", "secp521r1", true),
  EdDSA: row("edwards", null),
  Ed25519: row("edwards", null),
} as const satisfies Readonly<Record<string, SignatureAlgorithm>>;

export type AlgorithmName = keyof typeof ALGORITHMS;

/** Their names, in the order of the table. */
export const ALGORITHM_NAMES = Object.keys(ALGORITHMS) as readonly AlgorithmName[];

/** A key that verifies tokens, as plain data: a configuration holds it, and messages between threads do. */
export interface VerificationKey {
  /** What tokens call it; "" if it has no name. */
  readonly kid: string;
  /** What it verifies, and nothing else: a key of one kind never meets an algorithm of another. */
  readonly algorithms: readonly AlgorithmName[];
  /** In base64: the SubjectPublicKeyInfo in DER, or the bytes of a secret. */
  readonly key: string;
}

/** The keys of a set. */
export interface KeySetReading {
  readonly keys: readonly VerificationKey[];
  /** Why others were passed over, one line each; without key material. */
  readonly notes: readonly string[];
}

/**
 * The keys of a JWK set (RFC 7517 §5) that verify signatures by these algorithms. A key that is broken, weak, secret or of another
 * kind is passed over with a note; one for encryption silently.
 * @param allowed as configured
 * @returns why the text is no set at all, as an Error
 */
export function readKeySet(text: string, allowed: readonly AlgorithmName[]): KeySetReading | Error {
  let entries: unknown;
  try {
    entries = (JSON.parse(text) as { readonly keys?: unknown } | null)?.keys;
  } catch {
    return new Error("it is not JSON");
  }
  if (!Array.isArray(entries)) return new Error('it is no JWK set: it has no list "keys"');
  const keys: VerificationKey[] = [];
  const notes: string[] = [];
  for (const [i, entry] of entries.slice(0, MAX_JWKS_KEYS).entries()) {
    const key = readKey(entry, allowed);
    if (typeof key === "string") notes.push(`${nameOf(entry, i)} is passed over: ${key}`);
    else if (key !== null) keys.push(key);
  }
  if (entries.length > MAX_JWKS_KEYS)
    notes.push(`${entries.length - MAX_JWKS_KEYS} keys after the first are passed over`);
  return { keys, notes };
}

/** The keys of a PEM text: public keys, or certificates. @returns why it has none, as an Error */
export function readPublicKeys(text: string, allowed: readonly AlgorithmName[]): KeySetReading | Error {
  if (text.includes("PRIVATE KEY-----")) return new Error("it holds a private key, which has no place here");
  const blocks = pemBlocks(text);
  if (blocks === null) return new Error("the end of a key or certificate in it is missing");
  if (blocks.length === 0) return new Error("expected a public key or a certificate in PEM form");
  if (blocks.length > MAX_JWKS_KEYS) return new Error(`it holds more than ${MAX_JWKS_KEYS} keys`);
  const keys: VerificationKey[] = [];
  for (const [i, block] of blocks.entries()) {
    const key = ofObject(() => createPublicKey(block), "", allowed);
    if (typeof key === "string") return new Error(`key ${i + 1}: ${key}`);
    keys.push(key);
  }
  return { keys, notes: [] };
}

/** The keys and certificates of a text, each with the lines around it; null if one has no end. RFC 7468 §2 */
function pemBlocks(text: string): string[] | null {
  const blocks: string[] = [];
  let label = "";
  let from = 0;
  for (const { index, 0: line, 1: side, 2: what = "" } of text.matchAll(PEM_LINE)) {
    if (side === "BEGIN" && label === "") {
      label = what;
      from = index;
    } else if (side === "END" && label === what) {
      blocks.push(text.slice(from, index + line.length));
      label = "";
    }
  }
  return label === "" ? blocks : null;
}

/** The key that a shared secret is, for those of these algorithms that it is long enough for. RFC 7518 §3.2 */
export function secretKey(secret: string, allowed: readonly AlgorithmName[]): VerificationKey {
  const bytes = Buffer.from(secret, "utf8");
  const algorithms = allowed.filter((name) => isSecretFor(bytes.length, name));
  return { kid: "", algorithms, key: bytes.toString("base64") };
}

/** Whether so many bytes are a secret for that algorithm. */
export function isSecretFor(bytes: number, name: AlgorithmName): boolean {
  const { family, hash } = ALGORITHMS[name];
  return family === "secret" && bytes >= HASH_BYTES[hash];
}

function readKey(entry: unknown, allowed: readonly AlgorithmName[]): VerificationKey | string | null {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return "it is not an object";
  const jwk = entry as Readonly<Record<string, unknown>>;
  const { kid = "", kty, use, key_ops: operations, alg } = jwk;
  if (use === "enc") return null;
  if (use !== undefined && use !== "sig") return "its use is unknown";
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return null;
  if (kty === "oct" || "k" in jwk) return "a secret has no place in a set of public keys";
  if ("d" in jwk) return "it is a private key: every reader of the set can sign tokens with it";
  if (typeof kid !== "string" || kid.length > MAX_JWK_ID_CHARS) return "its kid is no text, or too long";
  const members = typeof kty === "string" ? MEMBERS[kty] : undefined;
  if (members === undefined) return "its kind is not supported";
  if (members.some((name) => typeof jwk[name] !== "string")) return `it needs ${members.join(", ")}`;
  if (alg !== undefined && !(typeof alg === "string" && Object.hasOwn(ALGORITHMS, alg))) {
    return "its algorithm is not supported";
  }
  const own = alg === undefined ? allowed : allowed.filter((name) => name === alg || isSame(name, alg));
  const plain = Object.fromEntries(["kty", ...members].map((name) => [name, jwk[name]]));
  return ofObject(() => createPublicKey({ key: plain as JsonWebKeyInput["key"], format: "jwk" }), kid, own);
}

/** RFC 9864: one algorithm by its old and its new name. */
function isSame(name: AlgorithmName, alg: unknown): boolean {
  return ALGORITHMS[name].family === "edwards" && (alg === "EdDSA" || alg === "Ed25519");
}

function ofObject(make: () => KeyObject, kid: string, allowed: readonly AlgorithmName[]): VerificationKey | string {
  let key: KeyObject;
  try {
    key = make();
  } catch {
    return "it cannot be read as a key";
  }
  const { modulusLength: bits = 0, publicExponent: exponent = 0n, namedCurve = "" } = key.asymmetricKeyDetails ?? {};
  const type = key.asymmetricKeyType;
  if (type === "rsa") {
    if (bits < MIN_RSA_BITS) return `an RSA key of ${bits} bits is too short: at least ${MIN_RSA_BITS}`;
    if (bits > MAX_RSA_BITS) return `an RSA key of ${bits} bits is too long: at most ${MAX_RSA_BITS}`;
    if (exponent < 3n) return "its exponent is too small";
  }
  const kinds = FAMILIES[type ?? ""] ?? [];
  const possible = ALGORITHM_NAMES.filter((name) => {
    const { family, curve } = ALGORITHMS[name];
    return kinds.includes(family) && (family !== "ec" || curve === namedCurve);
  });
  if (possible.length === 0) return "its kind is not supported";
  const algorithms = possible.filter((name) => allowed.includes(name));
  if (algorithms.length === 0) return `it is for ${possible.join(", ")}, which "algorithms" or its own alg leaves out`;
  return { kid, algorithms, key: key.export({ type: "spki", format: "der" }).toString("base64") };
}

function nameOf(entry: unknown, index: number): string {
  const kid = (entry as { readonly kid?: unknown } | null)?.kid;
  const isPlain = typeof kid === "string" && /^[\x21-\x7e]{1,64}$/.test(kid);
  return isPlain ? `key ${JSON.stringify(kid)}` : `key ${index + 1}`;
}

function row<F extends SignatureAlgorithm["family"], H extends SignatureAlgorithm["hash"]>(
  family: F,
  hash: H,
  curve = "",
  isSlow = false,
) {
  return { family, hash, curve, isSlow } as const;
}

/** RFC 7518 §6, RFC 8037 §2: the public members, which alone are read. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  __proto__: null as never,
  RSA: ["n", "e"],
  EC: ["crv", "x", "y"],
  OKP: ["crv", "x"],
};
const FAMILIES: Readonly<Record<string, readonly SignatureAlgorithm["family"][]>> = {
  rsa: ["rsa", "rsa-pss"],
  ec: ["ec"],
  ed25519: ["edwards"],
};
const HASH_BYTES = { sha256: 32, sha384: 48, sha512: 64 } as const;
const PEM_LINE = /-----(BEGIN|END) (PUBLIC KEY|RSA PUBLIC KEY|CERTIFICATE)-----/g;
