import { type Mock, spyOn } from "bun:test";
import { FakeSocket } from "../../net/fake-socket.ts";

/** Handlers that the gateway gives to `Bun.connect`. */
interface Handlers {
  open(socket: OriginSocket): void;
  data(socket: OriginSocket, chunk: Buffer): void;
  drain(socket: OriginSocket): void;
  end(socket: OriginSocket): void;
  close(socket: OriginSocket): void;
  error(socket: OriginSocket, error: unknown): void;
}

interface ConnectOptions {
  readonly hostname: string;
  readonly port: number;
  readonly data: unknown;
  readonly socket: Handlers;
}

class OriginSocket extends FakeSocket {
  data: unknown;
}

/** One attempt to connect to an origin: the test says what becomes of it, and plays the origin. */
export class Attempt {
  readonly hostname: string;
  readonly port: number;
  readonly socket: OriginSocket = new OriginSocket();
  private readonly handlers: Handlers;
  private readonly reject: (error: Error) => void;

  constructor(options: ConnectOptions, reject: (error: Error) => void) {
    this.hostname = options.hostname;
    this.port = options.port;
    this.handlers = options.socket;
    this.reject = reject;
    this.socket.data = options.data;
  }

  /** The connection is there. */
  open(): this {
    this.event(() => this.handlers.open(this.socket));
    return this;
  }

  /** Nobody is there. */
  async refuse(): Promise<void> {
    this.reject(new Error("refused"));
    await Promise.resolve();
    await Promise.resolve();
  }

  /** The origin sends these texts, each in an event of its own. */
  send(...pieces: readonly string[]): this {
    for (const piece of pieces) {
      this.event(() => this.handlers.data(this.socket, Buffer.from(piece, "latin1")));
    }
    return this;
  }

  /** The origin ends its direction. */
  end(): void {
    this.event(() => this.handlers.end(this.socket));
  }

  /** The connection is gone. */
  lose(): void {
    this.socket.isGone = true;
    this.event(() => this.handlers.close(this.socket));
  }

  /** The origin's kernel takes bytes again. */
  drain(room: number = Number.POSITIVE_INFINITY): void {
    this.socket.room = room;
    this.event(() => this.handlers.drain(this.socket));
  }

  /** What the origin has got, one character a byte. */
  get got(): string {
    return this.socket.text;
  }

  /** Whether the gateway has ended or cut the connection. */
  get isEnded(): boolean {
    return this.socket.isEnded;
  }

  /** An exception that leaves a handler comes back as an event, as Bun does it. */
  private event(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.handlers.error(this.socket, error);
    }
  }
}

/** Stands in for `Bun.connect` until `restore` is called. */
export class FakeConnect {
  readonly attempts: Attempt[] = [];
  private readonly spy: Mock<typeof Bun.connect>;

  constructor() {
    this.spy = spyOn(Bun, "connect");
    this.spy.mockImplementation(((options: ConnectOptions) => {
      const { promise, reject } = Promise.withResolvers<never>();
      this.attempts.push(new Attempt(options, reject));
      return promise;
    }) as never);
  }

  /** The last attempt. */
  get last(): Attempt {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined) throw new Error("nobody has connected");
    return attempt;
  }

  restore(): void {
    this.spy.mockRestore();
  }
}
