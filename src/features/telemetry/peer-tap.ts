import type { PeerRole } from "../../memory/counter-table.ts";
import type { Exchange, ResponseTap } from "../../message/exchange.ts";
import { countedStatus } from "./counters-tap.ts";

/** Counts requests by who sent them. */
export interface PeerTally {
  /** @param status 100 to 599 */
  onPeerEnded(peer: string, status: number, role: PeerRole): void;
}

/** Counts what comes in from the mesh by the identity of the client, and what goes out by that of the server. docs/sidecar.md#who-asks */
export class PeerTap implements ResponseTap {
  readonly name = "peers";
  private readonly tally: PeerTally;
  private readonly role: PeerRole;
  private readonly peerOf: (ex: Exchange) => string;

  /** @param peerOf the name of the peer of an exchange; "" if it is not counted */
  constructor(tally: PeerTally, role: PeerRole, peerOf: (ex: Exchange) => string) {
    this.tally = tally;
    this.role = role;
    this.peerOf = peerOf;
  }

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    const peer = this.peerOf(ex);
    if (peer !== "") this.tally.onPeerEnded(peer, countedStatus(ex), this.role);
  }
}
