import type { ShownAddresses } from "../core/address-mask.ts";
import type { ClientSocketPorts, ConnectionObserver } from "../edge/client-socket.ts";
import type { ForwardedConnection, PassedNames } from "../edge/tls-endpoint.ts";
import { StreamChoice } from "../features/balance/stream-choice.ts";
import { addressRules } from "../features/client/address-rules.ts";
import { type AccessLines, hasOwnOutputs, outputsKey } from "../features/telemetry/access-outputs.ts";
import type { LogBatch } from "../features/telemetry/log-batch.ts";
import type { LogThreshold } from "../features/telemetry/log-level.ts";
import { StreamLog } from "../features/telemetry/stream-log.ts";
import type { WorkerCounters } from "../memory/counter-table.ts";
import { OpenStreams, type StreamCounters } from "../memory/stream-counters.ts";
import type { StreamRecord } from "../memory/stream-record.ts";
import type { ClientPeer } from "../message/client-peer.ts";
import type { ClientPlaces } from "../message/ports.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { type NameTable, passedNames } from "../routes/streams/passed-names.ts";
import { addressText, type ListenAddress, type StreamConfig } from "../routes/streams/stream-config.ts";
import { type TargetChanges, withTargets } from "../routes/target-changes.ts";
import type { DatagramStream } from "../streams/datagrams.ts";
import { DatagramListener, type DatagramPorts } from "../streams/datagrams.ts";
import { Forwarding, type StreamForwardPorts } from "../streams/forwarding.ts";
import type { ListeningStream } from "../streams/stream-listener.ts";
import type { StreamRoute } from "../streams/stream-route.ts";
import type { OriginSettings } from "../upstream/origin-socket.ts";
import { type StreamListener, streamListener } from "./listeners.ts";
import type { ConfiguredNodes } from "./node-set.ts";
import type { WorkerServices } from "./worker-services.ts";

/** What the streams of a worker are made with. */
interface StreamPorts {
  readonly services: WorkerServices;
  readonly counters: Pick<WorkerCounters, "streamCounters" | "streamId">;
  /** Open connections by stream, of all workers; see createOpenStreams. */
  readonly open: SharedArrayBuffer;
  readonly worker: number;
  readonly workers: number;
  readonly nodes: Pick<ConfiguredNodes, "nodesOf">;
  readonly places: ClientPlaces;
  readonly log: LogBatch;
  /** Lines of the access log, if they have outputs of their own. */
  readonly accessLines: AccessLines;
  readonly addresses: ShownAddresses;
  readonly threshold: LogThreshold;
  readonly bans: NonNullable<StreamRoute["bans"]>;
}

/** The streams of one configuration in one worker. docs/streams.md */
export class Streams implements PassedNames {
  private readonly services: WorkerServices;
  private readonly config: RuntimeConfig;
  private readonly inputs: StreamPorts;
  private readonly log: StreamLog | null;
  /** The names that are passed through, by listener. */
  private readonly names: Map<string, NameTable | null> = new Map();
  private readonly contexts: Map<ConnectionObserver, StreamForwardPorts> = new Map();
  private readonly routes: Map<StreamConfig, StreamRoute>;
  private readonly listening: ReadonlyMap<StreamListener, ListeningStream>;
  private readonly datagrams: Map<string, DatagramStream>;

  constructor(config: RuntimeConfig, inputs: StreamPorts) {
    this.services = inputs.services;
    this.config = config;
    this.inputs = inputs;
    const log = streamLog(config, inputs);
    this.log = log;
    this.listening = new Map(
      config.streams.flatMap((stream) =>
        (stream.type === "tcp" ? stream.listen : []).map((at): [StreamListener, ListeningStream] => [
          streamListener(at),
          {
            acceptsProxy: stream.acceptProxy,
            forward: (ctx, socket, peer) => this.forwarding(stream, ctx, socket, peer, ""),
          },
        ]),
      ),
    );
    this.routes = new Map(config.streams.map((stream) => [stream, new ConfiguredStream(stream, config, inputs, log)]));
    this.datagrams = new Map(
      config.streams
        .filter(({ type }) => type === "udp")
        .flatMap((stream) => {
          const shares = inputs.workers * stream.listen.length;
          const maxSessions = Math.max(1, Math.floor(stream.maxConnections / shares));
          const datagrams = { route: this.routes.get(stream)!, responses: stream.responses, maxSessions };
          return stream.listen.map((at): [string, DatagramStream] => [addressText(at), datagrams]);
        }),
    );
  }

