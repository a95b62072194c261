import { type ClientHttp2Session, connect } from "node:http2";
import { isIP } from "node:net";
import { hostAndPort } from "../../core/ip-address.ts";
import { LoadEnding } from "./attack-tier.ts";
import { DueQueue } from "./due-queue.ts";
import { LOAD_REQUEST_LIMIT_MS } from "./limits.ts";
import type { LoadPlan } from "./load-plan.ts";
import type { LoadTarget } from "./load-target.ts";
import { plannedFields } from "./request-bytes.ts";
import type { PlannedRequest } from "./request-list.ts";
import type { SampleBatch } from "./sample-batch.ts";

/** Streams of HTTP/2 or HTTP/3 that one thread of the load generator has open at a time. */
const MAX_LOAD_STREAMS = 1000;

/** How one request is exchanged: resolves with a status or a `LoadEnding`, never rejects. */
interface Exchanger {
  open(): Promise<void>;
  exchange(request: PlannedRequest): Promise<number>;
  close(): void;
}

/** Benign requests as streams of HTTP/2 or HTTP/3, many at once on each connection. */
export class StreamedRequests {
  private readonly requests: readonly PlannedRequest[];
  private readonly exchanger: Exchanger;
  private readonly waiting = new DueQueue();
  private next: number;
  private busy = 0;
  private isClosed = false;

  /** @param connections at least one @param first which of the plan's requests is sent first */
  constructor(
    plan: LoadPlan,
    connections: number,
    private readonly samples: SampleBatch,
    first: number,
  ) {
    this.requests = plan.requests;
    this.exchanger = plan.protocol === 3 ? new Http3(plan.target) : new Http2(plan.target, connections);
    this.next = first;
  }

  /** Requests that are due and have not ended. */
  get unfinished(): number {
    return this.busy + this.waiting.length;
  }

  /** Opens the connections. */
  open(): Promise<void> {
    return this.exchanger.open();
  }

  /** Sends one request, as soon as there is room for a stream. */
  send(dueMs: number): void {
    this.waiting.push(dueMs);
    this.sendNext();
  }

  /** Gives up what has waited too long for its turn. To be called several times a second. */
  expire(nowMs: number): void {
    while (nowMs - this.waiting.oldest > LOAD_REQUEST_LIMIT_MS) {
      this.samples.addBenign(this.waiting.shift(), -1, nowMs, LoadEnding.NotSent);
    }
  }

  /** Ends all connections; what has not ended by then is not counted. */
  close(): void {
    this.isClosed = true;
    this.exchanger.close();
  }

  private sendNext(): void {
    while (this.waiting.length > 0 && this.busy < MAX_LOAD_STREAMS) void this.exchange(this.waiting.shift());
  }

  private async exchange(dueMs: number): Promise<void> {
    this.busy++;
    const sentMs = performance.now();
    const outcome = await this.exchanger.exchange(this.requests[this.next++ % this.requests.length]!);
    if (this.isClosed) return;
    this.busy--;
    this.samples.addBenign(dueMs, sentMs, performance.now(), outcome);
    this.sendNext();
  }
}

/** The runtime's client of HTTP/2: in clear with prior knowledge, or over TLS. */
class Http2 implements Exchanger {
  private readonly sessions: (ClientHttp2Session | null)[];
  private turn = 0;

  constructor(
    private readonly target: LoadTarget,
    connections: number,
  ) {
    this.sessions = new Array(connections).fill(null);
  }

  async open(): Promise<void> {
    const limit = new Promise<void>((resolve) => setTimeout(resolve, LOAD_REQUEST_LIMIT_MS));
    const opened = this.sessions.map(
      (_, i) => new Promise<void>((resolve) => this.session(i).once("connect", () => resolve())),
    );
    await Promise.race([Promise.all(opened), limit]);
  }

  exchange(request: PlannedRequest): Promise<number> {
    return new Promise((resolve) => {
      const { authority, isTls } = this.target;
      const stream = this.session(this.turn++ % this.sessions.length).request({
        ":method": request.method,
        ":path": request.path,
        ":authority": authority,
        ":scheme": isTls ? "https" : "http",
        ...Object.fromEntries(plannedFields(request).map(([name, value]) => [name.toLowerCase(), value])),
      });
      let status: number = LoadEnding.Reset;
      const timer = setTimeout(() => {
        resolve(LoadEnding.Timeout);
        stream.close();
      }, LOAD_REQUEST_LIMIT_MS);
      stream.on("response", (head) => {
        status = Number(head[":status"]);
      });
      stream.on("end", () => resolve(status));
      stream.on("error", () => resolve(LoadEnding.Reset));
      stream.on("close", () => {
        clearTimeout(timer);
        resolve(LoadEnding.Reset);
      });
      stream.resume();
      stream.end(request.body);
    });
  }

  close(): void {
    for (const session of this.sessions) session?.destroy();
  }

  /** The connection of that place, made anew if it has ended. */
  private session(place: number): ClientHttp2Session {
    const found = this.sessions[place];
    if (found !== null && found !== undefined && !found.closed && !found.destroyed) return found;
    const { isTls, address, hostname, port } = this.target;
    // An address is no server name: RFC 6066 §3.
    const servername = isIP(hostname) === 0 ? hostname : "";
    const options = isTls ? { rejectUnauthorized: false, servername } : {};
    const made = connect(`${isTls ? "https" : "http"}://${hostAndPort(address, port)}`, options);
    made.on("error", () => {});
    this.sessions[place] = made;
    return made;
  }
}

/** The runtime's client of HTTP/3, which chooses its connections itself. */
class Http3 implements Exchanger {
  private readonly end = new AbortController();
  private readonly origin: string;

  constructor(private readonly target: LoadTarget) {
    const { hostname, address, port, authority } = target;
    // The runtime would ask only one of the addresses of localhost.
    this.origin = `https://${hostname === "localhost" ? hostAndPort(address, port) : authority}`;
  }

  async open(): Promise<void> {
    await this.exchange({ method: "HEAD", path: this.target.path, fields: [], body: "" });
  }

  async exchange(request: PlannedRequest): Promise<number> {
    const limit = AbortSignal.timeout(LOAD_REQUEST_LIMIT_MS);
    try {
      const response = await fetch(`${this.origin}${request.path}`, {
        method: request.method,
        headers: plannedFields(request).map(([name, value]): [string, string] => [name, value]),
        redirect: "manual",
        signal: AbortSignal.any([limit, this.end.signal]),
        tls: { rejectUnauthorized: false },
        protocol: "http3",
        ...(request.body === "" ? {} : { body: request.body }),
      });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return limit.aborted ? LoadEnding.Timeout : LoadEnding.Reset;
    }
  }

  close(): void {
    this.end.abort();
  }
}
