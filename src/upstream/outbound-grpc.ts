import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions as TlsOptions } from "node:tls";
import type { DescMethod, DescMethodStreaming } from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { messageOf } from "../core/error-text.ts";
import { ipVersion } from "../core/ip-address.ts";
import { plainLine } from "../core/printable.ts";
import { isSocketShortage } from "../core/shortage.ts";
import { lowestDescriptor } from "../net/descriptors.ts";
import { isNoName, type NameResolver } from "../net/name-resolver.ts";
import { isSocket } from "./origin-socket.ts";
import { hasAltName, type UpstreamTls } from "./origin-trust.ts";

/** A gRPC server that the gateway itself calls. */
export interface GrpcServer {
  readonly hostname: string;
  readonly port: number;
  /** The path of a UNIX socket, in the place of name and port; "" or none for TCP. */
  readonly socketPath?: string;
  /** The `:authority` of calls. */
  readonly authority: string;
  /** Put before the path of each call: "" or `/api`. */
  readonly basePath: string;
  /** Null for cleartext. */
  readonly tls: Omit<UpstreamTls, "serverIds"> | null;
}

/** The bounds of a connection. */
interface GrpcBounds {
  /** For the connection with its TLS handshake, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Of one message of a response. */
  readonly maxMessageBytes: number;
}

/** The bounds of a call, and what goes with it. */
interface CallBounds {
  /** Until the first message of the response is whole, in milliseconds. */
  readonly firstMessageMs: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const NO_STATUS = 0;

/** Why there is no connection, or a call has failed. */
export class GrpcFailure extends Error {
  override readonly name = "GrpcFailure";
  /** A status of gRPC: the server's, or the one for what the library makes of its response; 0 if there is no whole response. */
  readonly status: number;
  /** Without the status; fit for one log line, as the message is. */
  readonly reason: string;
  /** Whether it is this machine that has no descriptor, port, memory or name server for it. */
  readonly isOurs: boolean;

  constructor(status: number, reason: string, isOurs = false) {
    super(status === NO_STATUS ? reason : `gRPC status ${status}${reason === "" ? "" : `: ${reason}`}`);
    this.status = status;
    this.reason = reason;
    this.isOurs = isOurs;
  }
}

/**
 * One connection for calls of the gateway's own, in the control thread: nothing on a request's way. It is made once; who wants another makes it.
 * Messages are bounded and not compressed, waits are bounded, and certificates are verified whatever the environment says.
 * docs/security.md#environment
 */
export class OutboundGrpc {
  private readonly server: GrpcServer;
  private readonly bounds: GrpcBounds;
  private readonly session: ClientHttp2Session;
  private readonly socket: Socket;
  /** What ends each call under way. */
  private readonly calls: Set<(why: string) => void> = new Set();
  /** Why the connection is over; "" while it is not. */
  private ended = "";

  private constructor(socket: Socket, server: GrpcServer, bounds: GrpcBounds) {
    this.server = server;
    this.bounds = bounds;
    this.socket = socket;
    this.session = connectHttp2(baseOf(server), { createConnection: () => socket, settings: { enablePush: false } });
    for (const each of [this.session, socket] as const) {
      each.on("error", (error: Error) => this.end(reasonOf(error)));
      each.on("close", () => this.end("the connection was closed"));
    }
  }

  /** Connects. @param names null for a socket @throws GrpcFailure */
  static async open(server: GrpcServer, bounds: GrpcBounds, names: NameResolver | null): Promise<OutboundGrpc> {
    return new OutboundGrpc(await dial(server, performance.now() + bounds.connectTimeoutMs, names), server, bounds);
  }

  /**
   * Calls a method with one message.
   * @returns the messages of the response; who leaves them early gives the call up
   * @throws GrpcFailure
   */
  async *call<T>(method: DescMethod, request: object, { firstMessageMs, headers = {} }: CallBounds): AsyncGenerator<T> {
    if (this.ended !== "") throw new GrpcFailure(NO_STATUS, this.ended);
    const ending = new AbortController();
    let why = "";
    const end = (reason: string): void => {
      if (why === "") why = reason;
      ending.abort();
    };
    this.calls.add(end);
    const late = setTimeout(() => end(`no message within ${firstMessageMs / 1000} s`), firstMessageMs);
    try {
      const stream = method as DescMethodStreaming;
      const given = oneOf(request);
      const { message } = await this.transport(end).stream(stream, ending.signal, undefined, headers, given as never);
      for await (const one of message) {
        clearTimeout(late);
        yield one as T;
      }
    } catch (error) {
      throw failureOf(error, why);
    } finally {
      clearTimeout(late);
      this.calls.delete(end);
      ending.abort();
    }
  }

