import { Fault } from "../../core/fault.ts";
import { type Exchange, Verdict } from "../../message/exchange.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Method } from "../../message/request-head.ts";
import type { NetworkSet } from "../../shared/cidr.ts";
import type { PurgeOrder } from "./response-cache.ts";
import { tagsOf } from "./tags.ts";

/** Takes responses out, as an order says or those of a request's resource. @returns how many */
export interface Purger {
  purge(order: PurgeOrder): number;
  purgeResource(ex: Exchange, isSoft: boolean): number;
}

/**
 * `PURGE /path` from clients that may: takes out all responses of the resource, or those with the tags that the request names in
 * `Cache-Tag` or `Surrogate-Key`. docs/cache.md#the-method-purge
 */
export class PurgeRequests {
  private readonly clients: NetworkSet;
  private readonly purger: Purger;

  constructor(clients: NetworkSet, purger: Purger) {
    this.clients = clients;
    this.purger = purger;
  }

  /** @returns null for a request of another method */
  run(ex: Exchange): Verdict | null {
    const { request } = ex;
    if (request.method !== Method.Other || request.methodText() !== "PURGE") return null;
    if (!this.clients.has(ex.clientIp)) {
      ex.sink.abort(ex, Fault.AccessDenied);
      return Verdict.Done;
    }
    const tags = [...tagsOf(request.headers)];
    const isSoft = isAskedSoftly(ex);
    const purged =
      tags.length > 0 ? this.purger.purge({ kind: "tags", tags, isSoft }) : this.purger.purgeResource(ex, isSoft);
    const fields = [
      ["Content-Type", "application/json"],
      ["Cache-Control", "no-store"],
    ] as const;
    ex.sink.fixed(ex, new PrebuiltResponse(200, fields, JSON.stringify({ purged })));
    return Verdict.Done;
  }
}

/** `Soft-Purge: 1`, or the name that it has at another. */
function isAskedSoftly({ request: { headers } }: Exchange): boolean {
  for (let i = 0; i < headers.count; i++) {
    if (SOFTLY.test(headers.nameText(i)) && headers.valueText(i) === "1") return true;
  }
  return false;
}

const SOFTLY = /^(?:fastly-)?soft-purge$/i;
