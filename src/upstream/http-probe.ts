import { ipVersion } from "../core/ip-address.ts";
import { MAX_RESPONSE_FIELDS, MAX_RESPONSE_HEAD_BYTES } from "../core/limits.ts";
import { isSocketShortage } from "../core/shortage.ts";
import { HeaderBlock } from "../message/header-block.ts";
import { Method } from "../message/request-head.ts";
import { lowestDescriptor } from "../net/descriptors.ts";
import { isNoName, type NameResolver } from "../net/name-resolver.ts";
import type { HandshakeError } from "../net/tls-upgrade.ts";
import { LenientResponseParser } from "../proto/h1/lenient-response-parser.ts";
import { NEED_MORE } from "../proto/h1/outcome.ts";
import { ResponseParser } from "../proto/h1/response-parser.ts";
import { H2ProbeDialog } from "./h2-probe-dialog.ts";
import { dialOptions, isSocket, isUsable, tlsOptions, type UpstreamTls } from "./origin-socket.ts";
import type { ProbeDialog } from "./probe-dialog.ts";

/** Where a probe goes. */
export interface ProbeOrigin {
  readonly hostname: string;
  readonly port: number;
  /** The path of a UNIX socket, in the place of name and port; "" or none for TCP. */
  readonly socketPath?: string;
  /** The Host field. */
  readonly authority: string;
  /** Null for cleartext. */
  readonly tls: UpstreamTls | null;
  /** Whether the origin speaks HTTP/2. */
  readonly isHttp2?: boolean;
  /** Whether what old origins send is taken. docs/upstreams.md#old-origins */
  readonly isLenient?: boolean;
  /** How it is asked if it is a gRPC server; absent for others. */
  readonly grpc?: GrpcProbe;
  /** The folder of the scripts of an origin that speaks FastCGI; absent for HTTP. */
  readonly scriptRoot?: string;
  /** Fields of a response's head at most. */
  readonly maxResponseFields?: number;
}

/** What is asked of a gRPC server. docs/upstreams.md#health-checks */
export interface GrpcProbe {
  /** Put before the path of the call: "" or `/api`. */
  readonly basePath: string;
  /** Whether a server without the service for health counts as one that does not serve. */
  readonly mustTell: boolean;
}

/** What came of a probe. */
export interface ProbeOutcome {
  /** 0 when no response came. */
  readonly statusCode: number;
  readonly latencyMs: number;
  /** Why no response came; "" when one did. */
  readonly error: string;
  /** Whether it was this machine that had no descriptor, port or memory for it. */
  readonly isOurs?: boolean;
}

/**
 * Asks an origin for a page on a connection of its own, and reads the head of the response as the route's requests read it.
 * For the control thread: it makes promises and closures. Redirects are responses, and no proxy of the environment is used.
 */
export function probeHttp(
  origin: ProbeOrigin,
  path: string,
  timeoutMs: number,
  names: NameResolver,
): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    new HttpProbe(origin, path, names, resolve).start(timeoutMs);
  });
}

/** Only makes a connection to an origin, with its TLS handshake, and closes it. `error` is "" where it came about. */
export function probeConnection(origin: ProbeOrigin, timeoutMs: number, names: NameResolver): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    new HttpProbe(origin, null, names, resolve).start(timeoutMs);
  });
}

type ProbeSocket = { write(bytes: Uint8Array): number; terminate(): void };

class HttpProbe {
  private readonly origin: ProbeOrigin;
  /** Null where a connection is enough. */
  private readonly dialog: ProbeDialog | null;
  private readonly resolve: (outcome: ProbeOutcome) => void;
  private readonly startedMs = performance.now();
  private socket: ProbeSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private isOver = false;
  private readonly names: NameResolver;
  /** Whether the origin is found by a name. */
  private readonly isNamed: boolean;
  /** The address that is being tried; "" for none. */
  private address = "";

  constructor(origin: ProbeOrigin, path: string | null, names: NameResolver, resolve: (outcome: ProbeOutcome) => void) {
    this.origin = origin;
    this.names = names;
    this.isNamed = ipVersion(origin.hostname) === 0 && !isSocket(origin.socketPath);
    this.resolve = resolve;
    this.dialog = path === null ? null : dialogOf(origin, path);
  }

  start(timeoutMs: number): void {
    const { hostname } = this.origin;
    this.timer = setTimeout(() => {
      if (this.isNamed && this.address !== "" && this.socket === null) this.names.failed(hostname, this.address);
      // The name servers are slow, which says nothing of the origin.
      if (this.isNamed && this.address === "") this.end(0, connectFailure({ code: "ETIMEOUT" }), true);
      else this.end(0, `no response within ${timeoutMs} ms`);
    }, timeoutMs);
    if (!this.isNamed) this.connect(hostname, []);
    else {
      this.names.resolve(hostname, ([address, ...others], failure) => {
        if (address === undefined) this.end(0, connectFailure({ code: failure }), !isNoName(failure));
        else this.connect(address, others);
      });
    }
  }

