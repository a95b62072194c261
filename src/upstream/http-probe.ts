import { MAX_RESPONSE_HEAD_BYTES } from "../core/limits.ts";
import { HeaderBlock } from "../message/header-block.ts";
import { Method } from "../message/method.ts";
import { NEED_MORE } from "../proto/h1/outcome.ts";
import { ResponseParser } from "../proto/h1/response-parser.ts";
import type { UpstreamTls } from "./origin-pool.ts";

/** Where a probe goes. */
export interface ProbeOrigin {
  readonly hostname: string;
  readonly port: number;
  /** The Host field. */
  readonly authority: string;
  /** Null for cleartext. */
  readonly tls: UpstreamTls | null;
}

/** What came of a probe. */
export interface ProbeOutcome {
  /** 0 when no answer came. */
  readonly statusCode: number;
  readonly latencyMs: number;
  /** Why no answer came; "" when one did. */
  readonly error: string;
}

/**
 * Asks an origin for a page on a connection of its own, and reads the head of the answer as strictly as that of any other.
 * For the control thread: it makes promises and closures. Redirects are answers, and no proxy of the environment is used.
 */
export function probeHttp(origin: ProbeOrigin, path: string, timeoutMs: number): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    new HttpProbe(origin, path, resolve).start(timeoutMs);
  });
}

type ProbeSocket = { write(bytes: Uint8Array): number; terminate(): void };

class HttpProbe {
  private readonly origin: ProbeOrigin;
  private readonly request: Buffer;
  private readonly resolve: (outcome: ProbeOutcome) => void;
  private readonly startedMs = performance.now();
  private readonly parser = new ResponseParser();
  private readonly headers = new HeaderBlock();
  private received: Buffer = Buffer.alloc(0);
  private socket: ProbeSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private isOver = false;

  constructor(origin: ProbeOrigin, path: string, resolve: (outcome: ProbeOutcome) => void) {
    this.origin = origin;
    this.resolve = resolve;
    const lines = [`GET ${path} HTTP/1.1`, `Host: ${origin.authority}`, "User-Agent: edge-health-check", "Accept: */*"];
    this.request = Buffer.from(`${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`, "latin1");
    this.beginHead(0);
  }

  start(timeoutMs: number): void {
    this.timer = setTimeout(() => this.end(0, `no answer within ${timeoutMs} ms`), timeoutMs);
    const { hostname, port, tls } = this.origin;
    const socket = {
      open: (opened: ProbeSocket) => {
        this.socket = opened;
        if (this.isOver) opened.terminate();
        else if (tls === null) this.send(opened);
      },
      handshake: (opened: ProbeSocket, ok: boolean, error: Error | null | undefined) => {
        if (tls === null) return;
        const isTrusted = ok && (!tls.rejectUnauthorized || error === null || error === undefined);
        if (isTrusted) this.send(opened);
        else this.end(0, `TLS: ${codeOf(error)}`);
      },
      data: (_opened: ProbeSocket, chunk: Buffer) => this.onData(chunk),
      end: () => this.end(0, "the connection was closed"),
      close: () => this.end(0, "the connection was closed"),
      error: (_opened: ProbeSocket, error: unknown) => this.end(0, codeOf(error)),
      connectError: () => {},
    };
    const options = { hostname, port, socket, ...(tls === null ? {} : { tls }) };
    Bun.connect(options as never).catch((error: unknown) => this.end(0, connectFailure(error)));
  }

  private send(socket: ProbeSocket): void {
    if (!this.isOver) socket.write(this.request);
  }

  private onData(chunk: Buffer): void {
    if (this.isOver) return;
    this.received = Buffer.concat([this.received, chunk]);
    while (!this.isOver) {
      const outcome = this.parser.parse(this.received, this.received.length, this.headers, Method.Get);
      if (outcome === NEED_MORE) return;
      if (outcome < 0) {
        this.end(0, "a malformed answer");
        return;
      }
      if (this.parser.status >= 200) {
        this.end(this.parser.status, "");
        return;
      }
      this.beginHead(outcome);
      if (this.received.length > MAX_RESPONSE_HEAD_BYTES) this.end(0, "a malformed answer");
    }
  }

  private beginHead(from: number): void {
    this.parser.begin(from);
    this.headers.reset(this.received);
  }

  private end(statusCode: number, error: string): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.socket?.terminate();
    this.resolve({ statusCode, latencyMs: performance.now() - this.startedMs, error });
  }
}

function connectFailure(error: unknown): string {
  const code = codeOf(error);
  if (code === "ECONNREFUSED") return "connection refused";
  return code === "ENOTFOUND" || code.startsWith("DNS_") ? "name not found" : code;
}

/** A word for an error that tells no address. */
function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && code !== "" ? code : "failed";
}
