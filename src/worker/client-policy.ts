import { NetworkSet } from "../core/network-set.ts";
import { AccessGuard } from "../features/admin/access-guard.ts";
import type { AgentKeyring } from "../features/agents/agent-keyring.ts";
import { type AgentLimit, AgentRules } from "../features/agents/agent-phase.ts";
import { AgentVerifier, type SignatureListener } from "../features/agents/agent-verifier.ts";
import type { AgentsConfig } from "../features/agents/settings.ts";
import type { AiCounts } from "../features/ai/ai-counts.ts";
import { TokenLimit } from "../features/ai/token-limit.ts";
import { type AuthPorts, authMethod } from "../features/auth/auth-methods.ts";
import { type AuthListener, type AuthMethod, AuthPhase, type Turns } from "../features/auth/auth-phase.ts";
import type { ServiceListener } from "../features/auth/forward-method.ts";
import { GuardedMethod } from "../features/auth/guarded-method.ts";
import { Guesses } from "../features/auth/guesses.ts";
import { IdentityFieldsPhase } from "../features/auth/identity-fields-phase.ts";
import type { KeySets } from "../features/auth/jwt/key-ring.ts";
import type { SignIn, SignInPorts } from "../features/auth/oidc/sign-in.ts";
import { Passwords } from "../features/auth/passwords.ts";
import type { AuthConfig } from "../features/auth/settings.ts";
import { type AddressRules, addressRules } from "../features/client/address-rules.ts";
import { RouteAddressPhase, ServerAddressPhase } from "../features/client/address-rules-phase.ts";
import { ClientAddressPhase } from "../features/client/client-address-phase.ts";
import { RememberedNetworks } from "../features/client/remembered-networks.ts";
import type { IpRules } from "../features/client/settings.ts";
import { CorsPolicy } from "../features/cors/cors-policy.ts";
import { CorsTap } from "../features/cors/cors-tap.ts";
import { PreflightPhase } from "../features/cors/preflight-phase.ts";
import type { FleetBuckets } from "../features/limit/fleet-buckets.ts";
import { ClientLimitKey, type LimitKey, OneKey, UserLimitKey } from "../features/limit/limit-key.ts";
import { RateLimit } from "../features/limit/rate-limit.ts";
import { type RateLimitListener, RateLimitPhase } from "../features/limit/rate-limit-phase.ts";
import { limitsIn, type RateLimitConfig } from "../features/limit/settings.ts";
import type { ListTables } from "../features/lists/list-tables.ts";
import { noticePage } from "../features/pages/built-in-page.ts";
import { AllowedMethodsPhase, allowedSet } from "../features/route/allowed-methods-phase.ts";
import { type ChoosyRoute, MatchVaryTap } from "../features/route/match-vary-tap.ts";
import { exactRoutePath, prefixRoutePath } from "../features/route/route-paths.ts";
import { AltSvcTap } from "../features/security/alt-svc-tap.ts";
import { HttpsRedirectPhase } from "../features/security/https-redirect-phase.ts";
import { missingFields, SecurityHeadersTap } from "../features/security/security-headers-tap.ts";
import { TokenBuckets } from "../memory/token-bucket.ts";
import type { Phase, ResponseTap, Route } from "../message/exchange.ts";
import type { ClientPlaces, NowMs } from "../message/ports.ts";
import { takesHost } from "../message/request-host.ts";
import type { RoutePolicies } from "../message/route-policies.ts";
import { LateExpression } from "../proto/expression/expression.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { RouteTypePorts } from "../routes/route-type.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import {
  authByIndex,
  fieldsGoneBy,
  identityFields,
  isHostFirst,
  isInternal,
  type PolicyTables,
  settingsByIndex,
} from "./routing.ts";

