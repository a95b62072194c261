import type { Exchange } from "../message/exchange.ts";
import type { TunnelEnd } from "../message/ports.ts";
import type { InputBuffer } from "../net/socket-buffers.ts";
import { grantsUpgrade } from "../proto/h1/upgrade-tokens.ts";
import type { UpstreamLink } from "./origin-socket.ts";

/** The origin's end of a tunnel, after its 101: bytes go through as they come. RFC 9110 §7.8. */
export class OriginTunnel implements TunnelEnd {
  private readonly link: UpstreamLink;
  private readonly onOver: () => void;
  private client: TunnelEnd | null = null;
  private over = false;

  /** Whether the 101 in the response's fields grants what the request asked for. */
  static isGranted({ request, response }: Exchange): boolean {
    return request.upgrade && grantsUpgrade(request.headers, response.headers);
  }

  /** @param onOver closes the connection */
  constructor(link: UpstreamLink, onOver: () => void) {
    this.link = link;
    this.onOver = onOver;
  }

  /** Joins both ends: what the origin sent after its 101 goes through first. */
  join(client: TunnelEnd, input: InputBuffer): void {
    this.client = client;
    const { bytes, from, to } = input;
    input.lend();
    input.clear();
    if (to > from) this.onData(bytes, from, to);
    client.tunnelStart();
  }

  // ── what the origin does ──────────────────────────────────────────────────────────────────────────────────────

  onData(bytes: Uint8Array, from: number, to: number): void {
    if (!this.client!.tunnelWrite(bytes, from, to)) this.link.hold();
  }

  onEnd(): void {
    this.client?.tunnelEnd();
  }

  onDrain(): void {
    this.client?.tunnelWritable();
  }

  /** The origin is gone. */
  onLost(): void {
    if (this.over) return;
    this.over = true;
    this.client?.tunnelClose();
  }

  // ── what the client does ──────────────────────────────────────────────────────────────────────────────────────

  tunnelStart(): void {}

  tunnelWrite(bytes: Uint8Array, from: number, to: number): boolean {
    return this.over || this.link.writer!.write(bytes, from, to);
  }

  tunnelEnd(): void {
    if (!this.over) this.link.endWriting();
  }

  tunnelWritable(): void {
    this.link.release();
  }

  tunnelClose(): void {
    if (this.over) return;
    this.over = true;
    this.onOver();
  }
}
