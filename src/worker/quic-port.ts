import type { BlockList } from "node:net";
import type { QuicEndpoint } from "node:quic";
import { clientDemand, type TlsSettings } from "../config/tls-settings.ts";
import type { ClientSocketPorts } from "../edge/client-socket.ts";
import type { PausableListener } from "../edge/connection-gate.ts";
import { H3Endpoint, type StreamObserver } from "../edge/h3-endpoint.ts";
import { H3_HANDOVER_POLL_MS, QuicHandover } from "../edge/quic-handover.ts";
import type { PassedNames } from "../edge/tls-endpoint.ts";
import type { CertificateSet } from "../message/server-certificate.ts";
import { lateNet } from "../net/late-modules.ts";
import { ignoreAll, listenQuic, type QuicIdentity, type QuicInit, useIdentities } from "../net/quic.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { type ServerListener, siteOf } from "../settings/server-listeners.ts";
import type { WorkerCertificates } from "./worker-certificates.ts";
import type { PublicListeners } from "./worker-listeners.ts";

/** Requests that one HTTP/3 client may have open; Caddy and nginx allow 100 and 128. */
const H3_MAX_STREAMS = 100;
/** HTTP/3 connections, all together and from one address. */
const H3_MAX_SESSIONS = 16_384;
const H3_MAX_SESSIONS_PER_HOST = 4096;
/** The windows that an HTTP/3 client begins with, a request and a connection; the runtime opens them as bytes come. */
const H3_STREAM_WINDOW_BYTES = 262_144;
const H3_SESSION_WINDOW_BYTES = 1_048_576;
/** How often a new process asks for the UDP port that its predecessor still has. */
const H3_PORT_POLL_MS = 20;
/**
 * For how long what comes over a closed HTTP/3 connection is answered before the process ends: some three times the time after which a
 * client sends again (RFC 9000 §10.2).
 */
const H3_CLOSING_MS = 300;

/**
 * The HTTP/3 of one listener. The runtime's QUIC cannot share a UDP port, so one worker has it, the first; requests take that
 * worker's pipeline, like all others of its own.
 */
class QuicPort implements PausableListener {
  private readonly connections: H3Endpoint;
  private readonly ctx: ClientSocketPorts;
  private readonly config: RuntimeConfig;
  private readonly place: ServerListener;
  private readonly ignored: BlockList = new (lateNet().BlockList)();
  private endpoint: QuicEndpoint | null = null;
  private certificates: CertificateSet;
  private isLeaving = false;
  private isPaused = false;
  /** Since when no connection has been there while the port is being left. */
  private emptySinceMs: number | null = null;
  /** Connections that the runtime has refused while it was paused. */
  private refused = 0;

  constructor(
    ctx: ClientSocketPorts,
    config: RuntimeConfig,
    place: ServerListener,
    certificates: CertificateSet,
    observer: StreamObserver,
  ) {
    const { http2, maxHeaderBytes, maxHeaderFields } = config.server;
    const refusesUnknownPseudo = http2.unknownPseudoHeaders === "reject";
    const rules = {
      maxListBytes: maxHeaderBytes,
      maxFields: maxHeaderFields,
      refusesUnknownPseudo,
      allowsConnectProtocol: false,
    };
    this.connections = new H3Endpoint(ctx, rules, observer);
    this.connections.demand = clientDemand(siteOf(place, config.server));
    this.place = place;
    this.ctx = ctx;
    this.config = config;
    this.certificates = certificates;
  }

  /**
   * Begins to listen.
   * @param waits whether another process still has the port and will let go of it
   * @throws when the port cannot be had or the runtime has no QUIC
   */
  async open(waits: boolean): Promise<void> {
    for (;;) {
      try {
        const endpoint = await listenQuic(this.init());
        if (this.isLeaving) endpoint.destroy();
        else {
          this.endpoint = endpoint;
          this.ctx.gate.add(this);
          this.ctx.gate.others.add(this.connections);
        }
        return;
      } catch (error) {
        if (!waits || (error as { code?: string }).code !== "EADDRINUSE") throw error;
        // Replaced in its turn before it had the port.
        if (this.isLeaving) return;
        await Bun.sleep(H3_PORT_POLL_MS);
      }
    }
  }

  /** Whether it is at the place of a listener. */
  isAt({ name, host, http3Port }: ServerListener): boolean {
    return this.place.name === name && this.place.host === host && this.place.http3Port === http3Port;
  }

