import type { Exchange, ReplyTap } from "../../message/exchange.ts";
import { HEADER_ID_COUNT, type HeaderBlock, HeaderId } from "../../message/header-block.ts";
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
    ex.reply.headers.removeWhere(isReplaced);
    this.onFixed(ex);
  }

  onFixed(ex: Exchange): void {
    if (ex.route !== null && this.isClosed[ex.route.index] === true) return;
    ex.reply.addExtra(this.policy.fieldsFor(ex.request.headers));
  }

  onEnd(_ex: Exchange): void {}
}

function isReplaced({ ids }: HeaderBlock, index: number): boolean {
  return REPLACED[ids[index]!] === 1;
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
