// Modules of the runtime that many configurations never use. Loaded at their first use: together they take a tenth of the time in
// which a worker thread starts.

let net: typeof import("node:net") | null = null;
let tls: typeof import("node:tls") | null = null;

/** `node:net`. */
export function lateNet(): typeof import("node:net") {
  net ??= require("node:net") as typeof import("node:net");
  return net;
}

/** `node:tls`. */
export function lateTls(): typeof import("node:tls") {
  tls ??= require("node:tls") as typeof import("node:tls");
  return tls;
}
