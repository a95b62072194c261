import { readdirSync } from "node:fs";
import { ignorePeerErrors } from "./system-socket.ts";

/** What this project uses of the runtime's UDP sockets. */
export interface UdpSocket {
  readonly port: number;
  /** @returns false if the kernel takes none now @throws if it never takes this one */
  send(data: Uint8Array): boolean;
  close(): void;
}

/** A socket that takes datagrams of any client, and sends to any. */
export interface UdpListener {
  readonly port: number;
  send(data: Uint8Array, port: number, address: string): boolean;
  close(): void;
}

/** Takes datagrams. The bytes are the receiver's. */
type OnDatagram = (data: Buffer, port: number, address: string) => void;

/**
 * Receives datagrams at an address, which several workers share: each client's go to one of them.
 * @throws when the address cannot be had
 */
export async function listenUdp(hostname: string, port: number, onDatagram: OnDatagram): Promise<UdpListener> {
  const options = {
    hostname,
    port,
    flags: REUSE_PORT,
    binaryType: "buffer",
    socket: {
      data: (_socket: unknown, data: Buffer, from: number, address: string) => onDatagram(data, from, address),
      // Of what was sent to clients that are gone: nothing is to be done.
      error(): void {},
    },
  };
  const listener = (await Bun.udpSocket(options as never)) as unknown as UdpListener;
  separatePeers(listener.port);
  return listener;
}

/**
 * Keeps clients at a UDP port apart: a client whose port is closed costs no other client a datagram. The runtime asks the kernel for errors of
 * peers, and neither tells the descriptors of its sockets nor takes the wish back. docs/security.md#shared-resources-and-their-bounds
 * @param port that this process listens on, with one socket or several
 */
export function separatePeers(port: number): void {
  if (process.platform !== "linux") return;
  for (const fd of readdirSync("/proc/self/fd")) ignorePeerErrors(Number(fd), port);
}

/**
 * A socket that sends to one address, and gets datagrams of that alone.
 * @param onRefused learns that no one listens there
 * @throws when there is none to be had
 */
export async function connectUdp(
  hostname: string,
  port: number,
  onDatagram: OnDatagram,
  onRefused: () => void,
): Promise<UdpSocket> {
  const options = {
    connect: { hostname, port },
    binaryType: "buffer",
    socket: {
      data: (_socket: unknown, data: Buffer, from: number, address: string) => onDatagram(data, from, address),
      error: () => onRefused(),
    },
  };
  return (await Bun.udpSocket(options as never)) as unknown as UdpSocket;
}

/** SO_REUSEPORT, as the runtime calls it; missing in its types. */
const REUSE_PORT = 4;
