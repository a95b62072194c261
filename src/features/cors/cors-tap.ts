import type { Exchange, ReplyTap } from "../../message/exchange.ts";
import { HEADER_ID_COUNT, HeaderId } from "../../message/header-block.ts";
import type { CorsPolicy } from "./cors-policy.ts";

/**
 * Tells browsers which pages may read a response. The gateway's word replaces the upstream's: two of them would be none.
 * Endpoints that are not for the public are left out, so that no page reads them through its visitor's browser.
 */
export class CorsTap implements ReplyTap {
  readonly name = "cors";
  private readonly policy: CorsPolicy;
  private readonly isClosed: readonly boolean[];

  /** @param isClosed one entry a route, by its index: whether pages of other origins may not read it */
  constructor(policy: CorsPolicy, isClosed: readonly boolean[]) {
    this.policy = policy;
    this.isClosed = isClosed;
  }

  onHead(ex: Exchange): void {
    const { headers } = ex.reply;
    for (let i = headers.count - 1; i >= 0; i--) if (REPLACED[headers.ids[i]!] === 1) headers.removeAt(i);
    this.onFixed(ex);
  }

  onFixed(ex: Exchange): void {
    if (ex.route !== null && this.isClosed[ex.route.index] === true) return;
    ex.reply.addExtra(this.policy.fieldsFor(ex.request.headers));
  }

  onEnd(_ex: Exchange): void {}
}

const REPLACED: Uint8Array = new Uint8Array(HEADER_ID_COUNT);
for (const id of [
  HeaderId.AccessControlAllowOrigin,
  HeaderId.AccessControlAllowCredentials,
  HeaderId.AccessControlAllowMethods,
  HeaderId.AccessControlAllowHeaders,
  HeaderId.AccessControlExposeHeaders,
  HeaderId.AccessControlMaxAge,
]) {
  REPLACED[id] = 1;
}
