import { jsonObject } from "../../core/json-object.ts";
import { errorBody } from "../../core/status.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import type { PurgeOrder, PurgeScope } from "../../message/purge-order.ts";
import type { AccessGuard } from "./access-guard.ts";
import { JSON_TYPE, prebuiltJson } from "./built-in-response.ts";
import { CallBody } from "./call-body.ts";
import { PendingResponse } from "./control-handler.ts";
import type { Operator } from "./operator.ts";

/** Bytes of the body of a purge call. */
const MAX_PURGE_CALL_BYTES = 16_384;

/** Takes responses out of the cache. @param done learns how many, now or later */
export type Purge = (order: PurgeOrder, done: (purged: number) => void) => void;

/** Notes a purge. */
export type PurgeAudit = (operator: Operator, order: PurgeOrder, purged: number) => void;

/**
 * `POST /internal/api/cache/purge` with `{"url"}` or `{"prefix"}` (an absolute URL, or a path for every host), `{"tag"}`,
 * `{"tags"}` or `{"all": true}`, and `"soft": true` beside it.
 * docs/cache.md#purge
 */
export class PurgeHandler implements Handler {
  readonly name = "cachePurge";
  private readonly guard: AccessGuard;
  private readonly purge: Purge | null;
  private readonly onPurged: PurgeAudit;

  /**
   * @param purge null if the cache is off
   * @param onPurged takes who has purged what, and how many responses that were
   */
  constructor(guard: AccessGuard, purge: Purge | null, onPurged: PurgeAudit) {
    this.guard = guard;
    this.purge = purge;
    this.onPurged = onPurged;
  }

  handle(ex: Exchange): Verdict {
    if (!this.guard.admitsOperator(ex)) return Verdict.Done;
    if (this.purge === null) ex.sink.fixed(ex, CACHE_OFF);
    else {
      const { purge } = this;
      new CallBody(MAX_PURGE_CALL_BYTES, (asking, text) => this.act(asking, text, purge)).begin(ex);
    }
    return Verdict.Done;
  }

  private act(ex: Exchange, text: string | null, purge: Purge): void {
    const order = text === null ? null : readOrder(text);
    if (text === null) ex.sink.fixed(ex, TOO_LARGE);
    else if (order === null) ex.sink.fixed(ex, MALFORMED);
    else {
      const operator = this.guard.operatorOf(ex);
      const pending = new PendingResponse(ex);
      ex.source = pending;
      purge(order, (purged) => {
        this.onPurged(operator, order, purged);
        pending.give(200, JSON_TYPE, JSON.stringify({ purged }));
      });
    }
  }
}

function readOrder(text: string): PurgeOrder | null {
  const asked = jsonObject(text);
  if (asked === null) return null;
  const { soft = false, ...what } = asked;
  if (typeof soft !== "boolean" || Object.keys(what).length !== 1) return null;
  const scope = readScope(what);
  return scope === null ? null : { ...scope, isSoft: soft };
}

function readScope({ all, url, prefix, tag, tags = [tag] }: Record<string, unknown>): PurgeScope | null {
  if (all === true) return { kind: "all" };
  if (typeof url === "string") return named("uri", url);
  if (typeof prefix === "string") return named("prefix", prefix);
  if (!Array.isArray(tags) || tags.length === 0 || !tags.every(isTag)) return null;
  return { kind: "tags", tags };
}

function isTag(value: unknown): value is string {
  return typeof value === "string" && TAG.test(value);
}

function named(kind: "uri" | "prefix", reference: string): PurgeScope | null {
  if (!ASCII.test(reference)) return null;
  if (reference.startsWith("/") && !reference.startsWith("//")) return { kind, authority: "", target: reference };
  const match = ABSOLUTE.exec(reference);
  return match === null ? null : { kind, authority: match[1]!, target: match[2] ?? "/" };
}

const ABSOLUTE = /^https?:\/\/([^/?#@\s]+)(\/\S*)?$/i;
const ASCII = /^[\x21-\x7e]+$/;
/** What can be a name in Cache-Tag or Surrogate-Key. */
const TAG = /^[\x20-\x7e]+$/;
const CACHE_OFF = prebuiltJson(404, errorBody(404, "the cache is off"));
const TOO_LARGE = prebuiltJson(413, errorBody(413, `request body exceeds ${MAX_PURGE_CALL_BYTES} bytes`));
const MALFORMED = prebuiltJson(
  400,
  errorBody(400, 'one of {"url": "…"}, {"prefix": "…"}, {"tag": "…"}, {"tags": ["…"]} and {"all": true} is needed'),
);
