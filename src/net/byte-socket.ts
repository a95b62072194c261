/** What this project uses of a Bun TCP or TLS socket. */
export interface ByteSocket {
  /** @returns bytes accepted, 0 when the kernel takes none now, -1 when the socket is closed */
  write(data: Uint8Array, byteOffset?: number, byteLength?: number): number;
  /** Closes in order; TLS says so first. */
  end(): unknown;
  /** Closes in order with fewer system calls than `end`, and without a word of TLS. */
  close(): unknown;
  /** Sends FIN and keeps reading. */
  shutdown(halfClose?: boolean): unknown;
  /** Resets the connection. */
  terminate(): unknown;
  pause(): unknown;
  resume(): unknown;
  /** Undefined if the peer was gone before the connection was accepted. */
  readonly remoteAddress: string | undefined;
  readonly localPort: number;
  /** Of the other end; undefined if a test has none. */
  readonly remotePort?: number | undefined;
  /** Of this end; undefined if the connection is gone, and in tests without one. */
  readonly localAddress?: string | undefined;
  /** The descriptor; -1 once it is closed. */
  readonly fd: number;
}
