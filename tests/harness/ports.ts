/**
 * A loopback port that is free; each call gives another one. It lies below those that kernels choose by themselves (from
 * 32768 on Linux, from 49152 elsewhere), so that nobody's outgoing connection and nobody's listener on port 0 takes it
 * before it is used, or while its owner is away: a connect to such a port that nobody listens on is refused, always.
 */
export function freePort(): number {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (given.has(port) || !isFree(port)) continue;
    given.add(port);
    return port;
  }
}

// The lanes of `scripts/test` run beside each other: each has ports of its own.
const LANES = 8;
const LANE = process.env.EDGE_TEST_LANE;
const COUNT = LANE === undefined ? 12_000 : 12_000 / LANES;
const FIRST = 20_000 + (Number(LANE ?? 0) % LANES) * COUNT;
const given = new Set<number>();

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
