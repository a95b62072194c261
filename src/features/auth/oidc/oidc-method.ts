import { timingSafeEqual } from "node:crypto";
import { MASK } from "../../../core/secret-name.ts";
import type { Exchange } from "../../../message/exchange.ts";
import type { PrebuiltResponse } from "../../../message/prebuilt-response.ts";
import { requestHost } from "../../../message/request-host.ts";
import { requestScheme } from "../../../message/request-scheme.ts";
import type { AuthMethod } from "../auth-phase.ts";
import { ClientShares } from "../client-shares.ts";
import { DENIED, type Judgement, letIn, NO_ROOM, refusedWith } from "../judgement.ts";
import { CALLBACK_PATH } from "./callback-path.ts";
import { beginAttempt, type LoginAttempt, readState, returnPath } from "./login-attempt.ts";
import { MAX_REMEMBERED_SESSIONS, type OpenSession, OpenSessions } from "./open-sessions.ts";
import { type ProviderCalls, ProviderError, type ProviderSettings } from "./provider.ts";
import { Sealer } from "./sealer.ts";
import { type Cookie, SessionCookies, setCookie } from "./session-cookies.ts";
import type { OidcConfig } from "./settings.ts";
import { type NoticePage, redirectTo, Visit, type VisitNotice } from "./visit.ts";

/** Sign-ins that a browser may have under way at a time, in as many tabs; the oldest gives way. */
const MAX_LOGIN_ATTEMPTS = 3;
/** Requests that wait for an identity provider in a worker; beyond, they get 503. */
const MAX_PROVIDER_WAITS = 64;
/** For how long a provider that has failed is not asked for a renewal. */
const RENEWAL_PAUSE_MS = 30_000;

/** What a sign-in was about when it failed. */
export type OidcStep = "login" | "callback" | "renewal" | "logout";

/** What methods need of their worker. */
export interface OidcPorts {
  /** Milliseconds since the epoch. */
  now(): number;
  readonly pages: NoticePage;
  providerOf(settings: ProviderSettings): ProviderCalls;
  /** All methods of this kind: each adds itself. */
  readonly scopes: OidcMethod[];
  /** Whether this worker is the one that renews a session now: of all workers one, in a while. */
  mayRenew(sessionId: string): boolean;
  /** A sign-in or a renewal has failed. @param reason without secrets, for the log */
  onFailed(visit: Visit, step: OidcStep, issuer: string, reason: string): void;
  /** A session had no room for all of these claims. */
  onCut(visit: Visit, issuer: string, claims: readonly string[]): void;
}

/**
 * `oidc`: users sign in at an OpenID provider, and are known by a sealed cookie from then on. OpenID Connect Core 1.0, section 3.1 with PKCE,
 * docs/authentication.md#openid-connect
 *
 *   no session ──navigation──▶ 302 to the provider ──▶ CALLBACK_PATH ──code──▶ session, 302 back
 *        └──else──▶ 401            attempt cookie        attempt cookie
 */
export class OidcMethod implements AuthMethod {
  readonly name = "oidc";
  /** A browser has nothing to answer a challenge with. */
  readonly challenge = "";
  readonly logoutPath: string;
  /** What states and cookies of this scope are known by. */
  readonly tag: string;
  private readonly issuer: string;
  private readonly sessionTtlMs: number;
  private readonly ports: OidcPorts;
  /** Null without a secret to seal with: then no user comes in. */
  private readonly sealer: Sealer | null;
  private readonly sessions: OpenSessions | null;
  private readonly cookies: SessionCookies;
  private readonly provider: ProviderCalls;
  private readonly renewals: Map<string, Promise<OpenSession | null>> = new Map();
  /** Attempts that were used: a state counts once. */
  private readonly used: Set<string> = new Set();
  private readonly shares: ClientShares = new ClientShares(MAX_PROVIDER_WAITS);
  private renewPausedUntilMs = 0;