/** What the policies towards clients need of their worker. */
export interface ClientPolicyPorts extends Omit<SignInPorts, "pages" | "reports"> {
  /** Those of the fleet. */
  readonly fleet: FleetBuckets;
  /** The lists in files. */
  readonly lists: ListTables;
  /** Where clients are; asked only if the configuration has databases. */
  readonly places: ClientPlaces;
  readonly reports: RateLimitListener & AuthListener & SignInPorts["reports"] & ServiceListener;
  readonly turns: Turns;
  /** The keys of token issuers. */
  readonly keySets: KeySets;
  /** The keys of agents. */
  readonly agentKeys: AgentKeyring;
  /** Milliseconds since the epoch. */
  readonly wallClock: NowMs;
}

/** What it needs of the configuration's own parts. */
type ClientMethodPorts = Pick<AuthPorts, "calls" | "poolOf">;

/** Who clients are, and what they may do: each phase null if the configuration does not ask for it. */
export interface ClientPolicy {
  readonly clientAddress: Phase | null;
  readonly identityFields: Phase | null;
  readonly serverAddressRules: Phase | null;
  readonly httpsRedirect: Phase | null;
  readonly preflight: PreflightPhase | null;
  readonly allowedMethods: Phase | null;
  readonly routeAddressRules: Phase | null;
  readonly rateLimit: Phase | null;
  readonly userRateLimit: Phase | null;
  readonly auth: Phase | null;
  /** The same for the routes of another listener. */
  readonly authOf: (routes: readonly Route[]) => Phase | null;
  readonly cors: ResponseTap | null;
  readonly matchVary: ResponseTap | null;
  readonly securityHeaders: ResponseTap | null;
  readonly altSvc: ResponseTap | null;
}

/** Wires `trusted_proxies`, `ip_rules`, `rate_limit`, `tls.redirect_http`, `cors`, `security_headers` and `allowed_methods` of a server and its routes. */
export function buildClientPolicy(
  config: RuntimeConfig,
  routes: readonly Route[],
  inputs: ClientPolicyPorts,
  site: ClientMethodPorts,
  policies: PolicyTables,
): ClientPolicy {
  const { trustedProxies, ipRules, listeners } = config.server;
  const settings = settingsByIndex(config, routes);
  const serverRules = addressRules(ipRules, inputs.places);
  const cors = used(policies.of("cors").map((one) => (one.enabled ? new CorsPolicy(one) : null)));
  const securityHeaders = used(policies.of("securityHeaders").map(missingFields));
  const allowedMethods = used(policies.of("allowedMethods").map(allowedSet));
  const limits = rateLimits(config, routes, settings, inputs);
  return {
    clientAddress:
      trustedProxies.length === 0
        ? null
        : new ClientAddressPhase(new RememberedNetworks(new NetworkSet(trustedProxies))),
    identityFields: IdentityFieldsPhase.of({
      set: identityFields(config),
      read: fieldsGoneBy(config),
      passed: config.server.passIdentityHeaders.map((name) => name.toLowerCase()),
    }),
    serverAddressRules: serverRules === null ? null : new ServerAddressPhase(serverRules),
    httpsRedirect: listeners.some(({ redirectsHttps }) => redirectsHttps) ? new HttpsRedirectPhase() : null,
    preflight: cors && new PreflightPhase(cors),
    allowedMethods: allowedMethods && new AllowedMethodsPhase(allowedMethods),
    routeAddressRules: routeAddressRules(settings, inputs.places),
    rateLimit: limitPhase("rateLimit", limits, inputs),
    userRateLimit: limitPhase("userRateLimit", limits, inputs),
    auth: authPhase(config, routes, inputs, site),
    authOf: (others) => authPhase(config, others, inputs, site),
    cors: cors && new CorsTap(cors, routes.map(isInternal)),
    matchVary: matchVaryTap(settings, isHostFirst(config)),
    securityHeaders: securityHeaders && new SecurityHeadersTap(securityHeaders),
    altSvc: config.server.http3.enabled ? new AltSvcTap() : null,
  };
}

