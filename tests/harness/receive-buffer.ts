import { dlopen, FFIType } from "bun:ffi";

const SOL_SOCKET = 1;
const SO_RCVBUF = 8;

/** How many bytes the kernel takes for a socket before they are read; it doubles the number. socket(7), on Linux. */
export function setReceiveBuffer(fd: number, bytes: number): void {
  const { i32, u32, ptr } = FFIType;
  const library = dlopen("libc.so.6", { setsockopt: { args: [i32, i32, i32, ptr, u32], returns: i32 } });
  const failed = library.symbols.setsockopt(fd, SOL_SOCKET, SO_RCVBUF, new Int32Array([bytes]), 4);
  library.close();
  if (failed !== 0) throw new Error(`the kernel refuses a buffer of ${bytes} bytes`);
}
