import { switchOn } from "./system-socket.ts";

/**
 * Makes the kernel acknowledge what has come in on a socket now, and not with the next bytes that go out. A client that has not
 * switched off Nagle's algorithm holds its first request back until its part of a TLS 1.3 handshake is acknowledged: the kernel
 * would do that with our next bytes, which are the response, or 40 ms later. tcp(7), TCP_QUICKACK.
 * @param fd the socket's descriptor; -1 if it is closed
 */
export function acknowledge(fd: number): void {
  switchOn(fd, TCP_QUICKACK);
}

/**
 * Keeps back the last segment of what is written from now on, so that it leaves together with the FIN: one packet less for
 * both ends. To be followed by `shutdown`; what was kept back leaves after 200 ms at the latest. tcp(7), TCP_CORK.
 * @param fd the socket's descriptor; -1 if it is closed
 * @returns false if nothing was changed, and the FIN goes out on its own
 */
export function holdLastSegment(fd: number): boolean {
  return switchOn(fd, TCP_CORK);
}

const TCP_CORK = 3;
const TCP_QUICKACK = 12;
