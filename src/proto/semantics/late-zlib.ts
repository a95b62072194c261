let zlib: typeof import("node:zlib") | null = null;

/** `node:zlib`, loaded at its first use: many configurations never need it, and it takes its part of a worker's start. */
export function lateZlib(): typeof import("node:zlib") {
  zlib ??= require("node:zlib") as typeof import("node:zlib");
  return zlib;
}
