import type { Fault } from "../../core/fault.ts";

/** What a parser gives back if it needs more bytes. Offsets are 0 and up, failures are below this. */
export const NEED_MORE = -1;

/** A fault as a parser's outcome. */
export function failure(fault: Fault): number {
  return -1 - fault;
}

/** The fault in an outcome below NEED_MORE. */
export function faultOf(outcome: number): Fault {
  return (-1 - outcome) as Fault;
}
