import { CACHE_NOTE_NAMES, CacheNote, CacheResult } from "../../message/cache-result.ts";
import type { Exchange, ResponseTap } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Method } from "../../message/request-head.ts";
import { AskedResource, type RequestKeys, resourceOf } from "./request-keys.ts";
import type { CacheKey } from "./store/cache-key.ts";
import type { CacheStore } from "./store/cache-store.ts";

/** Is told of a resource whose stored responses hold no more. */
export type InvalidationNote = (authority: string, target: string) => void;

/** Who counts what the cache did. */
export interface CacheCounter {
  cachePassed(result: CacheResult): void;
  /** An entry was read from the disk. @param isSound whether it was what had been written */
  diskRead(isSound: boolean): void;
}

/**
 * Says on every response that passed the cache what the cache did (docs/cache.md#hits, RFC 9211), lets methods that
 * change a resource take its stored responses out, and gives back what the cache holds for an exchange when that is over.
 */
export class CacheTap implements ResponseTap {
  readonly name = "cacheStore";
  private readonly store: CacheStore;
  private readonly keys: RequestKeys;
  private readonly counter: CacheCounter;
  private readonly showsKeys: boolean;
  private readonly onInvalidated: InvalidationNote | null;

  /**
   * @param showsKeys whether Cache-Status says the key
   * @param onInvalidated learns of each resource whose responses go; null if no other gateway has any
   */
  constructor(
    store: CacheStore,
    keys: RequestKeys,
    counter: CacheCounter,
    showsKeys: boolean,
    onInvalidated: InvalidationNote | null,
  ) {
    this.onInvalidated = onInvalidated;
    this.showsKeys = showsKeys;
    this.store = store;
    this.keys = keys;
    this.counter = counter;
  }

  onHead(ex: Exchange): void {
    const result = ex.cacheResult;
    // A hit has its fields already.
    if (result === CacheResult.None || result >= CacheResult.Stale) return;
    const { headers, status } = ex.response;
    for (const id of OWN_FIELDS) headers.removeAll(id);
    ex.response.addExtra(this.fieldsFor(ex));
    if (result === CacheResult.OtherMethod && status >= 200 && status < 400 && isUnsafe(ex)) this.invalidate(ex);
  }

  onUpgrade(ex: Exchange): void {
    this.onHead(ex);
  }

  onFixed(ex: Exchange, _reply: PrebuiltResponse): void {
    if (ex.cacheResult === CacheResult.None) return;
    ex.response.addExtra(this.fieldsFor(ex));
  }

  onEnd(ex: Exchange): void {
    if (ex.cacheUse !== null) ex.cacheUse.release();
    ex.cacheUse = null;
    if (ex.cacheResult !== CacheResult.None) this.counter.cachePassed(ex.cacheResult);
  }

  private fieldsFor(ex: Exchange): ExtraFields {
    const fields = fieldsOf(ex.cacheResult, ex.cacheNote);
    if (!this.showsKeys || ex.cacheResult <= CacheResult.OtherMethod) return fields;
    const key = this.keys.parameterOf(ex);
    return new ExtraFields(fields.fields.map(([name, value]) => [name, name === "Cache-Status" ? value + key : value]));
  }

  /** RFC 9111 §4.4: the resource itself, and what the response names on the same host. */
  private invalidate(ex: Exchange): void {
    const { cacheUse: asked } = ex;
    const isKept = asked instanceof AskedResource;
    this.takeOut(isKept ? this.keys.ofUri(asked.authority, asked.target) : this.keys.of(ex));
    for (const id of [HeaderId.Location, HeaderId.ContentLocation]) {
      const named = ex.response.headers.valueOf(id);
      if (named !== "") this.invalidateNamed(ex, named);
    }
  }

  private invalidateNamed(ex: Exchange, reference: string): void {
    const authority = ex.request.authority();
    const url = URL.parse(reference, `http://${authority}${ex.request.path()}`);
    if (url === null || url.host !== URL.parse(`${url.protocol}//${authority}`)?.host) return;
    this.takeOut(this.keys.ofUri(authority.replace(/:$/, ""), url.pathname + url.search));
  }

  private takeOut(key: CacheKey): void {
    this.store.invalidate(key);
    if (this.onInvalidated === null) return;
    this.onInvalidated(...resourceOf(key));
  }
}

/** RFC 9110 §9.2.1. Unknown methods count as unsafe. */
function isUnsafe({ request: { method } }: Exchange): boolean {
  return method !== Method.Options && method !== Method.Trace;
}

/** The fields of a response that passed the cache. */
function fieldsOf(result: CacheResult, note: CacheNote): ExtraFields {
  if (result >= CacheResult.Stale) return HIT_FIELDS;
  return FORWARDED_FIELDS[result * CACHE_NOTE_NAMES.length + note]!;
}

function forwardedFields(reason: string, note: string): ExtraFields {
  return new ExtraFields([
    ["X-Cache", "MISS"],
    ["Cache-Status", `edge; fwd=${reason}${note}`],
  ]);
}

/** By result. */
const FORWARDED = [
  "",
  "bypass",
  "method",
  "request",
  "uri-miss",
  "stale",
  "stale; fwd-status=304",
  "uri-miss; collapsed",
] as const;
const NOTES: readonly string[] = CACHE_NOTE_NAMES.map((name, note) => {
  if ((note as CacheNote) === CacheNote.Stored) return "; stored";
  return name === "" ? "" : `; detail=${name}`;
});
const HIT_FIELDS = new ExtraFields([
  ["X-Cache", "HIT"],
  ["Cache-Status", "edge; hit"],
]);
/** For each result all notes. */
const FORWARDED_FIELDS: readonly ExtraFields[] = FORWARDED.flatMap((reason) =>
  NOTES.map((note) => forwardedFields(reason, note)),
);
/** What the cache says itself; an upstream's Age is not passed on. docs/cache.md#hits */
const OWN_FIELDS = [HeaderId.Age, HeaderId.XCache] as const;