  /** Closes the connection; calls under way fail. */
  close(): void {
    this.end("the connection was closed");
  }

  /** @param end of the call: the runtime tells of a stream that is reset before its response as of one that is over */
  private transport(end: (why: string) => void): Transport {
    const { session, server } = this;
    const baseUrl = baseOf(server);
    return createGrpcTransport({
      baseUrl,
      acceptCompression: [],
      readMaxBytes: this.bounds.maxMessageBytes,
      sessionManager: {
        authority: baseUrl,
        request: async (method, path, fields) => {
          const own = { ":method": method, ":authority": server.authority, ":path": server.basePath + path };
          const stream = session.request({ ...fields, ...own });
          // The library listens later; if it is too late, it is told below.
          stream.on("error", () => {});
          let hasResponse = false;
          stream.once("response", () => {
            hasResponse = true;
          });
          stream.once("close", () => {
            if (!hasResponse) end("the stream was reset");
          });
          return stream;
        },
        notifyResponseByteRead: () => {},
      },
    });
  }

  private end(why: string): void {
    if (this.ended !== "") return;
    this.ended = why;
    for (const end of this.calls) end(why);
    this.session.destroy();
    this.socket.destroy();
  }
}

/** The name in it is no server's: the connection is there before. */
function baseOf({ tls }: GrpcServer): string {
  return tls === null ? "http://localhost" : "https://localhost";
}

async function* oneOf(request: object): AsyncGenerator<object> {
  yield request;
}

/** @param why what has ended the call here; "" if nothing has */
function failureOf(error: unknown, why: string): GrpcFailure {
  if (why !== "") return new GrpcFailure(NO_STATUS, why);
  const { code, rawMessage } = ConnectError.from(error);
  return new GrpcFailure(code, plainLine(rawMessage).slice(0, MAX_REASON));
}

/** Tries the addresses of a server one after the other. @param untilMs on the clock of `performance` */
async function dial(server: GrpcServer, untilMs: number, names: NameResolver | null): Promise<Socket> {
  const { hostname, socketPath } = server;
  if (names === null || isSocket(socketPath) || ipVersion(hostname) !== 0) return connectTo(hostname, server, untilMs);
  let failure = new GrpcFailure(NO_STATUS, "the name has no addresses");
  for (const address of await addressesOf(hostname, names)) {
    try {
      return await connectTo(address, server, untilMs);
    } catch (error) {
      failure = error as GrpcFailure;
      names.failed(hostname, address);
    }
  }
  throw failure;
}

function addressesOf(hostname: string, names: NameResolver): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    names.resolve(hostname, (addresses, failure) => {
      if (addresses.length > 0) resolve(addresses);
      else reject(new GrpcFailure(NO_STATUS, failure, !isNoName(failure)));
    });
  });
}

/** @param address in the place of a name */
function connectTo(address: string, { port, socketPath, tls }: GrpcServer, untilMs: number): Promise<Socket> {
  const to = isSocket(socketPath) ? { path: socketPath } : { host: address, port };
  const socket = tls === null ? connectTcp(to) : connectTls({ ...to, ...securityOf(tls) });
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const fail = (why: string): void => {
    socket.destroy();
    reject(new GrpcFailure(NO_STATUS, why, lowestDescriptor() < 0 || isSocketShortage(why)));
  };
  const timer = setTimeout(() => fail("no connection in time"), Math.max(1, untilMs - performance.now()));
  socket.once(tls === null ? "connect" : "secureConnect", () => resolve(socket));
  // It stays: a connection may break before its owner listens.
  socket.on("error", (error) => fail(reasonOf(error)));
  socket.once("close", () => fail("the connection was closed"));
  return promise.finally(() => clearTimeout(timer));
}

function securityOf(tls: NonNullable<GrpcServer["tls"]>): TlsOptions {
  const { serverName, ca, cert, key, rejectUnauthorized, altNames = [] } = tls;
  return {
    ALPNProtocols: ["h2"],
    rejectUnauthorized,
    ...(altNames.length === 0
      ? {}
      : { checkServerIdentity: (_, { subjectaltname }) => nameFault(subjectaltname, altNames) }),
    ...(serverName === "" ? {} : { servername: serverName }),
    ...(ca === undefined ? {} : { ca: ca as string }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

function nameFault(text: string | undefined, wanted: readonly string[]): Error | undefined {
  if (hasAltName(text ?? "", wanted)) return undefined;
  return Object.assign(new Error("the certificate has none of the names"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
}

/** The code of an error of the system or of TLS, which tells no address; else its text. */
function reasonOf(error: Error & { readonly code?: unknown }): string {
  return typeof error.code === "string" && error.code !== "" ? error.code : plainLine(messageOf(error));
}

/** Characters of what a server says. */
const MAX_REASON = 200;