/** Null if neither the server nor a route has a policy. */
function used<P>(policies: RoutePolicies<P | null>): RoutePolicies<P | null> | null {
  return policies.all.some((policy) => policy !== null) ? policies : null;
}

/** Null if no route asks for a field or a cookie. docs/routing.md#match-and-caches */
function matchVaryTap(settings: readonly (RouteConfig | null)[], hostFirst: boolean): ResponseTap | null {
  const choosy = settings.flatMap((route) => (route === null ? [] : choosyRoute(route)));
  if (choosy.length === 0) return null;
  const asked = settings.map((route) => {
    if (route === null) return [];
    const { path, exact, hosts, expression } = placeOf(route);
    const isAsked = (one: ChoosyRoute): boolean => {
      if (exact) return one.exact && one.path === path;
      if (one.exact || (expression === null && one.expression !== null)) return true;
      return expression === null ? isWithin(one, path) : one.expression !== null;
    };
    return choosy.filter(
      (one) => (mayShare(one.hosts, hosts) && isAsked(one)) || (hostFirst && mayGoBefore(one.hosts, hosts)),
    );
  });
  return new MatchVaryTap(asked, choosy);
}

/** Empty if nothing in a head decides whether it takes a response that a cache could store. */
function choosyRoute(route: RouteConfig): ChoosyRoute[] {
  const { match, methods } = route;
  if (match === null || (methods.length > 0 && !methods.includes("GET") && !methods.includes("HEAD"))) return [];
  const asksCookie = match.cookie.length > 0 || (match.share < 1 && match.stickyBy !== "");
  const names = [...match.header.map(([name]) => name), ...(asksCookie ? ["Cookie"] : [])];
  return names.length === 0 ? [] : [{ ...placeOf(route), names }];
}

function placeOf({ path, prefix, hosts, regex, isByRegex }: RouteConfig): Omit<ChoosyRoute, "names"> {
  const expression = isByRegex ? new LateExpression(regex) : null;
  return { path: path === "" ? prefixRoutePath(prefix) : exactRoutePath(path), exact: path !== "", hosts, expression };
}

/** Whether paths of a route may fall to a prefix when it does not fit. */
function isWithin({ path }: ChoosyRoute, prefix: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/");
}

function mayShare(some: readonly string[], others: readonly string[]): boolean {
  if (some.length === 0 || others.length === 0) return true;
  return some.some((one) => others.some((other) => takesHost([one], other) || takesHost([other], one)));
}

/** Whether some host of one route is more specific than one of the other that takes it as well. */
function mayGoBefore(some: readonly string[], others: readonly string[]): boolean {
  if (others.length === 0) return some.length > 0;
  return some.some(
    (one) => !others.includes(one) && others.some((other) => takesHost([other], one.replace(/^\*/, "x"))),
  );
}

function routeAddressRules(settings: readonly (RouteConfig | null)[], places: ClientPlaces): Phase | null {
  const known = new Map<IpRules, AddressRules | null>();
  const rules = settings.map((route) => {
    if (route === null) return null;
    if (!known.has(route.ipRules)) known.set(route.ipRules, addressRules(route.ipRules, places));
    return known.get(route.ipRules)!;
  });
  return rules.some((one) => one !== null) ? new RouteAddressPhase(rules) : null;
}

/** Limits, and the phase that each belongs to. */
type PlacedLimits = Readonly<Record<RateLimitPhase["name"], readonly RateLimit[]>>;

