import { OidcMethod, type OidcPorts } from "../features/auth/oidc/oidc-method.ts";
import { Provider, type ProviderCalls } from "../features/auth/oidc/provider.ts";
import type { OidcConfig } from "../features/auth/oidc/settings.ts";
import { noticePage } from "../features/pages/built-in-page.ts";
import { BucketRate, TokenBuckets } from "../memory/token-bucket.ts";
import type { ClientPolicyInputs } from "./client-policy.ts";

export { takeCookiesOff } from "../features/auth/oidc/session-cookies.ts";

/** How long other workers leave the renewal of a session to the one that has begun it. */
const RENEWAL_TURN_MS = 10_000;

/** Makes the methods by which users of one configuration sign in; this module is loaded where there are some. */
export class SignIn {
  private readonly ports: OidcPorts;

  constructor(inputs: Pick<ClientPolicyInputs, "buckets" | "sharedClock" | "reports" | "noteProvider">) {
    const { buckets, sharedClock, reports, noteProvider } = inputs;
    const all = new TokenBuckets(buckets);
    const key = all.keyFor("renewals of sessions");
    const rate = new BucketRate(1, RENEWAL_TURN_MS, 1);
    this.ports = {
      now: Date.now,
      pages: noticePage,
      scopes: [],
      providerOf: (settings) =>
        noteProvider === undefined
          ? new Provider(settings, Date.now)
          : silentProvider(() => noteProvider(settings.issuer)),
      mayRenew(sessionId) {
        const bytes = Buffer.from(sessionId);
        key.hash(bytes, 0, bytes.length);
        return all.take(key, rate, sharedClock.nowMs) === 0;
      },
      onFailed: ({ requestId, clientIp }, step, issuer, reason) =>
        reports.onSignInFailed({ step, request_id: requestId, client_ip: clientIp, issuer, reason }),
      onCut: ({ requestId, clientIp }, issuer, claims) =>
        reports.onSessionCut({ request_id: requestId, client_ip: clientIp, issuer, claims: claims.join(" ") }),
    };
  }

  /** @param routes names the routes that share the method */
  method(config: OidcConfig, routes: string): OidcMethod {
    return new OidcMethod(config, routes, this.ports);
  }
}

/** In the place of a provider where there is no network: what asks it waits. */
function silentProvider(note: () => void): ProviderCalls {
  const ask = () => {
    note();
    return new Promise<never>(() => {});
  };
  return { loginUrl: ask, signIn: ask, renew: ask, logoutUrl: ask, revoke: ask };
}
