import type { Exchange, ReplyTap } from "../../message/exchange.ts";
import { countedStatus } from "./counters-tap.ts";

/** Counts requests by who sent them. */
export interface PeerTally {
  /** @param status 100 to 599 */
  onPeerEnded(peer: string, status: number): void;
}

/** Counts what comes in from the mesh, by the identity of the client. docs/sidecar.md#who-asks */
export class PeerTap implements ReplyTap {
  readonly name = "peers";
  private readonly tally: PeerTally;
  private readonly peerOf: (ex: Exchange) => string;

  /** @param peerOf the name of who has sent a request */
  constructor(tally: PeerTally, peerOf: (ex: Exchange) => string) {
    this.tally = tally;
    this.peerOf = peerOf;
  }

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    this.tally.onPeerEnded(this.peerOf(ex), countedStatus(ex));
  }
}
