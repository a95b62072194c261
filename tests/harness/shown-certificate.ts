import type { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import { PATIENCE_MS } from "./byte-socket.ts";

/** The certificate that a loopback port shows to a client that asks for this name, and for these protocols. */
export function shownCertificate(
  port: number,
  servername: string,
  protocols: readonly string[] = ["http/1.1"],
): Promise<X509Certificate> {
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
  const options = { host: "127.0.0.1", port, servername, ALPNProtocols: [...protocols], rejectUnauthorized: false };
  const socket = connect(options, () => {
    resolve(socket.getPeerX509Certificate()!);
    socket.destroy();
  });
  socket.on("error", reject);
  // A server that ends the connection within the handshake need not be an error.
  socket.on("close", () => reject(new Error("closed within the handshake")));
  socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error("no handshake in time")));
  return promise;
}
