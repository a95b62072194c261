import type { Exchange } from "../../message/exchange.ts";
import { SentField } from "../../proto/h1/sent-fields.ts";
import { CookieValues } from "../../proto/semantics/cookie-values.ts";
import { canonicalise, slashedPath } from "../../proto/target/canonical-path.ts";
import { hashBytes, hashText } from "./hash.ts";

/** What a hashing policy goes by. @typeParam E what has the key */
export interface HashKey<E = Exchange> {
  /** @returns 0 to 2^32-1, or -1 when the request has no such key */
  hashOf(ex: E): number;
}

/** The address of the client, as the trusted proxies tell it. */
export class ClientHashKey implements HashKey<Pick<Exchange, "clientIp">> {
  hashOf(ex: Pick<Exchange, "clientIp">): number {
    return hashText(ex.clientIp);
  }
}

/** Path and query as they go upstream: however a path is spelled, its requests have one hash. */
export class TargetHashKey implements HashKey {
  hashOf(ex: Exchange): number {
    const { request, prefixLength } = ex;
    const isPlain = ex.forwardPath === "" && ex.canonicalPath === "";
    const from = request.pathFrom + prefixLength;
    // Of a query that is empty, the question mark alone is sent.
    const to = request.queryTo - request.pathTo === 1 ? request.pathTo : request.queryTo;
    if (isPlain && from < request.pathTo) return hashBytes(request.bytes, from, to);
    const path = ex.forwardPath === "" ? request.path().slice(prefixLength) : ex.forwardPath;
    return hashText(slashedPath(canonicalise(path || "/").canonical) + request.text(request.pathTo, to));
  }
}

/** The value of the first header field with a name. */
export class HeaderHashKey implements HashKey {
  private readonly field: SentField;

  constructor(name: string) {
    this.field = new SentField(name);
  }

  hashOf({ request }: Exchange): number {
    const index = this.field.find(request);
    if (index < 0) return -1;
    const { headers } = request;
    return hashBytes(headers.bytes, headers.valueFrom(index), headers.valueTo(index));
  }
}

/** The value of the first cookie with a name. */
export class CookieHashKey implements HashKey {
  private readonly values: CookieValues;

  constructor(name: string) {
    this.values = new CookieValues(name);
  }

  hashOf({ request: { headers } }: Exchange): number {
    const { values } = this;
    values.begin(headers);
    return values.next() ? hashBytes(headers.bytes, values.from, values.to) : -1;
  }
}
