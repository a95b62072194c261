import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { CertificateFiles, TlsSettings } from "../../../config/tls-settings.ts";
import type { ControlService } from "../../../core/control-service.ts";
import { messageOf } from "../../../core/error-text.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { labelled, type Metric, metricOf } from "../../../core/metric-row.ts";
import type { CertificateSet, CertificateSink, ServerCertificate } from "../../../message/server-certificate.ts";
import { FileWatch } from "../../../net/file-watch.ts";
import { readCertificates, readRevocations } from "../../../proto/pem/pem-text.ts";
import { internalScope } from "../../../routes/internal-scope.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { TLS_EVENTS } from "../events.ts";
import { TLS_METRICS } from "../metrics.ts";
import type { CertificatesMessage, ListenerCertificates } from "../tls-messages.ts";
import { InternalCertificates } from "./internal-certificates.ts";
import { readServerCertificate } from "./server-certificate.ts";

/** Longest wait of a start for the first identity of an agent that does not respond. */
const WORKLOAD_START_MS = 2000;

/** What the certificates need of the control thread. */
interface CertificatePorts {
  /** Sends the changes to every worker. */
  readonly broadcast: (message: CertificatesMessage) => void;
  readonly event: EventWriter<typeof TLS_EVENTS>;
  /** The state folder, which keeps the local authority. */
  readonly stateFolder: string;
}

/** The certificates of all TLS listeners, in the control thread: a list each, with its log lines and metrics. */
export class TlsCertificates implements ControlService<RuntimeConfig> {
  private readonly https: CertificateList;
  private readonly sidecar: CertificateList;
  /** Of listeners whose TLS has keys of its own, by their names. */
  private readonly own: Map<string, CertificateList> = new Map();
  private readonly changes: Omit<CertificateListener, "onCertificates">;
  private readonly send: (certificates: ListenerCertificates) => void;
  private readonly internal: InternalCertificates;
  private reloads = 0;
  private failures = 0;
  private readonly event: EventWriter<typeof TLS_EVENTS>;
  /** Where the sidecar's identity comes from an agent. */
  private workload: { readonly socketPath: string; stop(): void } | null = null;
  private firstWord: PromiseWithResolvers<void> | null = null;

  constructor({ broadcast, event, stateFolder }: CertificatePorts) {
    this.event = event;
    const send = (certificates: ListenerCertificates): void => broadcast({ kind: "certificates", certificates });
    this.send = send;
    const changes = {
      onReloaded: (file: string) => {
        this.reloads++;
        event("certificate_reload", { ok: true, file });
      },
      onFailed: (file: string, error: string) => {
        this.failures++;
        event("certificate_reload", { ok: false, file, error });
      },
    };
    this.changes = changes;
    this.https = new CertificateList({ ...changes, onCertificates: (set) => send({ https: set }) });
    this.sidecar = new CertificateList({ ...changes, onCertificates: (set) => send({ sidecar: set }) });
    this.internal = new InternalCertificates({ folder: stateFolder, event, changed: () => this.showInternal() });
  }

  /** Takes the files that a configuration names. @returns when the local authority has signed, and an agent that gives the identity was heard */
  use(config: RuntimeConfig): Promise<unknown> {
    const { server, sidecar } = config;
    const isOfRoutes = internalScope(config)?.isWhole === false;
    this.https.useFiles(server.tls.enabled ? filesOf(server.tls, isOfRoutes) : NO_FILES);
    this.useListeners(server.listeners, isOfRoutes);
    const { certificate, caFile } = sidecar;
    const certificates = certificate.certFile === "" ? [] : [certificate];
    const isOfAgent = sidecar.enabled && sidecar.workloadApi !== "";
    this.useAgent(isOfAgent ? sidecar.workloadApi : "");
    if (!isOfAgent) this.sidecar.useFiles(sidecar.enabled ? { certificates, clientCaFile: caFile } : NO_FILES);
    this.showInternal();
    return Promise.all([this.identified, this.internal.use(config, internalScope(config))]);
  }

