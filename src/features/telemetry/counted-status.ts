import { faultRow } from "../../core/fault.ts";
import { CLIENT_CLOSED_STATUS } from "../../core/status.ts";
import type { Exchange } from "../../message/exchange.ts";

/**
 * The status that an exchange which is over is counted and logged under, from 100 to 599: that of the reply, else that
 * of the fault it ended with, else 499. A status beyond 599 means 5xx (RFC 9110 §15) and is counted as 599.
 */
export function countedStatus(ex: Exchange): number {
  const status = ex.reply.status;
  if (status >= 100) return Math.min(status, 599);
  const refused = faultRow(ex.fault).status;
  return refused >= 100 ? refused : CLIENT_CLOSED_STATUS;
}
