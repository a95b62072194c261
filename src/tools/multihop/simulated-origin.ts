import type { Socket, TCPSocketListener } from "bun";
import { fieldValue, type LenientRequest, readRequest } from "./lenient-parser.ts";
import { MAX_ORIGIN_BYTES, MAX_SEEN_REQUESTS, SETTLE_MS } from "./limits.ts";
import type { ParserHabits } from "./parser-habits.ts";
import { SMUGGLED_FIELD, TOKEN_FIELD } from "./vector.ts";
import type { OriginSight, SeenRequest, Witness } from "./witness.ts";

interface OriginConnection {
  readonly number: number;
  readonly socket: Socket<OriginConnection>;
  bytes: Buffer;
  isOpen: boolean;
}

/**
 * An origin of the reference deployment that reads as leniently as its habits are, and remembers all that it was given:
 * what an attack leaves at it is seen, not guessed. `GET /health`, `POST /echo`, `GET /canary`.
 */
export class SimulatedOrigin implements Witness {
  private readonly listener: TCPSocketListener<OriginConnection>;
  private readonly connections: Set<OriginConnection> = new Set();
  private connectionCount = 0;
  private requestCount = 0;
  private sequence = 0;
  private requests: SeenRequest[] = [];
  private refused: string[] = [];
  private receivedBytes = 0;

  /**
   * Listens on loopback.
   * @param port 0 takes a free one
   * @throws when the port cannot be had
   */
  constructor(
    private readonly habits: ParserHabits,
    port: number,
  ) {
    this.listener = Bun.listen<OriginConnection>({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => {
          socket.data = { number: ++this.connectionCount, socket, bytes: Buffer.alloc(0), isOpen: true };
          this.connections.add(socket.data);
        },
        data: (socket, chunk) => this.receive(socket, chunk),
        close: (socket) => {
          socket.data.isOpen = false;
          this.connections.delete(socket.data);
        },
        error: (socket) => void socket.terminate(),
      },
    });
  }

  get port(): number {
    return this.listener.port;
  }

  mark(): void {
    this.requests = [];
    this.refused = [];
    this.receivedBytes = 0;
  }

  async sight(): Promise<OriginSight> {
    const deadline = performance.now() + SETTLE_MS;
    while (this.unfinished().length > 0 && performance.now() < deadline) await Bun.sleep(10);
    const { requests, refused, receivedBytes } = this;
    const unfinished = this.unfinished().map(({ number, bytes }) => ({ connection: number, bytes: bytes.length }));
    return { requests, refused, unfinished, receivedBytes };
  }

  async dropConnections(): Promise<void> {
    for (const { socket } of this.connections) socket.end();
    // The gateway is notified of it before it takes one of them again.
    await Bun.sleep(DROP_MS);
  }

  stop(): void {
    this.listener.stop(true);
  }

  private unfinished(): OriginConnection[] {
    return [...this.connections].filter((each) => each.isOpen && each.bytes.length > 0);
  }

  private receive(socket: Socket<OriginConnection>, chunk: Buffer): void {
    const connection = socket.data;
    this.receivedBytes += chunk.length;
    connection.bytes = Buffer.concat([connection.bytes, chunk]);
    while (connection.isOpen && connection.bytes.length > 0) {
      const reading = readRequest(connection.bytes, this.habits);
      if (reading === "more" && connection.bytes.length < MAX_ORIGIN_BYTES) return;
      if (typeof reading === "string") return this.refuse(socket);
      connection.bytes = connection.bytes.subarray(reading.end);
      this.answer(socket, reading);
    }
  }

  private refuse(socket: Socket<OriginConnection>): void {
    const connection = socket.data;
    if (this.refused.length < MAX_SEEN_REQUESTS) this.refused.push(connection.bytes.toString("latin1", 0, 200));
    connection.bytes = Buffer.alloc(0);
    connection.isOpen = false;
    socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  }

  private answer(socket: Socket<OriginConnection>, request: LenientRequest): void {
    const { method, target, head, fields, body } = request;
    const token = fieldValue(fields, TOKEN_FIELD.toLowerCase());
    const smuggled = fieldValue(fields, SMUGGLED_FIELD.toLowerCase());
    const { number } = socket.data;
    if (this.requests.length < MAX_SEEN_REQUESTS) {
      this.requests.push({ connection: number, method, target, head, body: Buffer.from(body), token, smuggled });
    }
    this.requestCount++;
    const path = target.split("?", 1)[0]!;
    const isKnown = path === "/health" || path === "/canary" || path === "/echo";
    const content = JSON.stringify(isKnown ? this.contentFor(path, request) : { error: "404 Not Found" });
    socket.write(
      `HTTP/1.1 ${isKnown ? "200 OK" : "404 Not Found"}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(content)}\r\nX-Origin-Request: ${this.requestCount}\r\n\r\n${content}`,
    );
  }

  private contentFor(path: string, { method, target, fields, body }: LenientRequest): object {
    if (path === "/health") return { status: "ok" };
    const canary = path === "/canary" ? { status: "canary_ok", sequence: ++this.sequence } : {};
    const headers = new Map<string, string | string[]>();
    for (const [name, value] of fields) {
      const before = headers.get(name);
      headers.set(name, before === undefined ? value : [before, value].flat());
    }
    return { ...canary, method, target, headers: Object.fromEntries(headers), length: body.length };
  }
}

const DROP_MS = 50;