  /** @param routes names the routes that share the sessions */
  constructor(config: OidcConfig, routes: string, ports: OidcPorts) {
    const { issuer, clientId, clientSecret, scopes, cookieSecret, authorities } = config;
    // What a listing shows in the place of a secret opens nothing.
    const secrets = cookieSecret.filter((secret) => secret !== MASK);
    const sealer = new Sealer(secrets, { issuer, clientId, routes });
    const isUsable = secrets.length > 0;
    this.sealer = isUsable ? sealer : null;
    this.sessions = isUsable ? new OpenSessions(config, sealer, ports.now) : null;
    this.tag = sealer.tag;
    this.cookies = new SessionCookies(sealer.tag);
    const wantedClaims = this.sessions?.wanted.names ?? [];
    this.provider = ports.providerOf({ issuer, clientId, clientSecret, scopes, authorities, wantedClaims });
    this.issuer = issuer;
    this.sessionTtlMs = config.sessionTtlMs;
    this.logoutPath = config.logoutPath;
    this.ports = ports;
    ports.scopes.push(this);
  }

  owns(ex: Exchange): boolean {
    const { path, init } = ex.route!;
    return init.exact && (path === CALLBACK_PATH || path === this.logoutPath);
  }

  judge(ex: Exchange, later: (judgement: Judgement) => void): Judgement | null {
    if (this.owns(ex)) return this.serve(ex, ex.route!.path === CALLBACK_PATH, later);
    const given = this.sessionOf(ex);
    const now = this.ports.now();
    let found: OpenSession | "over" | null = given;
    while (found !== null && found !== "over" && found.next !== null && found.next.untilMs > now)
      found = found.next.became;
    if (found === null || found === "over") return this.askToSignIn(ex, later);
    const { renewAtS } = found.session;
    if (renewAtS !== 0 && renewAtS * 1000 <= now) return this.renew(ex, found, later);
    return this.letIn(ex, found, found === given ? null : found);
  }

  /** The response at a path of its own, which may be that of another scope under the same host. */
  private serve(ex: Exchange, isCallback: boolean, later: (judgement: Judgement) => void): null {
    const visit = new Visit(ex, this.ports.pages);
    let reply: Promise<PrebuiltResponse>;
    if (isCallback) {
      const state = readState(stateOf(visit));
      const scope = this.ports.scopes.find(({ tag }) => tag === state?.tag) ?? this;
      reply = scope.signIn(visit, scope.cookies.find(ex.request.headers, visit.isSecure));
    } else {
      const sharing = this.ports.scopes.filter(({ logoutPath }) => logoutPath === this.logoutPath);
      const found = sharing.map((scope) => [scope, scope.cookies.find(ex.request.headers, visit.isSecure)] as const);
      reply = visit.isForeign ? Promise.resolve(visit.notice(FOREIGN)) : signOutOf(visit, found);
    }
    return settled(
      reply.then((response) => ({ kind: "own", response })),
      later,
    );
  }

  /** The response to what the provider has sent a browser back with. Never fails. */
  private async signIn(visit: Visit, cookies: readonly Cookie[]): Promise<PrebuiltResponse> {
    const state = stateOf(visit);
    const name = this.cookies.nameOf(visit.isSecure, readState(state)?.id ?? "-");
    const attempt = this.attemptIn(cookies.find((cookie) => cookie.name === name)?.value ?? "", state, visit);
    const fields = [["Set-Cookie", setCookie(name, "", 0)] as const];
    if (attempt === null || this.sessions === null) {
      this.ports.onFailed(
        visit,
        "callback",
        this.issuer,
        "no sign-in of this browser has this state, or it took too long",
      );
      return visit.notice(STALE, fields);
    }
    if (!this.shares.hasRoom(visit.place)) return visit.notice(BUSY, [RETRY_AFTER]);
    this.use(attempt.id);
    try {
      const callback = new URL(visit.origin + CALLBACK_PATH + queryOf(visit));
      const signedIn = await this.counted(visit, this.provider.signIn(attempt, callback));
      const session = this.sessions.begin(signedIn, visit.host);
      if (session.cut.length > 0) this.ports.onCut(visit, this.issuer, session.cut);
      return redirectTo(attempt.returnTo, [...fields, ...this.sessionFields(visit.isSecure, session)]);
    } catch (error) {
      return this.failed(visit, "callback", error, fields, attempt.returnTo);
    }
  }

