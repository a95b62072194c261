import { connect } from "node:net";
import { PATIENCE_MS } from "./byte-socket.ts";

/**
 * Sends bytes from another address of this machine, such as 127.0.0.2, each piece by itself, and gives all that comes
 * until the peer ends the connection; the request must ask for that with `Connection: close`.
 */
export function exchangeFrom(address: string, port: number, ...pieces: (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, localAddress: address });
    const timer = setTimeout(() => socket.destroy(new Error(`no end of ${JSON.stringify(received)}`)), PATIENCE_MS);
    let received = "";
    socket.on("connect", async () => {
      socket.setNoDelay(true);
      for (const piece of pieces) {
        socket.write(typeof piece === "string" ? Buffer.from(piece, "latin1") : piece);
        if (pieces.length > 1) await Bun.sleep(5);
      }
    });
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", (error) => ((error as { code?: string }).code === "ECONNRESET" ? undefined : reject(error)));
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(received);
    });
  });
}

/** The status of the answer in what `exchangeFrom` gave; 0 where there is none. */
export function statusOf(received: string): number {
  return Number(/^HTTP\/1\.[01] (\d{3}) /.exec(received)?.[1] ?? 0);
}
