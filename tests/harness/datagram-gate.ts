import { createSocket, type Socket } from "node:dgram";
import type { AddressInfo } from "node:net";

/** A line between one client and a UDP server on which a test holds or drops what it likes. */
export class DatagramGate {
  /** Whether what the client sends waits for `pass`. */
  holdsClient = false;
  /** Whether what the server sends is lost. */
  losesServer = false;
  /** Datagrams of the server that were lost. */
  lost = 0;
  /** Whether what the client sends waits for `pass` as soon as the server has answered it. */
  holdsSecondFlight = false;
  private readonly serverPort: number;
  private readonly near: Socket = createSocket("udp4");
  private readonly far: Socket = createSocket("udp4");
  private readonly held: Buffer[] = [];
  private client: { readonly port: number; readonly address: string } | null = null;

  private constructor(serverPort: number) {
    this.serverPort = serverPort;
    this.near.on("message", (datagram, { port, address }) => {
      this.client = { port, address };
      if (this.holdsClient) this.held.push(datagram);
      else this.far.send(datagram, serverPort, "127.0.0.1");
    });
    this.far.on("message", (datagram) => {
      if (this.losesServer) this.lost++;
      else if (this.client !== null) {
        if (this.holdsSecondFlight) this.holdsClient = true;
        this.near.send(datagram, this.client.port, this.client.address);
      }
    });
    // A port at which nobody listens any more.
    this.far.on("error", () => {});
  }

  static async start(serverPort: number): Promise<DatagramGate> {
    const gate = new DatagramGate(serverPort);
    for (const socket of [gate.near, gate.far]) {
      await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    }
    return gate;
  }

  get port(): number {
    return (this.near.address() as AddressInfo).port;
  }

  /** Datagrams of the client that wait. */
  get waiting(): number {
    return this.held.length;
  }

  /** Lets what has waited go on, and all that comes. */
  pass(): void {
    this.holdsClient = false;
    this.holdsSecondFlight = false;
    for (const datagram of this.held.splice(0)) this.far.send(datagram, this.serverPort, "127.0.0.1");
  }

  stop(): void {
    this.near.close();
    this.far.close();
  }
}
