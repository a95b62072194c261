import { createHash } from "node:crypto";

const PIECE = 1_048_576;

/** A body of so many mebibytes that is made while it is sent, and, once it has been, the SHA-256 of it in hex. */
export function randomPieces(mebibytes: number): { readonly stream: ReadableStream<Uint8Array>; digest(): string } {
  const hash = createHash("sha256");
  // Each piece differs in its first bytes only: to make 300 MB of chance would take longer than to send them.
  // The same in each run: of chance, one body in 150 has what the firewall takes for an attack.
  const piece = createHash("shake256", { outputLength: PIECE }).update("pieces").digest();
  let left = mebibytes;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left === 0) return controller.close();
      piece.writeUInt32BE(left--);
      hash.update(piece);
      controller.enqueue(Uint8Array.from(piece));
    },
  });
  return { stream, digest: () => hash.digest("hex") };
}
