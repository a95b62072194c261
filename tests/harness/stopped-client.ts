import type { RawClient } from "./raw-client.ts";

/** Milliseconds after which a client that can send nothing more counts as stopped. */
const STOPPED_MS = 1000;
/** Bytes after which it never is. */
const ENDLESS_BYTES = 100_000_000;

/** Sends a block again and again until the peer takes no more. @returns bytes that were sent: ENDLESS_BYTES and more where it never stops */
export async function sendUntilStopped(client: RawClient, block: Uint8Array): Promise<number> {
  let sent = 0;
  for (let isTaken = true; isTaken && sent < ENDLESS_BYTES; sent += block.length) {
    client.send(block);
    isTaken = await client.flushed(STOPPED_MS).then(
      () => true,
      () => false,
    );
  }
  return sent;
}
