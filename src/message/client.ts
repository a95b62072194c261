/** Who is at the other end of a client connection; one object a connection. */
export class ClientPeer {
  /** Address of the TCP peer, without a port; IPv4-mapped addresses are written as IPv4. */
  readonly address: string;
  readonly tls: boolean;
  /** Port that the client connected to. */
  readonly localPort: number;

  private lines: Buffer | null = null;

  constructor(address: string, tls: boolean, localPort: number) {
    this.address = address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
    this.tls = tls;
    this.localPort = localPort;
  }

  /** The lines that tell an origin who the client is, where no trusted proxy stands between. Made once a connection. */
  get forwardLines(): Buffer {
    this.lines ??= Buffer.from(
      `X-Forwarded-For: ${this.address}\r\nX-Real-IP: ${this.address}\r\nX-Forwarded-Proto: ${this.tls ? "https" : "http"}\r\n`,
    );
    return this.lines;
  }

  /** Whether the peer is this machine. */
  isLoopback(): boolean {
    return this.address.startsWith("127.") || this.address === "::1";
  }
}

export const NO_CLIENT: ClientPeer = new ClientPeer("", false, 0);