  /** A client asks for a name without a certificate. @returns when there is one, or there will be none */
  wanted(name: string): Promise<void> {
    return this.internal.wanted(name);
  }

  private showInternal(): void {
    for (const list of [this.https, ...this.own.values()]) list.useInternal(this.internal.certificates);
  }

  private useListeners(listeners: RuntimeConfig["server"]["listeners"], isOfRoutes: boolean): void {
    const names = new Set<string>();
    for (const { name, site } of listeners) {
      if (site === null) continue;
      names.add(name);
      let list = this.own.get(name);
      if (list === undefined) {
        list = new CertificateList({ ...this.changes, onCertificates: () => this.send({ own: this.ownSets }) });
        this.own.set(name, list);
      }
      list.useFiles(filesOf(site, isOfRoutes));
    }
    for (const [name, list] of this.own) {
      if (names.has(name)) continue;
      list.stop();
      this.own.delete(name);
    }
  }

  private get ownSets(): Readonly<Record<string, CertificateSet>> {
    return Object.fromEntries([...this.own].map(([name, list]) => [name, list.set]));
  }

  /** Takes the sidecar's identity from the agent at a socket; "" from none. What was there before stays until it gives one. */
  private useAgent(socketPath: string): void {
    if (socketPath === (this.workload?.socketPath ?? "")) return;
    this.workload?.stop();
    this.workload = null;
    if (socketPath === "") return;
    const { WorkloadApi } = require("./workload-api.ts") as typeof import("./workload-api.ts");
    const firstWord = Promise.withResolvers<void>();
    this.firstWord = firstWord;
    this.workload = new WorkloadApi(socketPath, {
      onIdentity: (certificate, authorities) => {
        firstWord.resolve();
        this.sidecar.useIdentity(certificate, authorities);
        this.event("workload_identity", { ok: true, identity: certificate.id, not_after: notAfterOf(certificate) });
      },
      onFailed: (error, retryMs) => {
        firstWord.resolve();
        const retry_in_s = Math.ceil(retryMs / 1000);
        this.event("workload_identity", { ok: false, socket: socketPath, error, retry_in_s });
      },
    });
  }

  /** Resolves when the agent has given the sidecar an identity, or none, or does not respond; at once if none is asked. */
  private get identified(): Promise<void> {
    return this.firstWord === null
      ? Promise.resolve()
      : Promise.race([this.firstWord.promise, Bun.sleep(WORKLOAD_START_MS)]);
  }

  stop(): void {
    this.workload?.stop();
    this.internal.stop();
    this.sidecar.stop();
    this.https.stop();
    for (const list of this.own.values()) list.stop();
  }

  /** Where certificates for the gateway's own names are put in at run time. */
  get sink(): CertificateSink {
    return this.https;
  }

  /** What all listeners show now. */
  get sets(): ListenerCertificates {
    return { https: this.https.set, sidecar: this.sidecar.set, own: this.ownSets };
  }

  startFields(): { readonly certificates: ListenerCertificates } {
    return { certificates: this.sets };
  }

  terms(): CertificateTerm[] {
    return [this.https, this.sidecar, ...this.own.values()].flatMap((list) => list.terms());
  }

  /** How often files have changed. */
  metrics(): readonly Metric[] {
    return [
      certificateMetrics(() => this.terms()),
      labelled(TLS_METRICS, "gateway_certificate_reloads_total", () => [
        { label: "ok", count: this.reloads },
        { label: "failed", count: this.failures },
      ]),
    ];
  }
}

/** Who is notified of a listener's certificates. */
interface CertificateListener {
  /** What is shown from now on. */
  onCertificates(set: CertificateSet): void;
  /** A file is another than before. */
  onReloaded(file: string): void;
  /** A file cannot be read, or does not fit; what was read from it before stays. Told once, until that changes. */
  onFailed(file: string, error: string): void;
}

