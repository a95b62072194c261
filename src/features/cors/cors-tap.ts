import type { Exchange, ResponseTap } from "../../message/exchange.ts";
import { HEADER_ID_COUNT, type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { RoutePolicies } from "../../message/route-policies.ts";
import type { CorsPolicy } from "./cors-policy.ts";

/**
 * Tells browsers which pages may read a response. The gateway's word replaces the upstream's: two of them would be none.
 * Endpoints that are not for the public are left out, so that no page reads them through its visitor's browser.
 */
export class CorsTap implements ResponseTap {
  readonly name = "cors";
  /** Null if CORS is off. */
  private readonly policies: RoutePolicies<CorsPolicy | null>;
  private readonly isClosed: readonly boolean[];

  /** @param isClosed one entry a route, by its index: whether pages of other origins may not read it */
  constructor(policies: RoutePolicies<CorsPolicy | null>, isClosed: readonly boolean[]) {
    this.policies = policies;
    this.isClosed = isClosed;
  }

  onHead(ex: Exchange): void {
    const policy = this.policies.of(ex);
    if (policy === null) return;
    ex.response.headers.removeWhere(isReplaced);
    this.add(ex, policy);
  }

  onFixed(ex: Exchange): void {
    const policy = this.policies.of(ex);
    if (policy !== null) this.add(ex, policy);
  }

  private add(ex: Exchange, policy: CorsPolicy): void {
    if (ex.route !== null && this.isClosed[ex.route.index] === true) return;
    ex.response.addExtra(policy.fieldsFor(ex.request.headers));
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
