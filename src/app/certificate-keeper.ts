import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { CertificateFiles } from "../config/runtime-config.ts";
import type { CertificateSet, CertificateSink, ServerCertificate } from "../message/server-certificate.ts";
import { readServerCertificate } from "./certificate-files.ts";
import { FileWatch } from "./file-watch.ts";

/** Who hears of a listener's certificates. */
export interface CertificateListener {
  /** What is shown from now on. */
  onCertificates(set: CertificateSet): void;
  /** A file is another than before. */
  onReloaded(file: string): void;
  /** A file cannot be read, or does not fit; what was read from it before stays. Told once, until that changes. */
  onFailed(file: string, error: string): void;
}

/** Where the certificates of a listener come from. */
export interface TlsFiles {
  readonly certificates: readonly CertificateFiles[];
  /** "" where there is none. */
  readonly clientCaFile: string;
}

/** Until when a certificate is good. */
export interface CertificateTerm {
  /** One of its names. */
  readonly domain: string;
  /** Seconds since the epoch. */
  readonly notAfter: number;
}

/**
 * The certificates of one TLS listener, in the control thread. They come from files and, at run time, from whoever has the
 * sink; each change goes to all workers as a whole set.
 */
export class CertificateKeeper implements CertificateSink {
  private readonly listener: CertificateListener;
  private files: TlsFiles = NO_FILES;
  private fromFiles: readonly ServerCertificate[] = [];
  private clientAuthorities = "";
  /** What has been told of files that cannot be used. */
  private readonly failures: Map<string, string> = new Map();
  private readonly watch: FileWatch = new FileWatch(() => this.refresh());
  private readonly added: Map<string, ServerCertificate> = new Map();
  private readonly challenges: Map<string, ServerCertificate> = new Map();

  constructor(listener: CertificateListener) {
    this.listener = listener;
  }

  /** What is shown now. */
  get set(): CertificateSet {
    return {
      certificates: [...this.fromFiles, ...this.added.values()],
      challenges: [...this.challenges.values()],
      clientAuthorities: this.clientAuthorities,
    };
  }

  /** The terms of the certificates that are shown, challenges left out. */
  terms(): CertificateTerm[] {
    return [...this.fromFiles, ...this.added.values()].flatMap(({ chain, names, id }) => {
      const notAfter = Date.parse(new X509Certificate(chain).validTo) / 1000;
      return (names.length === 0 ? [id] : names).map((domain) => ({ domain, notAfter }));
    });
  }

  /** Takes other files in place of those so far, reads them, and watches them from now on. */
  useFiles(files: TlsFiles): void {
    this.files = files;
    this.failures.clear();
    this.refresh();
    this.watch.use([...files.certificates.flatMap((pair) => [pair.certFile, pair.keyFile]), files.clientCaFile]);
  }

  /** Watches no more. */
  stop(): void {
    this.watch.stop();
  }

  /** Reads the files again. Nothing happens where they are as they were. */
  refresh(): void {
    const { certificates, clientCaFile } = this.files;
    const old = new Map(this.fromFiles.map((one) => [one.id, one]));
    const now = certificates.flatMap((pair) => this.read(pair, old.get(pair.certFile)) ?? []);
    const authorities = this.readAuthorities(clientCaFile);
    const isSame = now.length === this.fromFiles.length && now.every((one, i) => one === this.fromFiles[i]);
    if (isSame && authorities === this.clientAuthorities) return;
    this.fromFiles = now;
    this.clientAuthorities = authorities;
    this.changed();
  }

  put(certificate: ServerCertificate): void {
    this.added.set(certificate.id, certificate);
    this.changed();
  }

  remove(id: string): void {
    if (this.added.delete(id)) this.changed();
  }

  putChallenge(certificate: ServerCertificate): void {
    this.challenges.set(certificate.id, certificate);
    this.changed();
  }

  removeChallenge(id: string): void {
    if (this.challenges.delete(id)) this.changed();
  }

  private changed(): void {
    this.listener.onCertificates(this.set);
  }

  private read(pair: CertificateFiles, old: ServerCertificate | undefined): ServerCertificate | undefined {
    try {
      const now = readServerCertificate(pair);
      this.failures.delete(pair.certFile);
      if (now.chain === old?.chain && now.key === old.key) return old;
      if (old !== undefined) this.listener.onReloaded(pair.certFile);
      return now;
    } catch (error) {
      this.failed(pair.certFile, error);
      return old;
    }
  }

  private readAuthorities(file: string): string {
    if (file === "") return "";
    try {
      const now = readFileSync(file, "utf8");
      new X509Certificate(now);
      this.failures.delete(file);
      if (now === this.clientAuthorities) return now;
      if (this.clientAuthorities !== "") this.listener.onReloaded(file);
      return now;
    } catch (error) {
      this.failed(file, error);
      return this.clientAuthorities;
    }
  }

  private failed(file: string, error: unknown): void {
    const text = textOf(error);
    if (this.failures.get(file) === text) return;
    this.failures.set(file, text);
    this.listener.onFailed(file, text);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const NO_FILES: TlsFiles = { certificates: [], clientCaFile: "" };