/** Where the certificates of a listener come from. */
interface TlsFiles {
  readonly certificates: readonly CertificateFiles[];
  /** "" if there is none. */
  readonly clientCaFile: string;
  /** Pairs of `tls.hosts`, in their order; null without a pair. */
  readonly hosts?: readonly (CertificateFiles | null)[];
  /** Files of authorities and of revoked certificates that handshakes go by. */
  readonly authorityFiles?: readonly string[];
  readonly crlFiles?: readonly string[];
  /** Whether the local authority signs for names without another certificate. */
  readonly isInternal?: boolean;
}

/** The files of a listener's TLS. */
function filesOf(site: TlsSettings, isOfRoutes: boolean): TlsFiles {
  const { certificates, clientCaFile, hosts, isInternal } = site;
  const named = (key: "clientCaFile" | "crlFile") => [
    ...new Set([site, ...hosts].map((one) => one[key]).filter((file) => file !== "")),
  ];
  return {
    certificates,
    clientCaFile,
    hosts: hosts.map(({ certificate }) => certificate),
    authorityFiles: named("clientCaFile"),
    crlFiles: named("crlFile"),
    isInternal: isInternal || isOfRoutes,
  };
}

/** Until when a certificate is good. */
interface CertificateTerm {
  /** One of its names. */
  readonly domain: string;
  /** Seconds since the epoch. */
  readonly notAfterS: number;
}

/**
 * The certificates of one TLS listener, in the control thread. They come from files and, at run time, from the owner of the
 * sink; each change goes to all workers as a whole set.
 */
export class CertificateList implements CertificateSink {
  private readonly listener: CertificateListener;
  private files: TlsFiles = NO_FILES;
  private fromFiles: readonly ServerCertificate[] = [];
  private clientAuthorities = "";
  private ofHosts: readonly (ServerCertificate | null)[] = [];
  private texts: Readonly<Record<string, readonly string[]>> = {};
  /** Whether certificate and authorities are an agent's, and no files'. */
  private hasIdentity = false;
  /** By file, the failure that the log names. */
  private readonly failures: Map<string, string> = new Map();
  private readonly watch: FileWatch = new FileWatch(() => this.refresh());
  private readonly added: Map<string, ServerCertificate> = new Map();
  private readonly challenges: Map<string, ServerCertificate> = new Map();
  private internal: readonly ServerCertificate[] = [];

  constructor(listener: CertificateListener) {
    this.listener = listener;
  }

  /** What is shown now. */
  get set(): CertificateSet {
    return {
      certificates: this.shown,
      challenges: [...this.challenges.values()],
      clientAuthorities: this.clientAuthorities,
      hostCertificates: this.ofHosts,
      texts: this.texts,
    };
  }

  /** Those of the local authority come last, for names that no other covers. */
  private get shown(): readonly ServerCertificate[] {
    const others = [...this.fromFiles, ...this.added.values()];
    if (this.internal.length === 0 || others.length === 0) return [...others, ...this.internal];
    const taken = new Set(others.flatMap(({ names }) => names));
    const isCovered = (name: string) => taken.has(name) || taken.has(`*${name.slice(name.indexOf("."))}`);
    const left = this.internal.map((one) => ({ ...one, names: one.names.filter((name) => !isCovered(name)) }));
    return [...others, ...left.filter(({ names }) => names.length > 0)];
  }

  /** Takes the certificates of the local authority, if it signs for this listener. */
  useInternal(signed: readonly ServerCertificate[]): void {
    const now = this.files.isInternal === true ? signed : [];
    if (areSame(now, this.internal)) return;
    this.internal = now;
    this.changed();
  }

  /** The terms of the certificates that are shown, challenges left out. */
  terms(): CertificateTerm[] {
    const ofHosts = this.ofHosts.filter((one) => one !== null);
    return [...this.shown, ...ofHosts].flatMap(({ chain, names, id }) => {
      const notAfterS = Date.parse(new X509Certificate(chain).validTo) / 1000;
      return (names.length === 0 ? [id] : names).map((domain) => ({ domain, notAfterS }));
    });
  }

