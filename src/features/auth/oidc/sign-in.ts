import { BucketRate, TokenBuckets } from "../../../memory/token-bucket.ts";
import type { NowMs } from "../../../message/ports.ts";
import { OidcMethod, type OidcPorts, type OidcStep } from "./oidc-method.ts";
import { Provider, type ProviderCalls } from "./provider.ts";
import type { OidcConfig } from "./settings.ts";

/** How long other workers leave the renewal of a session to the one that has begun it. */
const RENEWAL_TURN_MS = 10_000;

/** What a line of the log names of whom a sign-in was for. */
interface SignInFields {
  readonly request_id: string;
  readonly client_ip: string;
  readonly issuer: string;
}

/** Where sign-ins are reported. */
export interface SignInListener {
  onSignInFailed(fields: SignInFields & { readonly step: OidcStep; readonly reason: string }): void;
  onSessionCut(fields: SignInFields & { readonly claims: string }): void;
}

/** What sign-ins need of their worker. */
export interface SignInPorts {
  /** The token buckets of all workers. */
  readonly buckets: SharedArrayBuffer;
  /** Milliseconds on one clock for all workers. */
  readonly sharedClock: NowMs;
  readonly reports: SignInListener;
  /** Learns which provider would be asked, if none is to be. docs/explain.md */
  readonly noteProvider?: (issuer: string) => void;
  readonly pages: OidcPorts["pages"];
}

/** Makes the methods by which users of one configuration sign in; this module is loaded if there are some. */
export class SignIn {
  private readonly ports: OidcPorts;

  constructor({ buckets, sharedClock, reports, noteProvider, pages }: SignInPorts) {
    const all = new TokenBuckets(buckets);
    const key = all.keyFor("renewals of sessions");
    const rate = new BucketRate(1, RENEWAL_TURN_MS, 1);
    this.ports = {
      now: Date.now,
      pages,
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

/** In the place of a provider if there is no network: what asks it waits. */
function silentProvider(note: () => void): ProviderCalls {
  const ask = () => {
    note();
    return new Promise<never>(() => {});
  };
  return { loginUrl: ask, signIn: ask, renew: ask, logoutUrl: ask, revoke: ask };
}
