import { createPrivateKey } from "node:crypto";
import type { BlockList } from "node:net";
import type { QuicEndpoint, QuicSession, QuicStream } from "node:quic";
import { MIN_PROGRESS_BYTES } from "../core/limits.ts";
import { H3Error } from "./h3-error.ts";
import { separatePeers } from "./udp-socket.ts";

/** How long an idle HTTP/3 connection is given to open the stream without which the runtime sends no GOAWAY. */
const H3_STREAM_WAIT_MS = 20;

/** A certificate as the runtime's QUIC takes it. */
export interface QuicIdentity {
  /** PEM, leaf first. */
  readonly chain: string;
  /** PEM. */
  readonly key: string;
}

/** How to listen. */
export interface QuicInit {
  readonly host: string;
  /** UDP port. */
  readonly port: number;
  /** By lower-case name, wildcards included; `*` is the default and must be there. */
  readonly identities: ReadonlyMap<string, QuicIdentity>;
  /** PEM certificates of the authorities that client certificates must lead to; null asks for none. */
  readonly clientAuthorities: readonly string[] | null;
  readonly limits: QuicLimits;
  /** Whom the endpoint ignores; it is asked for every packet. See `ignoreAll`. */
  readonly ignored: BlockList;
  readonly onSession: (session: QuicSession) => void;
}

/** Bounds of what clients may make the endpoint hold. */
interface QuicLimits {
  readonly idleTimeoutMs: number;
  readonly handshakeTimeoutMs: number;
  /** Bytes of a head's names and values. */
  readonly maxHeadBytes: number;
  /** Fields of a head, all Cookie fields counted as one. */
  readonly maxFields: number;
  readonly maxStreams: number;
  readonly maxSessions: number;
  readonly maxSessionsPerHost: number;
  /** Bytes of request bodies that a client may send ahead, a stream and a session. */
  readonly streamWindowBytes: number;
  readonly sessionWindowBytes: number;
}

/** The longest name and value that QPACK gives, with what the runtime may count beside them. */
const LONGEST_FIELD_BYTES = 2 * 65_536;
/** What a Cookie field without a value counts in a field section: name and 32 bytes (RFC 9114 §4.2.2). They count as one field. */
const CRUMB_BYTES = 38;
const TRAILER_POLL_MS = 2;
const CONNECTION_REFUSED = 2;
/** RFC 9114 §6.2.3: 0x1f * N + 0x21. */
const IGNORED_STREAM_TYPE = new Uint8Array([0x21]);
/** What a stream is destroyed with; never read. */
const CUT = new Error("the stream is cut");
/** The way to know when a writer takes bytes again. */
const DRAINABLE = Symbol.for("Stream.drainableProtocol");

/**
 * Listens for HTTP/3 with the runtime's QUIC, which is loaded when it is first wanted.
 * @throws when the runtime has none, when the port cannot be had, or a certificate cannot be used
 */
export async function listenQuic(init: QuicInit): Promise<QuicEndpoint> {
  const quic = await loadQuic();
  const { limits } = init;
  const endpoint = await quic.listen((session) => init.onSession(session), {
    endpoint: {
      // Typed as an object that only the library makes; this is what it reads of it.
      address: { address: init.host, port: init.port, family: init.host.includes(":") ? "ipv6" : "ipv4" } as never,
      maxConnectionsTotal: limits.maxSessions,
      maxConnectionsPerHost: limits.maxSessionsPerHost,
      // Missing in the types.
      ...{ blockList: init.ignored },
    },
    alpn: ["h3"],
    sni: sniOf(init.identities),
    ...(init.clientAuthorities === null
      ? {}
      : { verifyClient: true, ca: init.clientAuthorities.map((pem) => Buffer.from(pem)) }),
    enableEarlyData: false,
    handshakeTimeout: limits.handshakeTimeoutMs,
    // The runtime drops what is beyond its limits without a word, and goes on with smaller fields. Its own decoder takes
    // no field beyond 64 KiB, so that whatever it drops here belongs to a head that is too large for us as well.
    application: {
      maxHeaderLength: limits.maxHeadBytes + LONGEST_FIELD_BYTES,
      maxHeaderPairs: limits.maxFields * 2 + Math.ceil(limits.maxHeadBytes / CRUMB_BYTES),
    },
    transportParams: {
      maxIdleTimeout: Math.ceil(limits.idleTimeoutMs / 1000),
      initialMaxStreamsBidi: limits.maxStreams,
      initialMaxStreamDataBidiRemote: limits.streamWindowBytes,
      initialMaxData: limits.sessionWindowBytes,
    },
  });
  endpoint.closed.catch(() => {});
  // A port that is taken does not reject.
  if (endpoint.address === undefined) {
    endpoint.destroy();
    throw Object.assign(new Error(`UDP port ${init.port} of ${init.host} is in use`), { code: "EADDRINUSE" });
  }
  separatePeers(endpoint.address.port);
  return endpoint;
}

/** Takes other certificates for the handshakes that begin from now on. @throws when one cannot be used */
export function useIdentities(endpoint: QuicEndpoint, identities: ReadonlyMap<string, QuicIdentity>): void {
  endpoint.setSNIContexts(sniOf(identities), { replace: true });
}

/**
 * Drops all that comes to the endpoints of this list, and says nothing to its senders. A client whose first packet is dropped
 * sends it again (RFC 9002 §6.2), so that it reaches the next owner of the port; refused, it would give up.
 */