  /** Ends a session as far as this worker is asked, and at the provider. @returns where the browser signs out there; "" for nowhere */
  async end(visit: Visit, cookies: readonly Cookie[]): Promise<string> {
    const own = this.cookies.sessionsIn(cookies, visit.isSecure);
    const found = own.map((value) => this.sessions?.open(value, visit.host) ?? null).find((one) => one !== null);
    if (found === undefined) return "";
    this.sessions!.end(found);
    if (!this.shares.hasRoom(visit.place)) return "";
    const { refreshToken, idToken } = found.session;
    if (refreshToken !== "") {
      this.counted(visit, this.provider.revoke(refreshToken)).catch((error: unknown) => {
        this.ports.onFailed(visit, "logout", this.issuer, reasonOf(error));
      });
    }
    return this.counted(visit, this.provider.logoutUrl(idToken, visit.origin + this.logoutPath));
  }

  private sessionOf(ex: Exchange): OpenSession | null {
    const { sessions } = this;
    if (sessions === null) return null;
    const isSecure = requestScheme(ex) === "https";
    for (const value of this.cookies.sessionsIn(this.cookies.find(ex.request.headers, isSecure), isSecure)) {
      const found = sessions.open(value, requestHost(ex.request));
      if (found !== null) return found;
    }
    return null;
  }

  /** @param anew the session whose cookie the client is to have from now on; null if it has it */
  private letIn(ex: Exchange, { identity }: OpenSession, anew: OpenSession | null): Judgement {
    if (identity === null) return refusedWith(this.noEntry(new Visit(ex, this.ports.pages), anew));
    if (anew === null) return letIn(identity);
    return letIn({ ...identity, responseFields: this.sessionFields(requestScheme(ex) === "https", anew) });
  }

  private noEntry(visit: Visit, anew: OpenSession | null): PrebuiltResponse {
    const link = { href: this.logoutPath, text: "Sign out, to sign in with another account" };
    const fields = anew === null ? [] : this.sessionFields(visit.isSecure, anew);
    return visit.notice({ ...NO_ENTRY, link }, fields);
  }

  private askToSignIn(ex: Exchange, later: (judgement: Judgement) => void): Judgement | null {
    const visit = new Visit(ex, this.ports.pages);
    if (!visit.isNavigation || this.sealer === null) return DENIED;
    if (!this.shares.hasRoom(visit.place)) return refusedWith(visit.notice(BUSY, [RETRY_AFTER]));
    return settled(
      this.loginRedirect(visit, this.cookies.find(ex.request.headers, visit.isSecure)).then(refusedWith),
      later,
    );
  }

  private async loginRedirect(visit: Visit, cookies: readonly Cookie[]): Promise<PrebuiltResponse> {
    const { isSecure, host, origin } = visit;
    const path = returnPath(visit.target);
    const isOwn = [CALLBACK_PATH, this.logoutPath].some((own) => path === own || path.startsWith(`${own}?`));
    const attempt = beginAttempt(this.tag, isOwn ? "/" : path, this.ports.now());
    const sealed = this.sealer!.seal("attempt", host, Buffer.from(JSON.stringify(attempt)));
    try {
      const url = await this.counted(visit, this.provider.loginUrl(attempt, origin + CALLBACK_PATH));
      const cookie = setCookie(this.cookies.nameOf(isSecure, attempt.id), sealed, ATTEMPT_S);
      const gone = this.outdated(cookies).map((name) => ["Set-Cookie", setCookie(name, "", 0)] as const);
      return redirectTo(url, [["Set-Cookie", cookie], ...gone]);
    } catch (error) {
      return this.failed(visit, "login", error, [], "");
    }
  }