/** @returns one entry a route, by its index */
function rateLimits(
  config: RuntimeConfig,
  routes: readonly Route[],
  settings: readonly (RouteConfig | null)[],
  inputs: ClientPolicyPorts,
): readonly (PlacedLimits | null)[] {
  const buckets = new TokenBuckets(inputs.buckets);
  const server = new Map<string, RateLimit>();
  return routes.map((route, index) => {
    const own = settings[index] ?? null;
    const all = limitsIn(own === null ? config.server.rateLimit : own.rateLimit);
    if (all.length === 0 || isUnlimited(route)) return null;
    const placed: Record<RateLimitPhase["name"], RateLimit[]> = { rateLimit: [], userRateLimit: [] };
    // The store of a fleet gives nothing back: the gateway asks it when all other limits allow the request.
    for (const limit of all.toSorted(
      (one, other) => Number(one.reach === "cluster") - Number(other.reach === "cluster"),
    )) {
      const earlier = all.slice(0, all.indexOf(limit)).filter((one) => Bun.deepEquals(one, limit)).length;
      const purpose = `${purposeOf(limit, route)}${earlier === 0 ? "" : ` ${earlier}`}`;
      const key = JSON.stringify([purpose, limit]);
      const known =
        server.get(key) ?? new RateLimit(limit, buckets, purpose, limit.reach === "cluster" ? inputs.fleet : null);
      if (limit.scope === "server") server.set(key, known);
      placed[limit.key === "user" ? "userRateLimit" : "rateLimit"].push(known);
    }
    return placed;
  });
}

/** Null if no limit belongs to the phase. */
function limitPhase(
  name: RateLimitPhase["name"],
  limits: readonly (PlacedLimits | null)[],
  { sharedClock, reports }: ClientPolicyPorts,
): Phase | null {
  const own = limits.map((placed) => (placed === null || placed[name].length === 0 ? null : placed[name]));
  return own.some((one) => one !== null) ? new RateLimitPhase(name, own, sharedClock, reports) : null;
}

/** Makes the checks of passwords, and the count of wrong ones. */
export function passwordChecks({ sharedClock, buckets }: Pick<ClientPolicyPorts, "sharedClock" | "buckets">): {
  readonly passwords: Passwords;
  readonly guesses: Guesses;
} {
  return {
    passwords: new Passwords((password, hash) => Bun.password.verify(password, hash), sharedClock),
    guesses: new Guesses(new TokenBuckets(buckets), sharedClock),
  };
}

/** Endpoints of the gateway's own have access rules of their own. */
function authPhase(
  config: RuntimeConfig,
  routes: readonly Route[],
  inputs: ClientPolicyPorts,
  asking: ClientMethodPorts,
): Phase | null {
  const { turns, reports, keySets, wallClock: clock } = inputs;
  const checks = passwordChecks(inputs);
  let signIn: SignIn | null = null;
  const site = {
    ...asking,
    checks,
    keySets,
    keyFile: (file: string) => inputs.lists.cellOf({ kind: "keys", file }),
    clock,
    signIn: () => {
      signIn ??= new (signInModule().SignIn)({ ...inputs, pages: noticePage });
      return signIn;
    },
  };
  const { internalApi } = config;
  const made = new Map<AuthConfig, AuthMethod | null>();
  const methods = authByIndex(config, routes).map((auth) => {
    if (auth === null) return null;
    if (auth === internalApi.auth && !made.has(auth)) {
      const users = authMethod(auth, "internal_api", site);
      made.set(auth, users === null ? null : new GuardedMethod(users, new AccessGuard(internalApi)));
    }
    if (!made.has(auth)) made.set(auth, authMethod(auth, routesWith(auth, config), site));
    return made.get(auth)!;
  });
  if (methods.every((one) => one === null)) return null;
  return new AuthPhase(methods, turns, reports, signIn === null ? null : cookiesModule().takeCookiesOff);
}

/** What users sign in by is loaded where a configuration asks for it. */
function signInModule(): typeof import("../features/auth/oidc/sign-in.ts") {
  return require("../features/auth/oidc/sign-in.ts") as typeof import("../features/auth/oidc/sign-in.ts");
}

function cookiesModule(): typeof import("../features/auth/oidc/session-cookies.ts") {
  return require("../features/auth/oidc/session-cookies.ts") as typeof import("../features/auth/oidc/session-cookies.ts");
}

