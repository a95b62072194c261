import { Fault } from "../core/fault.ts";
import type { ClientPeer } from "../message/client.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { EdgeContext } from "./edge-context.ts";
import { H1Connection } from "./h1-connection.ts";
import { Preface, sniffPreface } from "./sniff.ts";

/** Who goes on with a connection that turns out to be one of HTTP/2. */
export interface Http2Heir {
  /** @param chunk all that has come so far */
  http2Begun(socket: ByteSocket, peer: ClientPeer, chunk: Uint8Array): void;
}

/**
 * A connection of HTTP/1.1 whose client may yet begin with HTTP/2's preface. RFC 9113 §3.4: no parser of HTTP/1.1 lets
 * that pass, so it is looked for where a first head is refused, and the choice costs HTTP/1.1 nothing.
 */
export class OpenConnection extends H1Connection {
  private readonly heir: Http2Heir;
  private isHttp2 = false;

  constructor(socket: ByteSocket, ctx: EdgeContext, peer: ClientPeer, heir: Http2Heir) {
    super(socket, ctx, peer);
    this.heir = heir;
  }

  override onData(chunk: Uint8Array): void {
    super.onData(chunk);
    // Behind all that the connection does for HTTP/1.1, whose exceptions are its own.
    if (this.isHttp2) this.handOver();
  }

  protected override refuse(fault: Fault): void {
    const preface = fault === Fault.UnsupportedVersion && !this.hasServed ? sniffPreface(this.input) : Preface.None;
    if (preface === Preface.Whole) this.isHttp2 = true;
    // The rest is still to come: the head's own time runs, and each piece leads here again.
    else if (preface === Preface.None || this.life.clientEnded) super.refuse(fault);
  }

  private handOver(): void {
    const { input, life } = this;
    const chunk = input.bytes.subarray(input.from, input.to);
    this.isHttp2 = false;
    this.release();
    input.clear();
    life.handOver();
    this.heir.http2Begun(life.socket, this.peer, chunk);
  }
}
