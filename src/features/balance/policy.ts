import type { Exchange } from "../../message/exchange.ts";
import type { BalancedTarget } from "./balanced-target.ts";

/** Chooses among targets that are equally willing: the backups have a policy of their own. */
export interface Policy {
  /**
   * @param tried bits of the targets that may not be chosen
   * @returns null when none of the others may be used now
   */
  pick(ex: Exchange, tried: number): BalancedTarget | null;
}

/** A number from 0 up to 1, never 1. */
export type RandomNumber = () => number;
