import { closeSync } from "node:fs";
import { clientDemand, type TlsSettings } from "../config/tls-settings.ts";
import { NetworkSet } from "../core/network-set.ts";
import {
  type ClientSocketPorts,
  ConnectionSet,
  type ConnectionSets,
  type ConnectionSettings,
} from "../edge/client-socket.ts";
import { type ListenAt, type Listener, listenPlain } from "../edge/listener.ts";
import { type PassedNames, TlsEndpoint } from "../edge/tls-endpoint.ts";
import { listenTls } from "../edge/tls-listener.ts";
import { hasCertificate } from "../features/sidecar/settings.ts";
import { ClientListener, type HostDemands } from "../message/client-listener.ts";
import { IDLE_PIPELINE, type Pipeline } from "../message/exchange.ts";
import { HostTable } from "../message/host-table.ts";
import { duplicate } from "../net/system-socket.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { ServerConfig } from "../settings/sections.ts";
import { type ServerListener, siteOf } from "../settings/server-listeners.ts";
import {
  isSameAddress,
  isSamePlace,
  type ListenerPlace,
  type ListeningSocket,
  type OpeningListener,
} from "./listeners.ts";
import type { WorkerCertificates } from "./worker-certificates.ts";
import { http2Settings, type WorkerRuntime } from "./worker-runtime.ts";

/** Begins to listen at a place. @throws when the address cannot be had */
type OpenListener = (place: ListenerPlace, where: ListenAt) => Listener;

interface OpenPlace {
  readonly place: ListenerPlace;
  readonly listeners: readonly Listener[];
}

/** Listeners that are open and not in use yet. */
export interface PreparedPlaces {
  /** @returns all listening sockets */
  commit(): readonly ListeningSocket[];
  abort(): void;
}

/** The listeners of one worker: a configuration says which there are, and those that stay as they were stay open. */
export class WorkerListeners {
  /** The listener that is being opened, for the message when that fails. */
  opening: OpeningListener = "";
  private readonly openOne: OpenListener;
  private given: readonly ListeningSocket[];
  private places: readonly OpenPlace[] = [];
  /** Opened on the sockets of other workers, by their number. */
  private readonly helped: Map<number, readonly OpenPlace[]> = new Map();

  /** @param given sockets that listen already, for those listeners that are opened first */
  constructor(openOne: OpenListener, given: readonly ListeningSocket[]) {
    this.openOne = openOne;
    this.given = given;
  }

  /**
   * Opens what is new and closes nothing: `commit` closes what is gone, `abort` what has been opened. Connections that are
   * there go on either way.
   * @throws when an address cannot be had; all is then as before
   */
  prepare(places: readonly ListenerPlace[]): PreparedPlaces {
    const before = this.places;
    const opened: OpenPlace[] = [];
    const abort = (): void => {
      for (const one of opened) if (!before.includes(one)) stop(one);
    };
    try {
      for (const place of places) opened.push(before.find((one) => isSamePlace(one.place, place)) ?? this.open(place));
    } catch (error) {
      abort();
      throw error;
    }
    return { abort, commit: () => this.use(opened) };
  }

  private use(places: readonly OpenPlace[]): readonly ListeningSocket[] {
    const before = this.places;
    this.places = places;
    // A socket that no listener wants would go on taking connections that nothing serves.
    for (const { name, fd } of this.given) if (!places.some(({ place }) => place.name === name)) closeSync(fd);
    this.given = [];
    for (const one of before) if (!places.includes(one)) stop(one);
    this.leaveGone(places);
    return places.flatMap(({ place, listeners }) =>
      listeners.map(({ fd, isKept }) => ({ name: place.name, fd, isKept })),
    );
  }

