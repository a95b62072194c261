import type { SeededRandom } from "../harness/seeded-random.ts";
import type { FleetScene } from "./fleet-simulation.ts";

/** Four gateways with two workers each, a limit of 400 a second, and 1,000 requests a second. */
export const FOUR = { nodes: 4, workers: 2, limitPerS: 400, burst: 400, offeredPerS: 1000, seconds: 20, warmUpS: 5 };

/** A thousand gateways of one worker, and a million requests a second. */
export const THOUSAND = { nodes: 1000, workers: 1, offeredPerS: 1_000_000 };

/** Any worker, any of so many keys. */
export function anywhere(workers: number, keys: number): FleetScene["next"] {
  return (random) => ({ worker: below(random, workers), key: below(random, keys) });
}

/** Nodes with shares of their own, in hundredths. */
export function unequal(shares: readonly number[], workers: number): FleetScene["next"] {
  return (random) => {
    let at = below(random, 100);
    let node = 0;
    while (at >= shares[node]!) at -= shares[node++]!;
    return { worker: node * workers + below(random, workers), key: 0 };
  };
}

/**
 * Clients whose connections stay at one worker, some of them much busier than others: half of the requests come from a
 * tenth of the clients.
 */
export function sticky(workers: number, clients: number): FleetScene["next"] {
  return (random: SeededRandom) => {
    const key = below(random, 2) === 0 ? below(random, clients / 10) : below(random, clients);
    return { worker: (key * 7919) % workers, key };
  };
}

function below(random: SeededRandom, limit: number): number {
  return Math.floor(random.next() * limit);
}
