import type { X509Certificate } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  keyFault,
  type PemCertificates,
  readCertificates,
  readPrivateKey,
  readRevocations,
} from "../proto/pem/pem-text.ts";
import { type KeyPath, quote } from "./config-fault.ts";
import type { FaultLog } from "./fault-log.ts";
import { formatSize } from "./size.ts";

/** Bytes of a page of a site: every worker holds it, and a refusal must stay cheap. */
const MAX_PAGE_BYTES = 262_144;

/** An HTML page as it was when the configuration was read. */
export interface PageFile {
  /** Its absolute path. */
  readonly file: string;
  readonly html: string;
}

/** Resolves paths that one configuration file names, against the folder of that file, and checks what they point at. */
export class ConfiguredFiles {
  /** By absolute path: thousands of routes may name one page. */
  private readonly pages: Map<string, PageFile> = new Map();

  constructor(
    protected readonly log: FaultLog,
    private readonly baseDir: string,
  ) {}

  /** The absolute path; "" stays "". */
  absolute(path: string): string {
    return path === "" ? "" : resolve(this.baseDir, path);
  }

  /** A readable file; "" stays "". Notes a fault at `key` otherwise. */
  file(key: KeyPath, path: string): string {
    const full = this.absolute(path);
    if (full === "") return "";
    const fault = readFault(full, "file");
    if (fault !== "") this.log.fault(key, `expected a readable file, found ${quote(path)}: ${fault}`);
    return full;
  }

  /**
   * What a readable file holds, one character a byte; "" if it cannot be read, or has more than `maxBytes`, which are faults at
   * `key`. @param cure for a file that is too large
   */
  contents(key: KeyPath, path: string, maxBytes: number, cure: string): string {
    const full = this.file(key, path);
    if (full === "" || this.log.isFaulty(key)) return "";
    try {
      const { size } = statSync(full);
      if (size <= maxBytes) return readFileSync(full).subarray(0, maxBytes).toString("latin1");
      this.log.fault(
        key,
        `expected a file of at most ${formatSize(maxBytes)}, found one of ${formatSize(size)}: ${cure}`,
      );
    } catch {
      this.log.fault(key, `expected a readable file, found ${quote(path)}: it cannot be read`);
    }
    return "";
  }

  /** A folder that is there. */
  folder(key: KeyPath, path: string): string {
    const full = this.absolute(path);
    const fault = readFault(full, "folder");
    // edge looks for the folder beside the configuration file, not where you typed the command: say where that is.
    if (fault !== "")
      this.log.fault(key, `expected an existing folder, found ${quote(path)}: ${fault} (looked for ${full})`);
    return full;
  }

  /** A folder that can be written to, or be made in one that is there. */
  workFolder(key: KeyPath, path: string): string {
    const full = this.absolute(path);
    const fault = writeFault(full);
    if (fault !== "")
      this.log.fault(key, `expected a folder to write to, found ${quote(path)}: ${fault} (looked for ${full})`);
    return full;
  }

  /** An HTML page, read now: what becomes of the file later changes nothing until the next reload. Null for a fault, and for "". */
  page(key: KeyPath, path: string): PageFile | null {
    const full = this.file(key, path);
    if (full === "" || this.log.isFaulty(key)) return null;
    const known = this.pages.get(full);
    if (known !== undefined) return known;
    const html = readPage(full);
    if (html instanceof Error) {
      this.log.fault(key, `expected an HTML page, found ${quote(path)}: ${html.message}`);
      return null;
    }
    const page = { file: full, html };
    this.pages.set(full, page);
    return page;
  }

  /** A PEM bundle with at least one certificate; "" stays "". */
  bundle(key: KeyPath, path: string): string {
    const full = this.file(key, path);
    if (full !== "" && !this.log.isFaulty(key)) this.certificates(key, full);
    return full;
  }

  /** A PEM file with at least one list of revoked certificates; "" stays "". */
  revoked(key: KeyPath, path: string): string {
    const full = this.file(key, path);
    if (full === "" || this.log.isFaulty(key)) return full;
    const found = attempt(() => readRevocations(readFileSync(full), isDamagedList));
    if (found instanceof Error) this.log.fault(key, found.message);
    return full;
  }

