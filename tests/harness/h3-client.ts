import type { QuicSession, QuicStream } from "node:quic";

/** A complete answer over HTTP/3. */
export interface H3Reply {
  readonly status: number;
  readonly fields: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly trailers: Readonly<Record<string, string | string[] | undefined>>;
}

/** What is sent beside the head. */
export interface H3Sending {
  /** Pieces of the body; each is written when the one before it has been taken. */
  readonly pieces?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly trailers?: Record<string, string>;
  /** Resets the stream behind the pieces instead of ending it. */
  readonly abandons?: boolean;
  /** Called when the answer begins. */
  readonly onHead?: () => void;
  /** Called with each piece of the answer's body, when it comes. */
  readonly onPiece?: (piece: Uint8Array) => void;
}

const TURNS = 5;

type Drainable = { [key: symbol]: () => Promise<boolean> | null };
const DRAINABLE = Symbol.for("Stream.drainableProtocol");
/** Read once: clients that connect at the same time would take each other's silence for it. */
const { emitWarning } = process;

/** One HTTP/3 connection, made with the runtime's own client. */
export class H3Client {
  private readonly session: QuicSession;
  private readonly authority: string;
  /** Whether the server takes no further requests. */
  private isLeaving = false;

  private constructor(session: QuicSession, authority: string) {
    this.session = session;
    this.authority = authority;
    session.ongoaway = () => {
      this.isLeaving = true;
    };
  }

  /** Whether a request can be sent: neither GOAWAY nor the connection's end has come. RFC 9114 §5.2. */
  get takesRequests(): boolean {
    return !this.isLeaving && !this.session.destroyed && !this.session.closing;
  }

  /** Connects without looking at the certificate. */
  static async connect(port: number, serverName = "localhost", extra: Record<string, unknown> = {}): Promise<H3Client> {
    process.emitWarning = () => {};
    const quic = await import("node:quic");
    const session = await quic.connect(`127.0.0.1:${port}`, {
      alpn: "h3",
      servername: serverName,
      rejectUnauthorized: false,
      verifyPeer: "manual",
      ...extra,
    });
    process.emitWarning = emitWarning;
    session.onerror = () => {};
    session.closed.catch(() => {});
    await session.opened;
    return new H3Client(session, `${serverName}:${port}`);
  }

  /** The alternative names of the certificate that the server has shown, as they stand in it. */
  get serverName(): string {
    return this.session.peerCertificate?.subjectAltName ?? "";
  }

  get closed(): Promise<void> {
    return this.session.closed;
  }

  /** Sends a request and waits for the whole answer. @throws when the stream is reset */
  async ask(
    method: string,
    path: string,
    fields: Record<string, string> = {},
    sending: H3Sending = {},
  ): Promise<H3Reply> {
    const stream = await this.session.createBidirectionalStream();
    stream.closed.catch(() => {});
    let head: H3Reply["fields"] = {};
    let trailers: H3Reply["trailers"] = {};
    stream.onheaders = (got) => {
      head = got;
      sending.onHead?.();
    };
    stream.ontrailers = (got) => {
      trailers = got;
    };
    const pseudo = { ":method": method, ":scheme": "https", ":authority": this.authority, ":path": path };
    const { pieces, trailers: sent, abandons } = sending;
    stream.sendHeaders({ ...pseudo, ...fields }, { terminal: pieces === undefined && sent === undefined });
    const writing = pieces === undefined && sent === undefined ? Promise.resolve() : this.write(stream, sending);
    const body: Uint8Array[] = [];
    for await (const batch of stream) {
      body.push(...batch);
      if (sending.onPiece !== undefined) for (const piece of batch) sending.onPiece(piece);
    }
    if (abandons !== true) await writing.catch(() => {});
    // Trailers are told of a moment behind the body, in one of the next turns of the event loop.
    for (let turn = 0; turn < TURNS && Object.keys(trailers).length === 0; turn++) await Bun.sleep(1);
    return { status: Number(head[":status"]), fields: head, body: Buffer.concat(body), trailers };
  }

  private async write(
    stream: Awaited<ReturnType<QuicSession["createBidirectionalStream"]>>,
    { pieces, trailers, abandons }: H3Sending,
  ): Promise<void> {
    const { writer } = stream;
    for await (const piece of pieces ?? []) {
      while (!writer.writeSync(piece)) {
        if ((await (writer as unknown as Drainable)[DRAINABLE]!()) !== true) return;
      }
    }
    if (abandons === true) {
      stream.destroy(undefined, { code: 0x10c });
      return;
    }
    if (trailers !== undefined) stream.onwanttrailers = () => stream.sendTrailers(trailers);
    writer.endSync();
  }

  /** Sends a head that is the whole request. @returns its stream, whose answer nobody reads */
  async begin(path: string): Promise<QuicStream> {
    const stream = await this.session.createBidirectionalStream();
    stream.closed.catch(() => {});
    stream.onerror = () => {};
    stream.sendHeaders(
      { ":method": "GET", ":scheme": "https", ":authority": this.authority, ":path": path },
      { terminal: true },
    );
    return stream;
  }

  /** Ends the connection at once, and tells the server with CONNECTION_CLOSE. */
  leave(): void {
    this.session.destroy(new Error("the client leaves"), { code: 0x100, type: "application" } as never);
  }

  /** Ends the connection at once. */
  close(): void {
    this.session.destroy();
  }
}