  /** A stream with other targets, for connections and sessions that begin from now on. */
  withTargets(change: TargetChanges["streams"][number], nodes: Pick<ConfiguredNodes, "nodesOf">): { commit(): void } {
    const stream = this.config.streams[change.index]!;
    const inputs = { ...this.inputs, nodes };
    const route = new ConfiguredStream(withTargets(stream, change), this.config, inputs, this.log);
    return {
      commit: () => {
        this.routes.set(stream, route);
        for (const at of stream.listen) {
          const known = this.datagrams.get(addressText(at));
          if (known !== undefined) this.datagrams.set(addressText(at), { ...known, route });
        }
      },
    };
  }

  isBusy(listener: string): boolean {
    return this.namesAt(listener) !== null;
  }

  isPassed(serverName: string, listener: string): boolean {
    return this.passedAt(listener, serverName) !== null;
  }

  forward(
    ctx: ClientSocketPorts,
    socket: ByteSocket,
    peer: ClientPeer,
    serverName: string,
    isOpen: boolean,
  ): ForwardedConnection | null {
    const stream = this.passedAt(ctx.listener.name, serverName);
    return stream === null || stream.endsTls !== isOpen ? null : this.forwarding(stream, ctx, socket, peer, serverName);
  }

  private passedAt(listener: string, serverName: string): StreamConfig | null {
    return this.namesAt(listener)?.get(serverName) ?? null;
  }

  private namesAt(listener: string): NameTable | null {
    let names = this.names.get(listener);
    if (names === undefined) {
      names = passedNames(this.config, listener);
      this.names.set(listener, names);
    }
    return names;
  }

  /** The stream of a listener; null if a configuration has it no longer. */
  at(name: StreamListener): ListeningStream | null {
    return this.listening.get(name) ?? null;
  }

  /** The UDP stream of an address; null if a configuration has it no longer. */
  datagramsAt(at: ListenAddress): DatagramStream | null {
    return this.datagrams.get(addressText(at)) ?? null;
  }

  private forwarding(
    stream: StreamConfig,
    { observer }: ClientSocketPorts,
    socket: ByteSocket,
    peer: ClientPeer,
    host: string,
  ): Forwarding {
    return new Forwarding(this.contextOf(observer), this.routes.get(stream)!, socket, peer, host);
  }

  /** One for all connections of a listener. */
  private contextOf(observer: ConnectionObserver): StreamForwardPorts {
    const known = this.contexts.get(observer);
    if (known !== undefined) return known;
    const made = {
      upstream: this.services.upstream,
      onClose: () => observer.onClose(),
      onException: (error: unknown) => observer.onException(error),
    };
    this.contexts.set(observer, made);
    return made;
  }
}

/** Null where connections are not logged. */
function streamLog(
  config: RuntimeConfig,
  { services, log, accessLines, addresses, threshold }: StreamPorts,
): StreamLog | null {
  const { accessLog } = config.server;
  if (!accessLog.enabled) return null;
  // A file of lines in another format has no place for these.
  const isApart = hasOwnOutputs(accessLog) && accessLog.format === "json";
  const ports = { clock: services.clock, random: Math.random, threshold, isApart, addresses };
  return new StreamLog(isApart ? accessLines.of(outputsKey(accessLog.outputs)) : log, accessLog.sample, ports);
}

const PROTOCOLS = { tcp: "tcp", udp: "udp", tls_passthrough: "tls" } as const;