  /** A certificate with its key: both readable, PEM, belonging together; warns when it has expired or is not valid yet. */
  pair(certKey: KeyPath, certPath: string, keyKey: KeyPath, keyPath: string): { certFile: string; keyFile: string } {
    const certFile = this.file(certKey, certPath);
    const keyFile = this.file(keyKey, keyPath);
    if (certFile === "" || keyFile === "" || this.log.isFaulty(certKey) || this.log.isFaulty(keyKey))
      return { certFile, keyFile };
    if (isSwapped(certFile, keyFile)) {
      this.log.fault(certKey, "this is the private key, and key_file the certificate: swap the two");
      return { certFile, keyFile };
    }
    const certificate = this.certificates(certKey, certFile)?.leaf ?? null;
    if (certificate === null) return { certFile, keyFile };
    const fault = keyFault(certificate);
    if (fault !== "") this.log.fault(certKey, fault);
    else this.checkExpiry(certKey, certificate);
    const key = attempt(() => readPrivateKey(readFileSync(keyFile)));
    if (key instanceof Error) this.log.fault(keyKey, key.message);
    else if (fault === "" && !certificate.checkPrivateKey(key.key))
      this.log.fault(keyKey, "this private key does not belong to the certificate beside it");
    return { certFile, keyFile };
  }

  private certificates(key: KeyPath, file: string): PemCertificates | null {
    const found = attempt(() => readCertificates(readFileSync(file)));
    if (!(found instanceof Error)) return found;
    this.log.fault(key, found.message);
    return null;
  }

  private checkExpiry(key: KeyPath, certificate: X509Certificate): void {
    const end = Date.parse(certificate.validTo);
    const now = Date.now();
    if (end <= now) this.log.warn(key, `this certificate expired on ${certificate.validTo}`);
    else if (Date.parse(certificate.validFrom) > now)
      this.log.warn(key, `this certificate is valid only from ${certificate.validFrom}`);
  }
}

/** Why a text that is confined cannot name a file. @param cure who may, or what lets it */
export function noFile(cure: string): string {
  return `names a file, a folder or a socket, ${cure}`;
}

/** For a text that may name no file: what others than the owner of the files wrote. */
export class NoFiles extends ConfiguredFiles {
  private readonly cure: string;

  constructor(log: FaultLog, baseDir: string, cure: string) {
    super(log, baseDir);
    this.cure = cure;
  }

  override absolute(path: string): string {
    return this.none([], path);
  }

  override file(key: KeyPath, path: string): string {
    return this.none(key, path);
  }

  override folder(key: KeyPath, path: string): string {
    return this.none(key, path);
  }

  override workFolder(key: KeyPath, path: string): string {
    return this.none(key, path);
  }

  private none(key: KeyPath, path: string): string {
    if (path !== "") this.log.fault(key, noFile(this.cure));
    return "";
  }
}

/** Whether TLS cannot use a list of revoked certificates. */
function isDamagedList(crl: string): boolean {
  const { createSecureContext } = require("node:tls") as typeof import("node:tls");
  return attempt(() => createSecureContext({ crl })) instanceof Error;
}

/** What is read, or why it cannot be. */
function attempt<T>(read: () => T): T | Error {
  try {
    return read();
  } catch (error) {
    return error as Error;
  }
}

/** The text of a page, or why it cannot be one. */
function readPage(path: string): string | Error {
  try {
    const bytes = statSync(path).size > MAX_PAGE_BYTES ? null : readFileSync(path);
    if (bytes === null || bytes.length > MAX_PAGE_BYTES) return new Error(`it is larger than ${MAX_PAGE_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    return new Error(error instanceof TypeError ? "it is not a text in UTF-8" : "it cannot be read");
  }
}

/** Whether the one file has nothing but a private key, and the other a certificate. */
function isSwapped(certFile: string, keyFile: string): boolean {
  const [cert, key] = [readFileSync(certFile), readFileSync(keyFile)];
  return !cert.includes("BEGIN CERTIFICATE") && cert.includes("PRIVATE KEY-----") && key.includes("BEGIN CERTIFICATE");
}

/** Why a folder cannot be written to or made, or "". */
function writeFault(path: string): string {
  const isThere = existsSync(path);
  const folder = isThere ? path : dirname(path);
  try {
    if (!statSync(folder).isDirectory()) return isThere ? "it is a file" : "its parent is a file";
    accessSync(folder, constants.W_OK | constants.X_OK);
    return "";
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return "no such folder, nor one above it";
    if (code === "EROFS") return "it is on a file system that is read-only";
    return isThere ? "no permission to write to it" : "no permission to make it";
  }
}

/** Why a path cannot be read as a file or a folder, or "". */
function readFault(path: string, wanted: "file" | "folder"): string {
  try {
    const found = statSync(path);
    if (wanted === "folder" && !found.isDirectory()) return "it is a file";
    if (wanted === "file" && found.isDirectory()) return "it is a folder";
    accessSync(path, constants.R_OK);
    return "";
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "ENOENT" || code === "ENOTDIR") return `no such ${wanted}`;
    return code === "EACCES" ? "no permission to read it" : "it cannot be read";
  }
}
