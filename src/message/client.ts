/** Who is at the other end of a client connection; one object a connection. */
export class ClientPeer {
  /**
   * Where the connection comes from, without a port: what a PROXY header told, else the TCP peer. IPv4-mapped addresses
   * are written as IPv4.
   */
  readonly address: string;
  readonly tls: boolean;
  /** Port that the client connected to. */
  readonly localPort: number;
  /** The TCP peer: the load balancer, where a PROXY header told of somebody behind it; else the same as `address`. */
  readonly socketAddress: string;

  private lines: Buffer | null = null;

  /** @param toldAddress what a PROXY header told; "" where there was none, or it told nothing */
  constructor(socketAddress: string, tls: boolean, localPort: number, toldAddress = "") {
    this.socketAddress = unmapped(socketAddress);
    this.address = toldAddress === "" ? this.socketAddress : unmapped(toldAddress);
    this.tls = tls;
    this.localPort = localPort;
  }

  /**
   * The lines that tell an origin who the client is, where no trusted proxy stands between, up to the name of the host that
   * it asked for. Made once a connection.
   */
  get forwardLines(): Buffer {
    this.lines ??= Buffer.from(
      `X-Forwarded-For: ${this.address}\r\nX-Real-IP: ${this.address}\r\nX-Forwarded-Proto: ${this.tls ? "https" : "http"}\r\nX-Forwarded-Host: `,
    );
    return this.lines;
  }

  /** Whether the connection comes from the TCP peer itself. */
  isDirect(): boolean {
    return this.address === this.socketAddress;
  }
}

/** Whether an address is that of this machine. */
export function isLoopback(address: string): boolean {
  return address.startsWith("127.") || address === "::1";
}

function unmapped(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

export const NO_CLIENT: ClientPeer = new ClientPeer("", false, 0);