  /** Names of the cookies that a new sign-in takes away: of a session that is none any more, and of the oldest attempts. */
  private outdated(cookies: readonly Cookie[]): readonly string[] {
    const isSession = (cookie: Cookie) => this.cookies.isSession(cookie);
    const attempts = [...new Set(cookies.filter((one) => !isSession(one)).map(({ name }) => name))].sort();
    return [
      ...new Set(cookies.filter(isSession).map(({ name }) => name)),
      ...attempts.slice(0, Math.max(0, attempts.length - MAX_LOGIN_ATTEMPTS + 1)),
    ];
  }

  /** The attempt in a cookie, if it is the state's, of this host, not over and not used. */
  private attemptIn(sealed: string, state: string, { host }: Visit): LoginAttempt | null {
    const bytes = this.sealer === null || sealed === "" ? null : this.sealer.open("attempt", host, sealed);
    if (bytes === null) return null;
    const attempt = JSON.parse(bytes.toString("utf8")) as LoginAttempt;
    const [wanted, found] = [Buffer.from(attempt.state), Buffer.from(state)];
    const isSame = wanted.length === found.length && timingSafeEqual(wanted, found);
    return isSame && attempt.endsMs > this.ports.now() && !this.used.has(attempt.id) ? attempt : null;
  }

  private use(attempt: string): void {
    if (this.used.size >= MAX_REMEMBERED_SESSIONS) this.used.delete(this.used.values().next().value!);
    this.used.add(attempt);
  }

  /** Refreshes the session if it is this worker's turn; otherwise it stays valid until the tokens expire. */
  private renew(ex: Exchange, old: OpenSession, later: (judgement: Judgement) => void): Judgement | null {
    const now = this.ports.now();
    const { id, goodUntilS } = old.session;
    let renewal = this.renewals.get(id);
    const isGood = goodUntilS * 1000 > now;
    const isPaused = this.renewPausedUntilMs > now;
    if (isGood && renewal !== undefined) return this.letIn(ex, old, null);
    if (renewal === undefined && (isPaused || (!this.ports.mayRenew(id) && isGood))) return this.letIn(ex, old, null);
    const visit = new Visit(ex, this.ports.pages);
    if (renewal === undefined && !this.shares.hasRoom(visit.place)) return isGood ? this.letIn(ex, old, null) : NO_ROOM;
    const cookies = this.cookies.find(ex.request.headers, visit.isSecure);
    if (renewal === undefined) {
      renewal = this.renewed(visit, old).finally(() => this.renewals.delete(id));
      this.renewals.set(id, renewal);
    }
    const judged = renewal.then(async (became) => {
      if (became !== null) return this.afterRenewal(visit, old, became);
      return visit.isNavigation ? refusedWith(await this.loginRedirect(visit, cookies)) : DENIED;
    });
    return settled(judged, later);
  }

  private afterRenewal(visit: Visit, old: OpenSession, became: OpenSession): Judgement {
    const anew = became === old ? null : became;
    const { identity } = became;
    if (identity === null) return refusedWith(this.noEntry(visit, anew));
    if (anew === null) return letIn(identity);
    return letIn({ ...identity, responseFields: this.sessionFields(visit.isSecure, anew) });
  }

  /** The session anew; as it is where the provider is away; null if it is over. Never fails. */
  private async renewed(visit: Visit, old: OpenSession): Promise<OpenSession | null> {
    const { refreshToken, claims } = old.session;
    try {
      return this.sessions!.renew(old, await this.counted(visit, this.provider.renew(refreshToken, claims)));
    } catch (error) {
      this.ports.onFailed(visit, "renewal", this.issuer, reasonOf(error));
      if (!(error instanceof ProviderError) || error.problem === "away") {
        this.renewPausedUntilMs = this.ports.now() + RENEWAL_PAUSE_MS;
        return old;
      }
      this.sessions!.end(old);
      return null;
    }
  }

  private async counted<T>({ place }: Visit, call: Promise<T>): Promise<T> {
    this.shares.take(place);
    try {
      return await call;
    } finally {
      this.shares.giveBack(place);
    }
  }

