/**
 * Places for all who wait for a helper: so many in all, and a quarter more for clients that have few of them, so that one client which
 * has taken all leaves others a place.
 */
export class ClientShares {
  private readonly most: number;
  private readonly taken: Map<string, number> = new Map();
  private count = 0;

  constructor(most: number) {
    this.most = most;
  }

  hasRoom(client: string): boolean {
    const { most, count, taken } = this;
    return count < most || (count < most * RESERVE && (taken.get(client) ?? 0) < most * FEW);
  }

  take(client: string): void {
    this.count++;
    this.taken.set(client, (this.taken.get(client) ?? 0) + 1);
  }

  giveBack(client: string): void {
    this.count--;
    const left = this.taken.get(client)! - 1;
    if (left === 0) this.taken.delete(client);
    else this.taken.set(client, left);
  }
}

/** Of the places that there are for all. */
const RESERVE = 5 / 4;
const FEW = 1 / 16;
