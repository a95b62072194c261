import type { Exchange } from "../../message/exchange.ts";
import type { Upstream } from "../../message/upstream.ts";

/** One place where a route's requests can go. */
export interface Target {
  readonly upstream: Upstream;
  readonly weight: number;
  /** Put before the forwarded path: empty, or `/api`. */
  readonly basePath: Buffer;
}

/** Chooses the target of an exchange; balancing stands behind it. */
export interface TargetChoice {
  /** @returns null when no target may be used now */
  choose(ex: Exchange): Target | null;
}