  private failed(
    visit: Visit,
    step: OidcStep,
    error: unknown,
    fields: readonly (readonly [string, string])[],
    again: string,
  ): PrebuiltResponse {
    this.ports.onFailed(visit, step, this.issuer, reasonOf(error));
    const problem = error instanceof ProviderError ? error.problem : "away";
    const link = again === "" ? null : { href: again, text: "Try to sign in again" };
    const notice = { ...NOTICES[problem], link };
    return visit.notice(notice, problem === "away" ? [...fields, RETRY_AFTER] : fields);
  }

  private sessionFields(isSecure: boolean, { value }: OpenSession): readonly (readonly [string, string])[] {
    const maxAgeS = Math.ceil(this.sessionTtlMs / 1000);
    return this.cookies.setSession(value, isSecure, maxAgeS).map((cookie) => ["Set-Cookie", cookie] as const);
  }
}

/** Takes the cookies of scopes away, and leads to the provider of the first that has such a place. Never fails. */
async function signOutOf(
  visit: Visit,
  scopes: readonly (readonly [OidcMethod, readonly Cookie[]])[],
): Promise<PrebuiltResponse> {
  const fields = scopes.flatMap(([, cookies]) =>
    cookies.map(({ name }) => ["Set-Cookie", setCookie(name, "", 0)] as const),
  );
  const urls = await Promise.all(scopes.map(([scope, cookies]) => scope.end(visit, cookies)));
  const url = urls.find((one) => one !== "");
  return url === undefined ? visit.notice(SIGNED_OUT, fields) : redirectTo(url, fields);
}

/** The query with its question mark; "" without one. */
function queryOf({ target }: Visit): string {
  const at = target.indexOf("?");
  return at < 0 ? "" : target.slice(at);
}

function stateOf(visit: Visit): string {
  return new URLSearchParams(queryOf(visit)).get("state") ?? "";
}

/** Hands a judgement on when it is there; a defect on the way to it lets no user in. */
function settled(judged: Promise<Judgement>, later: (judgement: Judgement) => void): null {
  judged.catch(() => NO_ROOM).then(later);
  return null;
}

function reasonOf(error: unknown): string {
  return error instanceof ProviderError ? error.message : "an exception";
}

const ATTEMPT_S = 600;
const RETRY_AFTER = ["Retry-After", "5"] as const;
const HOME = { href: "/", text: "Go to the start page" };

const STALE: VisitNotice = {
  status: 400,
  title: "This sign-in is over",
  sentence: "It was begun in another browser, was completed already, or took too long. Please start again.",
  link: HOME,
};
const BUSY: VisitNotice = {
  status: 503,
  title: "Too many sign-ins",
  sentence: "Many people are signing in at the moment. Please try again in a few seconds.",
  link: null,
};
const FOREIGN: VisitNotice = {
  status: 403,
  title: "You are still signed in",
  sentence: "Another site has asked to sign you out. Open this address yourself to do so.",
  link: null,
};
const NO_ENTRY: VisitNotice = {
  status: 403,
  title: "No access",
  sentence: "You are signed in, but your account may not see this page.",
  link: null,
};
const SIGNED_OUT: VisitNotice = {
  status: 200,
  title: "You are signed out",
  sentence: "You can close this page now.",
  link: { href: "/", text: "Sign in again" },
};
const NOTICES: Readonly<Record<ProviderError["problem"], VisitNotice>> = {
  away: {
    status: 503,
    title: "Signing in is not possible now",
    sentence: "The sign-in service does not respond. Please try again in a moment.",
    link: null,
  },
  refused: {
    status: 403,
    title: "You are not signed in",
    sentence: "The sign-in was cancelled or refused by the sign-in service.",
    link: null,
  },
  untrusted: {
    status: 502,
    title: "Signing in has failed",
    sentence: "The response of the sign-in service could not be verified. Please try again.",
    link: null,
  },
};
