import { createPrivateKey, type KeyObject, randomBytes, webcrypto, X509Certificate } from "node:crypto";
import { chownSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { X509Certificate as X509 } from "@peculiar/x509";
import { makeFolder } from "../../../config/made-folder.ts";
import { ipVersion } from "../../../core/ip-address.ts";

/** Name of the file in the state folder. */
export const AUTHORITY_FILE = "internal-ca.pem";
/** Milliseconds that a certificate of the local authority is good for. */
export const INTERNAL_LIFE_MS = 7 * 86_400_000;

/** A certificate and its key, both PEM. */
interface IssuedPair {
  readonly chain: string;
  readonly key: string;
}

/** The local authority: signs certificates that machines trust which trust its root. docs/tls.md#a-local-authority */
export class InternalAuthority {
  /** The root's certificate, PEM. */
  readonly root: string;
  /** SHA-256 of the root's certificate, as others print it. */
  readonly fingerprint: string;
  private readonly issuer: X509;
  private readonly signer: CryptoKey;
  private readonly notAfterMs: number;
  /** One key for all names: it lives as long as the process. */
  private leaf: { readonly keys: CryptoKeyPair; readonly pem: string } | null = null;

  private constructor(root: X509Certificate, issuer: X509, signer: CryptoKey) {
    this.root = root.toString();
    this.fingerprint = root.fingerprint256;
    this.issuer = issuer;
    this.signer = signer;
    this.notAfterMs = Date.parse(root.validTo);
  }

  /**
   * The authority of a folder; it is made if there is none.
   * @throws Error that names the fault of the file
   */
  static async open(
    folder: string,
    nowMs: number = Date.now(),
  ): Promise<{ authority: InternalAuthority; isNew: boolean }> {
    const file = join(folder, AUTHORITY_FILE);
    const before = textOf(file);
    if (before !== null) {
      const found = await InternalAuthority.read(before);
      if (found.notAfterMs > nowMs + INTERNAL_LIFE_MS) return { authority: found, isNew: false };
      rmSync(file, { force: true });
    }
    makeOwn(folder);
    const isNew = putNew(file, await newAuthority(nowMs));
    return { authority: await InternalAuthority.read(readFileSync(file, "utf8")), isNew };
  }

  private static async read(text: string): Promise<InternalAuthority> {
    const root = attempt(() => new X509Certificate(text));
    const key = attempt(() => createPrivateKey(text));
    if (root === null || key === null || !root.ca || !root.checkPrivateKey(key) || key.asymmetricKeyType !== "ec")
      throw new Error(
        "expected the certificate of an authority and its key: remove the file, and edge makes another one",
      );
    const { X509Certificate: Issuer } = await library();
    return new InternalAuthority(root, new Issuer(root.raw), await signerOf(key));
  }

  /** Signs a certificate for names and addresses, good for a week. */
  async issue(names: readonly string[], nowMs: number = Date.now()): Promise<IssuedPair> {
    const x509 = await library();
    this.leaf ??= await newKeys();
    const { keys, pem } = this.leaf;
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serial(),
      subject: `CN=edge, OU=${quoted(names[0]!.slice(0, MAX_UNIT))}`,
      issuer: this.issuer.subject,
      publicKey: keys.publicKey,
      signingKey: this.signer,
      signingAlgorithm: CURVE,
      notBefore: new Date(nowMs - CLOCK_SKEW_MS),
      notAfter: new Date(Math.min(nowMs + INTERNAL_LIFE_MS, this.notAfterMs)),
      extensions: [
        new x509.SubjectAlternativeNameExtension(
          names.map((value) => ({ type: ipVersion(value) === 0 ? ("dns" as const) : ("ip" as const), value })),
        ),
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        await x509.AuthorityKeyIdentifierExtension.create(this.issuer),
      ],
    });
    return { chain: `${certificate.toString("pem")}\n`, key: pem };
  }
}

/** The library for certificates. It needs the other one to be there before it. */
async function library(): Promise<typeof import("@peculiar/x509")> {
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto as Crypto);
  return x509;
}

async function newAuthority(nowMs: number): Promise<string> {
  const x509 = await library();
  const { keys, pem } = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: `CN=edge local authority, OU=${quoted(hostname().slice(0, MAX_UNIT))}`,
    keys,
    signingAlgorithm: CURVE,
    notBefore: new Date(nowMs - CLOCK_SKEW_MS),
    notAfter: new Date(nowMs + AUTHORITY_LIFE_MS),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return `${certificate.toString("pem")}\n${pem}`;
}

async function newKeys(): Promise<{ readonly keys: CryptoKeyPair; readonly pem: string }> {
  const keys = (await webcrypto.subtle.generateKey(CURVE, true, ["sign", "verify"])) as CryptoKeyPair;
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey as never));
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return { keys, pem: key.export({ type: "pkcs8", format: "pem" }).toString() };
}

function signerOf(key: KeyObject): Promise<CryptoKey> {
  const der = new Uint8Array(key.export({ type: "pkcs8", format: "der" }));
  return webcrypto.subtle.importKey("pkcs8", der, CURVE, false, ["sign"]) as Promise<CryptoKey>;
}

/** Puts the file in its place unless another process was faster. @returns whether it was put there */
function putNew(file: string, text: string): boolean {
  const next = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(next, text, { mode: 0o600 });
    giveToCaller(next);
    linkSync(next, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    // A file system without links.
    if (!NO_LINKS.has(codeOf(error))) throw error;
    renameSync(next, file);
    return true;
  } finally {
    rmSync(next, { force: true });
  }
}

function makeOwn(folder: string): void {
  if (textOf(folder) !== null) return;
  makeFolder(folder, 0o700);
  giveToCaller(folder);
}

/** Under sudo the user who calls it owns what is made: the gateway runs as that user. */
function giveToCaller(path: string): void {
  const [user, group] = [process.env.SUDO_UID, process.env.SUDO_GID].map(Number);
  if (process.getuid?.() === 0 && user! > 0 && group! >= 0) chownSync(path, user!, group!);
}

/** Null for no such file. */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    if (codeOf(error) === "EISDIR") return "";
    throw error;
  }
}

function attempt<T>(make: () => T): T | null {
  try {
    return make();
  } catch {
    return null;
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

/** Positive, and no other's: browsers refuse a serial number that they know with another certificate. */
function serial(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes.toString("hex");
}

/** A value within a distinguished name. RFC 4514 */
function quoted(text: string): string {
  return text.replace(/[^a-zA-Z0-9.:*_-]/g, "_");
}

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const AUTHORITY_LIFE_MS = 3650 * 86_400_000;
const CLOCK_SKEW_MS = 3_600_000;
/** RFC 5280: the longest organizational unit. */
const MAX_UNIT = 64;
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);