  get name(): string {
    return this.place.name;
  }

  get site(): TlsSettings | null {
    return this.place.site;
  }

  /** Handshakes that begin from now on take these; connections that are there go on. */
  useCertificates(certificates: CertificateSet): void {
    this.certificates = certificates;
    if (this.endpoint !== null && certificates.certificates.length > 0) {
      useIdentities(this.endpoint, identitiesOf(certificates, siteOf(this.place, this.config.server)));
    }
  }

  /** The names that have no HTTP/3 here; null for none. */
  usePassed(passed: PassedNames | null): void {
    this.connections.passed = passed;
  }

  /** Refuses new connections for a while: there is no queue in which they could wait. */
  pause(): boolean {
    return this.setPaused(true);
  }

  resume(): boolean {
    return this.setPaused(false);
  }

  waiting(): number {
    return 0;
  }

  /** To be called every TICK_MS: counts what was refused. */
  tick(): void {
    if (!this.isPaused) return;
    const refused = Number(this.endpoint?.stats.serverBusyCount ?? 0);
    if (refused > this.refused) this.ctx.gate.refused(refused - this.refused);
    this.refused = refused;
  }

  /** Whether it is being left and clients may still have to be told, or it has connections. */
  get isOpen(): boolean {
    return this.connections.size > 0 || (this.endpoint !== null && !this.endpoint.destroyed);
  }

  /**
   * Tells every connection to close once it has nothing more to answer, and takes no further ones. Where a successor waits for
   * the port, it is handed over first. docs/operations.md#replacing-the-binary
   */
  drain(hasSuccessor: boolean): void {
    this.isLeaving = true;
    this.ctx.gate.delete(this);
    this.ctx.gate.others.delete(this.connections);
    this.ctx.turn.begin();
    const { endpoint, connections, ignored } = this;
    if (endpoint === null) return;
    if (hasSuccessor) new QuicHandover(endpoint, connections, ignored, () => this.letGo());
    else {
      endpoint.busy = true;
      connections.refuse();
      connections.drain();
      this.closeWhenTold(endpoint);
    }
  }

  /** Ends all connections at once. */
  cut(): void {
    this.connections.end();
  }

  /**
   * Keeps the port until no connection has been there for H3_CLOSING_MS: the runtime answers what comes meanwhile over one that is closed
   * with a stateless reset, so that a client learns which never got the datagram that closed its connection. RFC 9000 §10.2, §10.3. The
   * runtime draws the key of these resets itself, so that no other process can send them.
   */
  private closeWhenTold(endpoint: QuicEndpoint): void {
    const poll = setInterval(() => {
      const nowMs = performance.now();
      if (this.connections.size > 0) this.emptySinceMs = null;
      else this.emptySinceMs ??= nowMs;
      const isTold = this.emptySinceMs !== null && nowMs - this.emptySinceMs >= H3_CLOSING_MS;
      // Without one packet of a client there is no client to tell.
      if (!isTold && Number(endpoint.stats.packetsReceived) > 0) return;
      clearInterval(poll);
      endpoint.destroy();
    }, H3_HANDOVER_POLL_MS);
  }

  /**
   * Ends all connections and lets the port go. What tells the clients leaves by the same port: an endpoint that is destroyed sends
   * nothing. A connection that it took meanwhile would be told nothing.
   */
  private letGo(): void {
    ignoreAll(this.ignored);
    this.connections.end();
    setTimeout(() => this.endpoint?.destroy(), H3_HANDOVER_POLL_MS);
  }

  private setPaused(isPaused: boolean): boolean {
    this.tick();
    this.isPaused = isPaused;
    if (this.endpoint !== null && !this.endpoint.destroyed) this.endpoint.busy = isPaused;
    return true;
  }

  private init(): QuicInit {
    const { server } = this.config;
    const site = siteOf(this.place, server);
    return {
      host: this.place.host,
      port: this.place.http3Port,
      identities: identitiesOf(this.certificates, site),
      clientAuthorities: site.clientAuth === "require" ? authoritiesOf(this.certificates, site) : null,
      ignored: this.ignored,
      onSession: (session) => this.connections.accept(session),
      limits: {
        idleTimeoutMs: server.idleTimeoutMs,
        handshakeTimeoutMs: server.headerTimeoutMs,
        maxHeadBytes: server.maxHeaderBytes,
        maxFields: server.maxHeaderFields,
        maxStreams: H3_MAX_STREAMS,
        maxSessions: H3_MAX_SESSIONS,
        maxSessionsPerHost: H3_MAX_SESSIONS_PER_HOST,
        streamWindowBytes: H3_STREAM_WINDOW_BYTES,
        sessionWindowBytes: H3_SESSION_WINDOW_BYTES,
      },
    };
  }
}