  /**
   * Accepts on the sockets of another worker too; they are the caller's no longer. One without a listener of its name here is closed.
   * @param worker whose they are
   */
  help(worker: number, sockets: readonly ListeningSocket[]): void {
    this.leave(worker);
    const opened: OpenPlace[] = [];
    this.helped.set(worker, opened);
    for (const { name, fd } of sockets) {
      const place = this.places.find((one) => one.place.name === name)?.place;
      if (place === undefined) closeSync(fd);
      else opened.push({ place, listeners: [this.openOne(place, { fd })] });
    }
  }

  /** That worker accepts by itself. */
  leave(worker: number): void {
    for (const one of this.helped.get(worker) ?? []) stop(one);
    this.helped.delete(worker);
  }

  /** Accepts no more. */
  stop(): void {
    for (const one of this.places) stop(one);
    for (const worker of [...this.helped.keys()]) this.leave(worker);
  }

  /** Closes the listeners that a configuration no longer has. */
  private leaveGone(places: readonly OpenPlace[]): void {
    for (const [worker, opened] of this.helped) {
      const gone = opened.filter(({ place }) => !places.some((one) => isSamePlace(one.place, place)));
      for (const one of gone) stop(one);
      this.helped.set(
        worker,
        opened.filter((one) => !gone.includes(one)),
      );
    }
  }

  /** A socket that is there already at the address, whatever listener it was for, goes on: its queue of waiting connections is not lost. */
  private open(place: ListenerPlace): OpenPlace {
    this.opening = place.name;
    const given = this.given.filter((socket) => socket.name === place.name).map(({ fd }) => fd);
    const fds = given.length > 0 ? given : this.socketsAt(place);
    const where: ListenAt[] = fds.length > 0 ? fds.map((fd) => ({ fd })) : [{ hostname: place.host, port: place.port }];
    return { place, listeners: where.map((at) => this.openOne(place, at)) };
  }

  /** Descriptors of the sockets that listen at an address, each of its own. */
  private socketsAt(place: ListenerPlace): readonly number[] {
    const there = place.isUnix ? undefined : this.places.find((one) => isSameAddress(one.place, place));
    return there === undefined ? [] : there.listeners.map(({ fd }) => duplicate(fd)).filter((fd) => fd >= 0);
  }
}

function stop({ listeners }: OpenPlace): void {
  for (const listener of listeners) listener.stop();
}

/** What the listeners of `server` need of their worker. */
interface PublicListenerPorts {
  makePorts(listener: ClientListener, runtime: WorkerRuntime): ClientSocketPorts;
  readonly certificates: WorkerCertificates;
  /** All connections of the worker. */
  readonly connections: ConnectionSets;
}

/** Shared by the connections of one listener of `server`, in one worker. It is there as long as a configuration has the listener. */
interface PublicListener {
  readonly ports: ClientSocketPorts;
  readonly connections: ConnectionSet;
  /** Null in clear text. */
  readonly endpoint: TlsEndpoint | null;
  config: ServerListener;
}

/** The listeners of `server` in one worker. docs/listeners.md */
export class PublicListeners {
  private readonly inputs: PublicListenerPorts;
  private current: ReadonlyMap<string, PublicListener> = new Map();
  /** Of a configuration that is not in use yet. */
  private next: ReadonlyMap<string, PublicListener> | null = null;
  /** Removed listeners, as long as they have connections. */
  private readonly leaving: Set<PublicListener> = new Set();
  private passed: PassedNames | null = null;

  constructor(inputs: PublicListenerPorts) {
    this.inputs = inputs;
  }

  /** Makes the listeners that a configuration adds. */
  prepare(runtime: WorkerRuntime): void {
    const { listeners } = runtime.config.server;
    this.next = new Map(listeners.map((one) => [keyOf(one), this.current.get(keyOf(one)) ?? this.make(one, runtime)]));
  }

  /** What was prepared is not to be used. */
  abort(): void {
    for (const [key, { connections }] of this.next ?? [])
      if (!this.current.has(key)) this.inputs.connections.deleteEmpty(connections);
    this.next = null;
  }

