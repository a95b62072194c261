import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { Method } from "../../message/request-head.ts";

/**
 * Refuses what no server behind a sidecar is asked: CONNECT and TRACE, which are 405 everywhere, and a target
 * that is no path, such as the `*` of OPTIONS.
 * @returns whether it did
 */
export function refuseUnroutable(ex: Exchange): boolean {
  const { request } = ex;
  if (request.method === Method.Connect || request.method === Method.Trace) {
    ex.detail = ex.route!.allow;
    ex.sink.abort(ex, Fault.MethodNotAllowed);
    return true;
  }
  if (request.path().startsWith("/")) return false;
  ex.sink.abort(ex, Fault.NotFound);
  return true;
}
