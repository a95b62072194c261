/** TLS handshakes that one listener of one worker has under way; a new one beyond that ends the oldest. */
const MAX_HANDSHAKES = 1024;

/** A handshake that can be given up. */
export interface PendingHandshake {
  giveUp(): void;
}

/**
 * The handshakes that one listener has under way. If there are too many, the oldest is given up: clients that mean it
 * are done within a round trip or two, those that only hold connections open are not.
 */
export class HandshakeSet {
  private readonly pending: Set<PendingHandshake> = new Set();

  add(handshake: PendingHandshake): void {
    if (this.pending.size >= MAX_HANDSHAKES) {
      const oldest = this.pending.values().next().value!;
      this.pending.delete(oldest);
      oldest.giveUp();
    }
    this.pending.add(handshake);
  }

  delete(handshake: PendingHandshake): void {
    this.pending.delete(handshake);
  }
}