  /**
   * Requests that begin from now on take the configuration that was prepared, also on connections of listeners that are gone: these close once
   * they have nothing more to answer.
   */
  commit(runtime: WorkerRuntime): void {
    if (this.next === null) this.prepare(runtime);
    const before = this.current;
    this.current = this.next!;
    this.next = null;
    for (const one of runtime.config.server.listeners) this.configure(one, this.current.get(keyOf(one))!, runtime);
    for (const [key, one] of before) {
      if (this.current.has(key)) continue;
      this.bequeath(one, runtime);
      one.ports.draining = true;
      one.connections.drain();
      this.leaving.add(one);
    }
    this.usePassed(this.passed);
  }

  /** Begins to listen at a place. @throws when the address cannot be had */
  open({ name, tls }: ListenerPlace, where: ListenAt): Listener {
    const key = keyOf({ name, tls });
    const { ports, connections, endpoint } = (this.next ?? this.current).get(key) ?? this.current.get(key)!;
    return endpoint === null ? listenPlain(ports, connections, where) : listenTls(ports, connections, endpoint, where);
  }

  /** The one with TLS that has this name. */
  secure(name: string): PublicListener | undefined {
    return this.current.get(keyOf({ name, tls: true }));
  }

  /** The names whose connections are passed through; null for none. */
  usePassed(passed: PassedNames | null): void {
    this.passed = passed;
    for (const { endpoint } of this.current.values()) if (endpoint !== null) endpoint.passed = passed;
  }

  /** The gateway is shutting down. */
  drain(): void {
    for (const { ports } of this.current.values()) ports.draining = true;
  }

  /** To be called now and then: forgets the listeners that are gone and have no connection left. */
  tidy(): void {
    for (const one of this.leaving) {
      if (one.connections.size > 0) continue;
      this.leaving.delete(one);
      this.inputs.connections.deleteEmpty(one.connections);
    }
  }

  private make(config: ServerListener, runtime: WorkerRuntime): PublicListener {
    const { makePorts, certificates, connections: all } = this.inputs;
    const { name, socket, site, tls } = config;
    const connections = new ConnectionSet();
    all.add(connections);
    const made: PublicListener = {
      ports: makePorts(new ClientListener(name, socket !== ""), runtime),
      connections,
      endpoint: tls ? new TlsEndpoint(certificates.storeOf(name, site)) : null,
      config,
    };
    if (made.endpoint !== null) made.endpoint.passed = runtime.streams;
    this.configure(config, made, runtime);
    return made;
  }

  /** A request that is on its way to a listener that is gone gets no route that is gone as well, but those of the one that has its address now. */
  private bequeath(one: PublicListener, runtime: WorkerRuntime): void {
    const { host, port, socket, tls } = one.config;
    const heir = runtime.config.server.listeners.find(
      (other) => other.host === host && other.port === port && other.socket === socket && other.tls === tls,
    );
    if (heir !== undefined) one.ports.listener.name = heir.name;
    const { http2, proxies } = one.ports.settings;
    one.ports.reconfigure({ ...runtime.settings, http2, proxies }, runtime.pipeline);
  }

  private configure(config: ServerListener, one: PublicListener, runtime: WorkerRuntime): void {
    const { ports, endpoint } = one;
    const { server } = runtime.config;
    one.config = config;
    describeListener(ports.listener, config, server);
    ports.reconfigure(settingsOf(config, runtime), runtime.forwardProxies.get(config.name) ?? runtime.pipeline);
    if (endpoint === null) return;
    const { certificates } = this.inputs;
    endpoint.certificates = certificates.storeOf(config.name, config.site);
    endpoint.hasHttp2 = config.http2;
    endpoint.wanted = certificates.wantedIn(runtime.config);
  }
}

/** Clear text and TLS at one place are two listeners. */
function keyOf({ name, tls }: Pick<ServerListener, "name" | "tls">): string {
  return `${tls ? "tls" : "clear"} ${name}`;
}