class ConfiguredStream implements StreamRoute {
  readonly label: string;
  readonly protocol: StreamRecord["protocol"];
  readonly connectMs: number;
  readonly idleMs: number;
  readonly attempts: number;
  readonly sendProxy: "" | "v1" | "v2";
  readonly maxConnections: number;
  readonly counters: StreamCounters;
  readonly open: OpenStreams;
  readonly admits: StreamRoute["admits"];
  readonly needsAddress: boolean;
  readonly bans: StreamRoute["bans"];
  readonly log: StreamRoute["log"];
  private readonly choice: StreamChoice<OriginSettings>;

  constructor(stream: StreamConfig, config: RuntimeConfig, inputs: StreamPorts, log: StreamLog | null) {
    const id = inputs.counters.streamId(stream.path);
    this.label = stream.path;
    this.protocol = PROTOCOLS[stream.type];
    this.connectMs = stream.timeouts.connectMs;
    this.idleMs = stream.idleTimeoutMs;
    this.attempts = stream.retryAttempts + 1;
    this.sendProxy = stream.sendProxy;
    this.maxConnections = stream.maxConnections;
    this.counters = inputs.counters.streamCounters(id);
    this.open = new OpenStreams(inputs.open, inputs.worker, id);
    const rules = [config.server.ipRules, stream.ipRules].map((one) => addressRules(one, inputs.places));
    this.admits = (address) => rules.every((one) => one === null || one.admit(address));
    this.bans = config.server.bans.enabled ? inputs.bans : null;
    this.log = log === null ? null : (record) => log.write(record);
    this.needsAddress = log !== null || rules.some((one) => one !== null) || stream.policy === "ip_hash";
    this.choice = new StreamChoice(stream.policy, targetsOf(stream, inputs.nodes), Math.random);
  }

  choose(attempt: Parameters<StreamRoute["choose"]>[0]): ReturnType<StreamRoute["choose"]> {
    return this.choice.choose(attempt);
  }
}

/** The targets of a stream that may get connections. */
function targetsOf(stream: StreamConfig, nodes: StreamPorts["nodes"]) {
  const streamNodes = nodes.nodesOf(stream);
  return stream.targets.flatMap((target, i) => {
    if (target.weight === 0) return [];
    const earlier = stream.targets.slice(0, i).filter(({ url }) => url === target.url).length;
    return [{ ...target, node: streamNodes[i]!, dial: dialOf(target), name: `${target.url}#${earlier}` }];
  });
}

function dialOf({ originKey, hostname, port, socketPath, authority }: StreamConfig["targets"][number]): OriginSettings {
  const none = { tls: null, maxIdleConnections: 0, idleTimeoutMs: 0, maxResponseFields: 0 };
  return { originKey, hostname, port, socketPath, authority, ...none };
}

/** Whether two are one. */
function isSameAddress(a: ListenAddress, b: ListenAddress): boolean {
  return a.host === b.host && a.port === b.port;
}

/**
 * The UDP listeners of one worker. The runtime cannot take over a UDP socket: a successor opens its own beside them, and the kernel gives clients to
 * either until these are closed. docs/streams.md#udp
 */
export class UdpListeners {
  private readonly ctx: DatagramPorts;
  private readonly streams: () => Streams | null;
  private open: readonly DatagramListener[] = [];

  constructor(ctx: DatagramPorts, streams: () => Streams | null) {
    this.ctx = ctx;
    this.streams = streams;
  }

  /**
   * Listens at these addresses and no others; those that stay keep their sessions.
   * @throws when one cannot be had
   */
  async use(addresses: readonly ListenAddress[]): Promise<void> {
    const before = this.open;
    const stay = before.filter((one) => addresses.some((at) => isSameAddress(one, at)));
    const added = addresses
      .filter((at) => !stay.some((one) => isSameAddress(one, at)))
      .map((at) => new DatagramListener(this.ctx, at.host, at.port, () => this.streams()?.datagramsAt(at) ?? null));
    this.open = [...stay, ...added];
    for (const one of before) if (!stay.includes(one)) one.close();
    for (const one of added) await one.open();
  }

  /** Ends all sessions. */
  close(): void {
    for (const one of this.open) one.close();
    this.open = [];
  }
}