/** The authorities of client certificates: none if the file is missing. */
function authoritiesOf({ texts, clientAuthorities }: CertificateSet, { clientCaFile }: TlsSettings): readonly string[] {
  return clientCaFile === "" ? [clientAuthorities] : (texts?.[clientCaFile] ?? []);
}

/** By name; of two for one name the first counts, and the first of all is the default. */
function identitiesOf(
  { certificates, hostCertificates = [] }: CertificateSet,
  { hosts }: TlsSettings,
): Map<string, QuicIdentity> {
  const identities = new Map<string, QuicIdentity>();
  for (const [i, { names }] of hosts.entries()) {
    const own = hostCertificates[i] ?? null;
    for (const name of own === null ? [] : names) if (!identities.has(name)) identities.set(name, own!);
  }
  for (const certificate of certificates) {
    for (const name of ["*", ...certificate.names]) if (!identities.has(name)) identities.set(name, certificate);
  }
  return identities;
}

/** What HTTP/3 needs of its worker. */
interface QuicPortsInit {
  readonly listeners: PublicListeners;
  readonly certificates: () => WorkerCertificates;
  readonly observer: StreamObserver;
  onException(error: unknown): void;
}

/** The HTTP/3 of all listeners, in the one worker that has it. */
export class QuicPorts {
  private readonly init: QuicPortsInit;
  private open: readonly QuicPort[] = [];
  /** Removed ports, as long as clients must learn of it. */
  private leaving: QuicPort[] = [];
  private passed: PassedNames | null = null;

  constructor(init: QuicPortsInit) {
    this.init = init;
  }

  /**
   * Serves HTTP/3 for the listeners with HTTP/3, and for no others; ports that stay go on.
   * @param waits whether another process, or a removed listener, may still have the ports and will let go of them
   * @throws when a port cannot be had, and is not waited for
   */
  async use(config: RuntimeConfig, waits: boolean): Promise<void> {
    const before = this.open;
    const wanted = config.server.listeners.filter(({ http3 }) => http3);
    const added: QuicPort[] = [];
    this.open = wanted.flatMap((place) => {
      const known = before.find((one) => one.isAt(place));
      const secure = this.init.listeners.secure(place.name);
      if (known !== undefined || secure === undefined) return known ?? [];
      const set = this.init.certificates().setOf(place.name, place.site);
      const made = new QuicPort(secure.ports, config, place, set, this.init.observer);
      made.usePassed(this.passed);
      added.push(made);
      return made;
    });
    for (const one of before) if (!this.open.includes(one)) this.leave(one);
    for (const one of added) {
      const opened = one.open(waits);
      if (!waits) await opened;
      else opened.catch((error) => this.init.onException(error));
    }
  }

  /** The certificates of listeners are others. */
  useCertificates(): void {
    for (const one of this.open) one.useCertificates(this.init.certificates().setOf(one.name, one.site));
  }

  /** The names that have no HTTP/3 here; null for none. */
  usePassed(passed: PassedNames | null): void {
    this.passed = passed;
    for (const one of this.open) one.usePassed(passed);
  }

  /** To be called every TICK_MS. */
  tick(): void {
    for (const one of this.open) one.tick();
    if (this.leaving.length > 0) this.leaving = this.leaving.filter(({ isOpen }) => isOpen);
  }

  /** Whether there are connections, or clients that must learn of the end. */
  get isOpen(): boolean {
    return [...this.open, ...this.leaving].some(({ isOpen }) => isOpen);
  }

  drain(hasSuccessor: boolean): void {
    for (const one of this.open) one.drain(hasSuccessor);
  }

  /** Ends all connections at once. */
  cut(): void {
    for (const one of [...this.open, ...this.leaving]) one.cut();
  }

  private leave(one: QuicPort): void {
    one.drain(false);
    this.leaving.push(one);
  }
}