/** Fills in the facts of a listener. */
export function describeListener(listener: ClientListener, config: ServerListener, server: ServerConfig): void {
  const { redirectPort, port } = server.tls;
  listener.httpsPort = config.redirectsHttps ? redirectPort || port : -1;
  listener.offerHttp3(config.http3 ? config.http3Port : -1);
  listener.demands = config.tls ? demandsOf(siteOf(config, server)) : null;
}

/** Null if all names have one demand. */
function demandsOf(site: TlsSettings): HostDemands | null {
  const usual = clientDemand(site);
  if (site.hosts.every((host) => clientDemand(host) === usual)) return null;
  const byHost = new HostTable<string>();
  for (const host of site.hosts) for (const name of host.names) byHost.add(name, clientDemand(host));
  return { byHost, usual };
}

function settingsOf({ http2, proxies }: ServerListener, { config, settings }: WorkerRuntime): ConnectionSettings {
  return {
    ...settings,
    http2: http2 ? http2Settings(config.server) : null,
    proxies: proxies.length > 0 ? new NetworkSet(proxies) : null,
  };
}

/** The listeners outside `server` share these. */
interface PrivateListenerPorts {
  readonly connections: ConnectionSet;
  readonly certificates: WorkerCertificates;
  /** That of the configuration in use. */
  sidecar(): RuntimeConfig["sidecar"];
  makePorts(pipeline: Pipeline): ClientSocketPorts;
  /** Of a gate of their own, so that clients cannot keep operators out. */
  makeInternalPorts(pipeline: Pipeline, listener: ClientListener): ClientSocketPorts;
}

/**
 * Those of the sidecar, of `internal_api.listen`, and of the UNIX socket of operators. They are there even if no configuration has such
 * listeners, and are then unused.
 */
export class PrivateListeners {
  private readonly ports: PrivateListenerPorts;
  private readonly ingress: ClientSocketPorts;
  private readonly egress: ClientSocketPorts;
  private readonly internal: ClientSocketPorts;
  private readonly operators: ClientSocketPorts;

  constructor(ports: PrivateListenerPorts, { sidecar, internalPipeline }: WorkerRuntime) {
    this.ports = ports;
    this.ingress = ports.makePorts(sidecar?.ingress ?? IDLE_PIPELINE);
    this.egress = ports.makePorts(sidecar?.egress ?? IDLE_PIPELINE);
    this.internal = ports.makeInternalPorts(internalPipeline, new ClientListener("internal"));
    this.operators = ports.makeInternalPorts(internalPipeline, new ClientListener("internal-socket", true, true));
  }

  /** Begins to listen. @throws when the address cannot be had */
  open(kind: Exclude<ListenerPlace["kind"], "server" | "stream">, where: ListenAt): Listener {
    const { connections, certificates, sidecar } = this.ports;
    switch (kind) {
      case "internal-socket":
        return listenPlain(this.operators, connections, where);
      case "internal":
        return listenPlain(this.internal, connections, where);
      case "sidecar-egress":
        return listenPlain(this.egress, connections, where, () => sidecar().transparent);
      case "sidecar-ingress":
        return hasCertificate(sidecar())
          ? listenTls(this.ingress, connections, certificates.mtls, where)
          : listenPlain(this.ingress, connections, where);
    }
  }

  /** New connections take a configuration; those to listeners that it no longer asks for go on as they were. */
  commit({ settings, sidecar, internalPipeline }: WorkerRuntime): void {
    for (const one of [this.internal, this.operators]) one.reconfigure(unproxied(settings), internalPipeline);
    if (sidecar !== null) this.ingress.reconfigure(unproxied(settings), sidecar.ingress);
    if (sidecar !== null) this.egress.reconfigure(unproxied(settings), sidecar.egress);
  }

  drain(): void {
    for (const one of [this.ingress, this.egress, this.internal, this.operators]) one.draining = true;
  }
}

/** No load balancer is in front of a sidecar, or of the endpoints of the gateway itself. */
export function unproxied(settings: ConnectionSettings): ConnectionSettings {
  return { ...settings, proxies: null };
}