/** Names the routes that have this `auth`: all of the server's, or one. */
function routesWith(auth: AuthConfig, { routes }: RuntimeConfig): string {
  const own = auth.scope === "server" ? undefined : routes.find((route) => route.auth === auth);
  if (own === undefined) return auth.scope;
  return JSON.stringify([own.prefix, own.path, own.hosts, ...(own.regex === "" ? [] : [own.regex])]);
}

/** What a limit's buckets are for. It stays the same across reloads that leave the route and the limit as they are. */
function purposeOf(limit: Pick<RateLimitConfig, "scope" | "key">, route: Route): string {
  if (limit.scope === "server" && limit.key !== "route") return "server";
  const { kind, path, exact, hosts, methods, match } = route.init;
  const own = match === undefined ? [] : [Buffer.from(match.id).toString("hex")];
  return `${limit.scope} ${JSON.stringify([kind.name, path, exact, hosts, methods, ...own])}`;
}

/** Monitoring must see a gateway that refuses all other clients. */
function isUnlimited(route: Route): boolean {
  return isInternal(route) || (route.kind.isBuiltIn && route.path === "/health");
}

/** The names of agents, and the rules for them. docs/agents.md */
export interface AgentPolicy {
  readonly names: AgentVerifier;
  readonly rules: AgentRules;
}

/** Counters and log of agents. */
type AgentReports = RateLimitListener & SignatureListener;

/** Null if a configuration has no `agents`. */
export function agentPolicy(
  config: AgentsConfig,
  { client, reports }: { readonly client: ClientPolicyPorts; readonly reports: AgentReports },
): AgentPolicy | null {
  if (!config.enabled) return null;
  const { agentKeys, wallClock: clock, sharedClock, buckets } = client;
  const tokens = new TokenBuckets(buckets);
  const limitOf = (index: number): AgentLimit | null => {
    const { agent, rateLimit: rate } = config.rules[index]!;
    if (!rate.enabled || rate.requests === 0) return null;
    const limit = new RateLimit(
      { ...OF_AGENTS, ...rate, burst: rate.burst || rate.requests },
      tokens,
      `agents ${agent}`,
    );
    return {
      take(ex) {
        const seconds = limit.take(ex, sharedClock.nowMs);
        if (seconds === 0) return null;
        const refusal = limit.refusal(seconds);
        reports.onLimited(ex, refusal.status, seconds);
        return refusal;
      },
    };
  };
  return {
    names: new AgentVerifier({
      keys: agentKeys.known(config),
      nonces: config.nonce === "required" ? agentKeys.nonces : null,
      maxAgeMs: config.maxAgeMs,
      clock,
      listener: reports,
    }),
    rules: new AgentRules(config, limitOf),
  };
}

const OF_AGENTS = {
  key: "agent.name",
  keyHeader: "",
  ipv6Prefix: 64,
  status: 429,
  headers: false,
  reach: "node",
  scope: "server",
} as const;

/** A client has a whole network of this length in IPv6. */
const IPV6_PREFIX = 64;

/** Counters and limits of language models. */
export function modelPorts(
  counts: AiCounts,
  { buckets: shared, sharedClock, reports }: ClientPolicyPorts,
): RouteTypePorts["ai"] {
  const buckets = new TokenBuckets(shared);
  return {
    counts,
    limit: (tokens, purpose) => new TokenLimit(tokens, buckets, bucketKey(tokens.key, buckets, purpose), sharedClock),
    onLimited: (ex, status, seconds) => reports.onLimited(ex, status, seconds),
  };
}

function bucketKey(key: "user" | "client_ip" | "route", buckets: TokenBuckets, purpose: string): LimitKey {
  if (key === "route") return new OneKey(buckets, purpose);
  const make = key === "user" ? UserLimitKey : ClientLimitKey;
  return new make(buckets, purpose, IPV6_PREFIX);
}
