import { dlopen, FFIType } from "bun:ffi";

/**
 * Makes the kernel acknowledge what has come in on a socket now, and not with the next bytes that go out. A client that has not
 * switched off Nagle's algorithm holds its first request back until its part of a TLS 1.3 handshake is acknowledged: the kernel
 * would do that with our next bytes, which are the answer, or 40 ms later. tcp(7), TCP_QUICKACK.
 * @param fd the socket's descriptor; -1 where it is closed
 */
export function acknowledge(fd: number): void {
  switchOn(fd, TCP_QUICKACK);
}

/**
 * Keeps back the last segment of what is written from now on, so that it leaves together with the FIN: one packet less for
 * both ends. To be followed by `shutdown`; what was kept back leaves after 200 ms at the latest. tcp(7), TCP_CORK.
 * @param fd the socket's descriptor; -1 where it is closed
 * @returns false where nothing was changed, and the FIN goes out on its own
 */
export function holdLastSegment(fd: number): boolean {
  return switchOn(fd, TCP_CORK);
}

type SwitchOn = (fd: number, option: number) => boolean;

/** The system library is loaded at the first call in a thread. @returns false where it cannot be called, or the kernel refuses */
function switchOn(fd: number, option: number): boolean {
  if (fd < 0) return false;
  loaded ??= load();
  return loaded(fd, option);
}

function load(): SwitchOn {
  if (process.platform !== "linux") return () => false;
  const { i32, u32, ptr } = FFIType;
  try {
    const { setsockopt } = dlopen("libc.so.6", {
      setsockopt: { args: [i32, i32, i32, ptr, u32], returns: i32 },
    }).symbols;
    const on = new Int32Array([1]);
    return (fd, option) => setsockopt(fd, IPPROTO_TCP, option, on, on.byteLength) === 0;
  } catch {
    return () => false;
  }
}

let loaded: SwitchOn | null = null;

const IPPROTO_TCP = 6;
const TCP_CORK = 3;
const TCP_QUICKACK = 12;
