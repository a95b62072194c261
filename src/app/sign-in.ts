import type { OidcConfig } from "../config/auth/oidc-settings.ts";
import { RENEWAL_TURN_MS } from "../core/limits.ts";
import { OidcMethod, type OidcPorts } from "../features/auth/oidc/oidc-method.ts";
import { noticePage } from "../features/pages/built-in-page.ts";
import { BucketRate, TokenBuckets } from "../shared/token-bucket.ts";
import type { ClientPolicyInputs } from "./client-policy.ts";

export { takeCookiesOff } from "../features/auth/oidc/session-cookies.ts";

/** Makes the methods by which users of one configuration sign in; this module is loaded where there are some. */
export class SignIn {
  private readonly ports: OidcPorts;

  constructor({ buckets, sharedClock, reports }: Pick<ClientPolicyInputs, "buckets" | "sharedClock" | "reports">) {
    const all = new TokenBuckets(buckets);
    const key = all.keyFor("renewals of sessions");
    const rate = new BucketRate(1, RENEWAL_TURN_MS, 1);
    this.ports = {
      now: Date.now,
      pages: noticePage,
      scopes: [],
      mayRenew(sessionId) {
        const bytes = Buffer.from(sessionId);
        key.hash(bytes, 0, bytes.length);
        return all.take(key, rate, sharedClock.nowMs) === 0;
      },
      onFailed: ({ requestId, clientIp }, step, issuer, reason) =>
        reports.onSignInFailed(step, { request_id: requestId, client_ip: clientIp, issuer, reason }),
    };
  }

  /** @param routes names the routes that share the method */
  method(config: OidcConfig, routes: string): OidcMethod {
    return new OidcMethod(config, routes, this.ports);
  }
}