  /** @param others addresses for when this one takes no connection */
  private connect(address: string, others: readonly string[]): void {
    if (this.isOver) return;
    this.address = address;
    const { hostname, tls, isHttp2 } = this.origin;
    const socket = {
      open: (opened: ProbeSocket) => {
        this.socket = opened;
        if (this.isOver) opened.terminate();
        else if (tls === null) this.send(opened);
      },
      handshake: (opened: ProbeSocket, ok: boolean, error: HandshakeError | null | undefined) => {
        if (tls === null) return;
        if (isUsable(tls.rejectUnauthorized, ok, error)) this.send(opened);
        else this.end(0, `TLS: ${codeOf(error)}`);
      },
      data: (_opened: ProbeSocket, chunk: Buffer) => this.onData(chunk),
      end: () => this.end(0, "the connection was closed"),
      close: () => this.end(0, "the connection was closed"),
      error: (_opened: ProbeSocket, error: unknown) => this.end(0, codeOf(error)),
      connectError: () => {},
    };
    const options = {
      ...dialOptions(this.origin, address),
      socket,
      ...(tls === null ? {} : { tls: tlsOptions(tls, isHttp2 === true) }),
    };
    Bun.connect(options as never).catch((error: unknown) => {
      const [next, ...left] = others;
      const isOurs = lowestDescriptor() < 0 || isSocketShortage((error as { code?: unknown } | null)?.code);
      if (isOurs) return this.end(0, "this machine has no ports or memory left for a connection", true);
      if (this.isNamed) this.names.failed(hostname, address);
      if (next === undefined) this.end(0, connectFailure(error));
      else this.connect(next, left);
    });
  }

  private send(socket: ProbeSocket): void {
    if (this.isOver) return;
    if (this.dialog === null) this.end(0, "");
    else socket.write(this.dialog.request);
  }

  private onData(chunk: Buffer): void {
    if (this.isOver || this.dialog === null) return;
    const status = this.dialog.take(chunk);
    if (status < 0) this.end(0, "a malformed response");
    else if (status > 0) this.end(status, "");
  }

  private end(statusCode: number, error: string, isOurs = false): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.socket?.terminate();
    const outcome = { statusCode, latencyMs: performance.now() - this.startedMs, error };
    this.resolve(isOurs ? { ...outcome, isOurs } : outcome);
  }
}

function dialogOf(origin: ProbeOrigin, path: string): ProbeDialog {
  const maxFields = origin.maxResponseFields ?? MAX_RESPONSE_FIELDS;
  if (origin.scriptRoot !== undefined) {
    const { FastCgiProbeDialog } = require("./fastcgi-probe-dialog.ts") as typeof import("./fastcgi-probe-dialog.ts");
    return new FastCgiProbeDialog(origin.scriptRoot, path, origin.authority, maxFields);
  }
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${origin.authority}`, "User-Agent: edge-health-check", "Accept: */*"];
  const head = Buffer.from(`${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`, "latin1");
  return origin.isHttp2 === true
    ? new H2ProbeDialog(head, origin.tls !== null, maxFields)
    : new H1ProbeDialog(head, origin.isLenient === true, maxFields);
}

/** A probe's request and response by HTTP/1.1. */
class H1ProbeDialog implements ProbeDialog {
  readonly request: Buffer;
  private readonly parser: ResponseParser;
  private readonly headers = new HeaderBlock();
  private received: Buffer = Buffer.alloc(0);

  constructor(head: Buffer, isLenient: boolean, maxFields: number) {
    this.request = head;
    // Only the responses to requests are counted.
    this.parser = isLenient ? new LenientResponseParser(maxFields, () => {}) : new ResponseParser(maxFields);
    this.beginHead(0);
  }

  take(chunk: Buffer): number {
    this.received = Buffer.concat([this.received, chunk]);
    for (;;) {
      const outcome = this.parser.parse(this.received, this.received.length, this.headers, Method.Get);
      if (outcome === NEED_MORE) return 0;
      if (outcome < 0) return -1;
      if (this.parser.status >= 200) return this.parser.status;
      this.beginHead(outcome);
      if (this.received.length > MAX_RESPONSE_HEAD_BYTES) return -1;
    }
  }

  private beginHead(from: number): void {
    this.parser.begin(from);
    this.headers.reset(this.received);
  }
}

/** Why there is no connection, in words. */
export function connectFailure(error: unknown): string {
  const code = codeOf(error);
  if (code === "ECONNREFUSED") return "connection refused";
  if (code === "ENOENT") return "no such socket";
  if (code === "EACCES") return "no permission to connect to the socket";
  return code === "ENOTFOUND" || code.startsWith("DNS_") ? "name not found" : code;
}

/** A word for an error that tells no address. */
function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && code !== "" ? code : "failed";
}
