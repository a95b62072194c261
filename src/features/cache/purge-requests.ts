import { Fault } from "../../core/fault.ts";
import type { NetworkSet } from "../../core/network-set.ts";
import { type Exchange, Verdict } from "../../message/exchange.ts";
import type { Held } from "../../message/ports.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { PurgeOrder } from "../../message/purge-order.ts";
import { Method } from "../../message/request-head.ts";
import { tagsOf } from "./tags.ts";

/** Takes responses out, as an order says or those of a request's resource. */
interface Purger {
  /** @param done learns how many, now or later */
  purge(order: PurgeOrder, done: (purged: number) => void): void;
  /** @returns how many */
  purgeResource(ex: Exchange, isSoft: boolean): number;
}

/** Is told of each purge. @param from the client's address */
export type PurgeNote = (from: string, order: PurgeOrder, purged: number) => void;

/**
 * `PURGE /path` from clients that may: takes out all responses of the resource, or those with the tags that the request names in
 * `Cache-Tag` or `Surrogate-Key`. docs/cache.md#the-method-purge
 */
export class PurgeRequests {
  private readonly clients: NetworkSet;
  private readonly purger: Purger;
  private readonly onPurged: PurgeNote;

  constructor(clients: NetworkSet, purger: Purger, onPurged: PurgeNote) {
    this.onPurged = onPurged;
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
    if (tags.length === 0) {
      const purged = this.purger.purgeResource(ex, isSoft);
      const [authority, target] = [request.authority(), request.target()];
      this.onPurged(ex.clientIp, { kind: "uri", authority, target, isSoft }, purged);
      ex.sink.fixed(ex, saying(purged));
      return Verdict.Done;
    }
    const pending = new PendingPurge(ex);
    const { clientIp } = ex;
    const order: PurgeOrder = { kind: "tags", tags, isSoft };
    this.purger.purge(order, (purged) => {
      this.onPurged(clientIp, order, purged);
      pending.give(purged);
    });
    return Verdict.Done;
  }
}

/** A response on its way, unless the client leaves. */
class PendingPurge implements Held {
  private ex: Exchange | null;

  constructor(ex: Exchange) {
    this.ex = ex;
    ex.cacheUse = this;
  }

  give(purged: number): void {
    const { ex } = this;
    if (ex === null) return;
    ex.cacheUse = null;
    this.ex = null;
    ex.sink.fixed(ex, saying(purged));
  }

  /** The exchange is over. */
  release(): void {
    this.ex = null;
  }
}

function saying(purged: number): PrebuiltResponse {
  const fields = [
    ["Content-Type", "application/json"],
    ["Cache-Control", "no-store"],
  ] as const;
  return new PrebuiltResponse(200, fields, JSON.stringify({ purged }));
}

/** `Soft-Purge: 1`, or the name that it has at another. */
function isAskedSoftly({ request: { headers } }: Exchange): boolean {
  for (let i = 0; i < headers.count; i++) {
    if (SOFTLY.test(headers.nameText(i)) && headers.valueText(i) === "1") return true;
  }
  return false;
}

const SOFTLY = /^(?:fastly-)?soft-purge$/i;
