import { dlopen } from "bun:ffi";

/** Makes the kernel acknowledge what has come in on a socket now, and not with the next bytes that go out. */
export type Acknowledge = (fd: number) => void;

/**
 * A client that has not switched off Nagle's algorithm holds its first request back until its part of a TLS 1.3 handshake is
 * acknowledged: the kernel would do that with our next bytes, which are the answer, or 40 ms later. tcp(7), TCP_QUICKACK.
 * The system library is loaded at the first call in a thread.
 * @returns what does nothing where the system library cannot be called
 */
export function loadAcknowledge(): Acknowledge {
  loaded ??= load();
  return loaded;
}

function load(): Acknowledge {
  if (process.platform !== "linux") return () => {};
  try {
    const { setsockopt } = dlopen("libc.so.6", {
      setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
    }).symbols;
    const on = new Int32Array([1]);
    return (fd) => {
      if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, on, on.byteLength);
    };
  } catch {
    return () => {};
  }
}

let loaded: Acknowledge | null = null;

const IPPROTO_TCP = 6;
const TCP_QUICKACK = 12;
