import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { connect, type Socket } from "node:net";
import { hostname } from "node:os";
import type { LogOutput } from "./log-writer.ts";
import type { LogFileListener } from "./rotating-file.ts";

/**
 * Sends lines to a syslog server, each as a message of its own: RFC 5424 over UDP (RFC 5426), TCP or a UNIX socket (RFC 6587 §3.4.1, with
 * the length before each). What comes while the server is away is dropped, which the caller counts. docs/operations.md#syslog
 */
export class SyslogOutput implements LogOutput {
  private readonly server: string;
  private readonly transport: Transport;
  private readonly prefix: string;
  private readonly nowMs: () => number;

  /** @param server `udp://host:514`, `tcp://host:601` or `unix:/path` @param nowMs milliseconds since the epoch */
  constructor(server: string, listener: LogFileListener, nowMs: () => number = Date.now) {
    this.server = server;
    this.nowMs = nowMs;
    this.transport = server.startsWith("udp:")
      ? new DatagramTransport(addressOf(server, UDP_PORT), (error) => listener.onFailed(this.server, error))
      : new StreamTransport(
          server.startsWith("unix:") ? { path: server.slice("unix:".length) } : addressOf(server, TCP_PORT),
          (error) => listener.onFailed(this.server, error),
        );
    this.prefix = ` ${hostname()} edge ${process.pid} access - `;
  }

  write(bytes: Uint8Array, done: (written: number) => void): void {
    const time = new Date(this.nowMs()).toISOString();
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
    const messages = text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => Buffer.from(`<${PRIORITY}>1 ${time}${this.prefix}${line}`, "utf8"));
    this.transport.send(messages, (isSent) => done(isSent ? bytes.length : 0));
  }

  close(): void {
    this.transport.close();
  }
}

interface Transport {
  /** @param done called once, later: whether all went out */
  send(messages: readonly Buffer[], done: (isSent: boolean) => void): void;
  close(): void;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

class DatagramTransport implements Transport {
  private readonly to: Address;
  private readonly onFailed: (error: string) => void;
  private socket: DatagramSocket | null = null;
  private isFailing = false;

  constructor(to: Address, onFailed: (error: string) => void) {
    this.to = to;
    this.onFailed = onFailed;
  }

  send(messages: readonly Buffer[], done: (isSent: boolean) => void): void {
    const { host, port } = this.to;
    this.socket ??= this.open(host);
    let left = messages.length;
    let isSent = true;
    const over = (error: Error | null): void => {
      if (error !== null) {
        isSent = false;
        if (!this.isFailing) this.onFailed(error.message);
      }
      this.isFailing = error !== null;
      if (--left === 0) done(isSent);
    };
    for (const message of messages) this.socket.send(message.subarray(0, MAX_DATAGRAM_BYTES), port, host, over);
  }

  close(): void {
    this.socket?.close();
    this.socket = null;
  }

  private open(host: string): DatagramSocket {
    const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
    socket.on("error", () => {});
    socket.unref();
    return socket;
  }
}

/** A connection that is made anew, less and less often, while the server is away. */
class StreamTransport implements Transport {
  private readonly to: Address | { readonly path: string };
  private readonly onFailed: (error: string) => void;
  private socket: Socket | null = null;
  private isOpen = false;
  private isFailing = false;
  private failures = 0;
  private notBeforeMs = 0;
  /** Who waits for what was written to be taken. */
  private waiting: ((isSent: boolean) => void) | null = null;
  private isClosed = false;

  constructor(to: Address | { readonly path: string }, onFailed: (error: string) => void) {
    this.to = to;
    this.onFailed = onFailed;
  }

  send(messages: readonly Buffer[], done: (isSent: boolean) => void): void {
    const framed = Buffer.concat(messages.flatMap((message) => [Buffer.from(`${message.length} `), message]));
    this.waiting = done;
    if (this.isOpen) this.socket!.write(framed, (error) => this.settle(!error));
    else this.connect(framed);
  }

  close(): void {
    this.isClosed = true;
    this.socket?.end();
    this.settle(false);
  }

  private connect(first: Buffer): void {
    const now = performance.now();
    if (now < this.notBeforeMs || this.isClosed) {
      setTimeout(() => this.settle(false), 0);
      return;
    }
    this.notBeforeMs = now + Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(this.failures, 10));
    const socket = connect({ ...this.to, timeout: CONNECT_MS } as never);
    this.socket = socket;
    socket.on("connect", () => {
      this.isOpen = true;
      this.isFailing = false;
      this.failures = 0;
      socket.setTimeout(0);
      socket.write(first, (error) => this.settle(!error));
    });
    socket.on("timeout", () => this.lost(socket, "no connection in time"));
    socket.on("error", (error) => this.lost(socket, error.message));
    socket.on("close", () => this.lost(socket, "the connection was closed"));
    socket.resume();
    socket.unref();
  }

  private lost(socket: Socket, why: string): void {
    if (this.socket !== socket) return;
    this.socket = null;
    this.isOpen = false;
    this.failures++;
    socket.destroy();
    if (!this.isFailing && !this.isClosed) this.onFailed(why);
    this.isFailing = true;
    this.settle(false);
  }

  private settle(isSent: boolean): void {
    const done = this.waiting;
    this.waiting = null;
    done?.(isSent);
  }
}

function addressOf(server: string, usual: number): Address {
  const [, host = "", port = ""] = /^\w+:\/\/(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(server)!;
  return { host: host.replace(/^\[|\]$/g, ""), port: port === "" ? usual : Number(port) };
}

const UDP_PORT = 514;
const TCP_PORT = 601;
/** Facility local0 (16), severity informational (6). RFC 5424 §6.2.1 */
const PRIORITY = 16 * 8 + 6;
/** RFC 5426 §3.2: what receivers are to take, and what fits through common networks' fragments is less than all. */
const MAX_DATAGRAM_BYTES = 8192;
const CONNECT_MS = 5000;
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
