import type { Exchange } from "./exchange.ts";

/** The slots of a route's targets: how many exchanges may be under way to each at a time. docs/pressure.md#concurrency */
export interface SlotGate {
  hasRoom(lane: number): boolean;
  /** Puts an exchange into a lane, out of the one in which it was. @returns false if there is no room */
  moveTo(ex: Exchange, lane: number): boolean;
  /** The exchange is over there. If it came in at the gate, it keeps its slot to its end. */
  leave(ex: Exchange, lane: number): void;
  /** @param isUsable whether requests may go to the target of a lane now */
  useLanes(isUsable: (lane: number) => boolean): void;
}