  /** Takes other files in place of those so far, reads them, and watches them from now on. */
  useFiles(files: TlsFiles): void {
    this.files = files;
    this.hasIdentity = false;
    this.failures.clear();
    this.refresh();
    const { certificates, hosts = [], authorityFiles = [], crlFiles = [] } = files;
    const pairs = [...certificates, ...hosts.filter((pair) => pair !== null)];
    const named = [files.clientCaFile, ...authorityFiles, ...crlFiles];
    this.watch.use([...new Set([...pairs.flatMap((pair) => [pair.certFile, pair.keyFile]), ...named])]);
  }

  /** Watches no more. */
  stop(): void {
    this.watch.stop();
  }

  /** Reads the files again. Nothing happens where they are as they were. */
  refresh(): void {
    if (this.hasIdentity) return;
    const { certificates, clientCaFile, hosts = [] } = this.files;
    const old = new Map([...this.fromFiles, ...this.ofHosts].flatMap((one) => (one === null ? [] : [[one.id, one]])));
    const read = (pair: CertificateFiles) => this.read(pair, old.get(pair.certFile)) ?? null;
    const now = certificates.flatMap((pair) => read(pair) ?? []);
    const ofHosts = hosts.map((pair) => (pair === null ? null : read(pair)));
    const authorities = this.readAuthorities(clientCaFile);
    const texts = this.readTexts();
    const isSame = areSame(now, this.fromFiles) && areSame(ofHosts, this.ofHosts) && Bun.deepEquals(texts, this.texts);
    if (isSame && authorities === this.clientAuthorities) return;
    this.fromFiles = now;
    this.ofHosts = ofHosts;
    this.texts = texts;
    this.clientAuthorities = authorities;
    this.changed();
  }

  /** The texts of authorities and revocations: of a file that cannot be read, the text before. */
  private readTexts(): Readonly<Record<string, readonly string[]>> {
    const { clientCaFile, authorityFiles = [], crlFiles = [] } = this.files;
    const texts: Record<string, readonly string[]> = {};
    const take = (file: string, read: (bytes: Uint8Array) => readonly string[]): void => {
      const before = this.texts[file];
      try {
        texts[file] = read(readFileSync(file));
        this.failures.delete(file);
        const isNew = before !== undefined && !Bun.deepEquals(before, texts[file]);
        // readAuthorities reports that file.
        if (isNew && file !== clientCaFile) this.listener.onReloaded(file);
      } catch (error) {
        if (before !== undefined) texts[file] = before;
        this.failed(file, error);
      }
    };
    for (const file of authorityFiles) take(file, (bytes) => [readCertificates(bytes).pem]);
    for (const file of crlFiles) take(file, readRevocations);
    return texts;
  }

  /** Takes an identity and whom it trusts (PEM) in place of the one before, and of files until `useFiles`. */
  useIdentity(certificate: ServerCertificate, authorities: string): void {
    this.watch.use([]);
    this.hasIdentity = true;
    this.fromFiles = [certificate];
    this.ofHosts = [];
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
      const now = readCertificates(readFileSync(file)).pem;
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
    const text = messageOf(error);
    if (this.failures.get(file) === text) return;
    this.failures.set(file, text);
    this.listener.onFailed(file, text);
  }
}

function areSame<T>(some: readonly T[], others: readonly T[]): boolean {
  return some.length === others.length && some.every((one, i) => one === others[i]);
}

function notAfterOf({ chain }: ServerCertificate): string {
  return new Date(new X509Certificate(chain).validTo).toISOString();
}

const NO_FILES: TlsFiles = { certificates: [], clientCaFile: "" };

/**
 * When certificates expire. Where several are for one domain, the first counts, which is the one that is shown.
 * docs/acme.md#failures
 * @param terms asked at every scrape
 */
function certificateMetrics(terms: () => readonly CertificateTerm[]): Metric {
  return metricOf(TLS_METRICS, "gateway_certificate_not_after_seconds", () => {
    const values = new Map<string, number>();
    for (const { domain, notAfterS } of terms()) if (!values.has(domain)) values.set(domain, notAfterS);
    return [...values].map(([domain, value]) => ({ value, labels: { domain } }));
  });
}