export function ignoreAll(ignored: BlockList): void {
  ignored.addSubnet("0.0.0.0", 0, "ipv4");
  ignored.addSubnet("::", 0, "ipv6");
}

/**
 * Writes what the stream takes now; the bytes are copied.
 * @returns whether it took them; if not, wait for `writable`
 * @throws when the stream is gone
 */
export function writeNow(stream: QuicStream, bytes: Uint8Array): boolean {
  return stream.writer.writeSync(bytes) as unknown as boolean;
}

/**
 * Ends both directions of a stream at once. Without an error the runtime resets a stream whose head has left with the code
 * 0, which clients may take for no error (RFC 9114 §9); with one it is always H3_INTERNAL_ERROR there.
 */
export function resetStream(stream: QuicStream, code: H3Error): void {
  stream.destroy(CUT, { code });
}

/**
 * Closes a connection when its streams are over. GOAWAY tells the client at once which of its requests are not answered any more; it
 * may send those again (RFC 9114 §5.2). The runtime sends none if no stream is open, and the client would lose a request that is on
 * its way: such a connection gets a stream whose type clients ignore (RFC 9114 §6.2.3) first. A client that allows none, or that takes
 * longer than H3_STREAM_WAIT_MS to, gets no GOAWAY.
 * @param isIdle whether no stream is open
 */
export async function leaveSession(session: QuicSession, isIdle: boolean): Promise<void> {
  try {
    if (isIdle) await Promise.race([openIgnored(session), Bun.sleep(H3_STREAM_WAIT_MS)]);
    await session.close();
  } catch {
    // The connection is gone.
  }
}

async function openIgnored(session: QuicSession): Promise<void> {
  const stream = await session.createUnidirectionalStream();
  stream.closed.catch(() => {});
  stream.onerror = () => {};
  stream.writer.writeSync(IGNORED_STREAM_TYPE);
}

/** Closes a connection at once and tells the client. Without a code the runtime would tell it nothing. RFC 9114 §5.3. */
export function endSession(session: QuicSession): void {
  session.destroy(undefined, { code: H3Error.NoError, type: "application" });
}

/** Closes a connection whose handshake is done as one that the server does not take: CONNECTION_REFUSED. RFC 9000 §20.1. */
export function refuseSession(session: QuicSession): void {
  session.destroy(undefined, { code: CONNECTION_REFUSED, type: "transport" });
}

/** Bytes of a stream that have gone out to the client, none of them twice. */
export function sentBytes(stream: QuicStream): number {
  return Number(stream.stats.bytesSent);
}

/** Bytes that have come from the client over the whole connection, acknowledgements among them. */
export function receivedBytes({ session }: QuicStream): number {
  return session === null ? 0 : Number(session.stats.bytesReceived);
}

/** Resolves when the stream takes bytes again, with false when it never will. */
export function writable(stream: QuicStream): Promise<boolean> {
  const writer = stream.writer as unknown as { [DRAINABLE](): Promise<boolean> | null };
  return writer[DRAINABLE]() ?? Promise.resolve(false);
}

/**
 * Ends a stream with trailers, when all that was written before has left. Ended any earlier, the runtime now and then sends
 * them as the end of the body, one time in seven with megabytes before them; it says nothing when all has left.
 * @param patienceMs the stream is reset when the client takes less than MIN_PROGRESS_BYTES of it in that time
 */
export async function endWithTrailers(stream: QuicStream, trailers: object, patienceMs: number): Promise<void> {
  const writer = stream.writer as unknown as { readonly desiredSize: number | null; endSync(): number };
  let until = performance.now() + patienceMs;
  let sent = sentBytes(stream);
  let received = receivedBytes(stream);
  try {
    while (writer.desiredSize !== null && writer.desiredSize < stream.highWaterMark) {
      if (performance.now() >= until) {
        const before = { sent, received };
        sent = sentBytes(stream);
        received = receivedBytes(stream);
        if (sent - before.sent < MIN_PROGRESS_BYTES || received === before.received) break;
        until += patienceMs;
      }
      await Bun.sleep(TRAILER_POLL_MS);
    }
    await Bun.sleep(TRAILER_POLL_MS);
    if (writer.desiredSize === null || stream.destroyed) return;
    if (writer.desiredSize < stream.highWaterMark) resetStream(stream, H3Error.RequestCancelled);
    else {
      stream.onwanttrailers = () => void stream.sendTrailers(trailers as never);
      writer.endSync();
    }
  } catch {
    // The client is gone.
  }
}

async function loadQuic(): Promise<typeof import("node:quic")> {
  const { emitWarning } = process;
  // That the module is new is known to the operator who enabled it.
  process.emitWarning = () => {};
  try {
    return await import("node:quic");
  } catch {
    throw new Error("this build of the runtime has no QUIC");
  } finally {
    process.emitWarning = emitWarning;
  }
}

function sniOf(identities: ReadonlyMap<string, QuicIdentity>) {
  const made = new Map<QuicIdentity, { keys: ReturnType<typeof createPrivateKey>[]; certs: Buffer[] }>();
  const entryOf = (identity: QuicIdentity) => {
    let entry = made.get(identity);
    if (entry === undefined) {
      entry = { keys: [createPrivateKey(identity.key)], certs: [Buffer.from(identity.chain)] };
      made.set(identity, entry);
    }
    return entry;
  };
  return Object.fromEntries([...identities].map(([name, identity]) => [name, entryOf(identity)]));
}
