import type { Socket } from "bun";
import { hostAndPort } from "../../core/ip-address.ts";
import { CONNECT_MS, MAX_RECEIVED_BYTES } from "./limits.ts";

/** How the peer has ended the connection: not yet, in order, or by a reset. */
type LinkState = "open" | "fin" | "reset";

/** An address to connect to. */
export interface Endpoint {
  readonly hostname: string;
  readonly port: number;
}

/** An address as it is in Host, RFC 3986 §3.2.2: an IPv6 address in brackets. */
export function authorityOf({ hostname, port }: Endpoint): string {
  return hostAndPort(hostname, port);
}

/** One TCP connection to the gateway: sends exactly the bytes that it is given and keeps what comes. */
export class ByteLink {
  ending: LinkState = "open";
  private isClosed = false;
  private socket: Socket<ByteLink> | null = null;
  private readonly chunks: Buffer[] = [];
  private count = 0;
  private unsent: Buffer = Buffer.alloc(0);
  private readonly sentChunks: Buffer[] = [];
  private wake: () => void = () => {};

  /**
   * Connects, within CONNECT_MS.
   * @throws Error that says why there is no connection
   */
  static async connect({ hostname, port }: Endpoint): Promise<ByteLink> {
    const link = new ByteLink();
    const opening = Bun.connect<ByteLink>({ hostname, port, allowHalfOpen: true, data: link, socket: HANDLERS });
    const late = Bun.sleep(CONNECT_MS).then(() => null);
    const socket = await Promise.race([opening, late]).catch((error: unknown) => {
      throw new Error(`${authorityOf({ hostname, port })}: ${(error as { code?: string }).code ?? String(error)}`);
    });
    if (socket === null) {
      opening.then(
        (open) => open.terminate(),
        () => {},
      );
      throw new Error(`${authorityOf({ hostname, port })}: no connection within ${CONNECT_MS / 1000} s`);
    }
    link.socket = socket;
    return link;
  }

  /** Everything that came, as one buffer. */
  get received(): Buffer {
    if (this.chunks.length > 1) this.chunks.splice(0, this.chunks.length, Buffer.concat(this.chunks));
    return this.chunks[0] ?? Buffer.alloc(0);
  }

  /** Everything that was sent, as one buffer. */
  get sent(): Buffer {
    return Buffer.concat(this.sentChunks);
  }

  /** Sends bytes; what the kernel does not take at once follows. */
  send(bytes: Buffer): void {
    this.sentChunks.push(bytes);
    this.unsent = Buffer.concat([this.unsent, bytes]);
    this.flush();
  }

  /** Waits until `isThere` holds, or the time is over; gives what it then says. */
  async until(isThere: () => boolean, ms: number): Promise<boolean> {
    const deadline = performance.now() + ms;
    while (!isThere()) {
      const left = deadline - performance.now();
      if (left <= 0 || this.isClosed) return false;
      await this.nextEvent(left);
    }
    return true;
  }

  /** Forgets what was sent and came so far. */
  forget(): void {
    this.chunks.length = 0;
    this.sentChunks.length = 0;
    this.count = 0;
  }

  /** Ends the connection; also for one that the peer has ended. */
  close(): void {
    this.isClosed = true;
    this.socket?.terminate();
    this.socket = null;
    this.wake();
  }

  /** Takes a chunk from the socket; for the handlers below. */
  receive(chunk: Buffer): void {
    if (this.count < MAX_RECEIVED_BYTES) this.chunks.push(chunk);
    this.count += chunk.byteLength;
    this.wake();
  }

  /** Notes the peer's end; for the handlers below. */
  end(ending: LinkState): void {
    if (this.ending === "open") this.ending = ending;
    this.wake();
  }

  /** Sends what is left; for the handlers below. */
  flush(): void {
    if (this.socket === null || this.unsent.length === 0) return;
    const taken = this.socket.write(this.unsent);
    if (taken > 0) this.unsent = this.unsent.subarray(taken);
  }

  private async nextEvent(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.wake = resolve;
    await promise;
    clearTimeout(timer);
  }
}

const HANDLERS = {
  data: (socket: Socket<ByteLink>, chunk: Buffer): void => socket.data.receive(chunk),
  end: (socket: Socket<ByteLink>): void => socket.data.end("fin"),
  drain: (socket: Socket<ByteLink>): void => socket.data.flush(),
  close: (socket: Socket<ByteLink>, error?: unknown): void => socket.data.end(error ? "reset" : "fin"),
  error: (socket: Socket<ByteLink>): void => socket.data.end("reset"),
  connectError: (): void => {},
};
