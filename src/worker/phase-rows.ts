import type { EndTapName, HeadTapName, PhaseName } from "./pipeline.ts";

/** What docs/phases.md says of a phase, in Markdown. The order is that of pipeline.ts. */
interface PhaseRow {
  /** What puts it into the list; "" for one that is always there, "body" for requests with one. */
  readonly needs: string;
  readonly reads: string;
  /** What it may change. */
  readonly sets: string;
  /** The responses that it may end a request with. */
  readonly ends: string;
  /** Why it is at its place. */
  readonly why: string;
}

/** A row for each phase of the way down. */
export const PHASE_ROWS: Readonly<Record<PhaseName, PhaseRow>> = {
  counters: {
    needs: "",
    reads: "",
    sets: "the number of requests under way",
    ends: "",
    why: "First, so that every request is counted, whatever responds.",
  },
  http01: {
    needs: "ACME, or no route that could take the path",
    reads: "path, method",
    sets: "the route of challenges",
    ends: "200, 400, 404, 405",
    why: "Before everything that may refuse. A certificate authority comes from any address, in clear text, and must get its response even if firewall, redirects or limits would refuse it. Otherwise a rule that you add could keep a certificate from its renewal.",
  },
  clientAddress: {
    needs: "`trusted_proxies`",
    reads: "peer, `X-Forwarded-For`",
    sets: "the client's address; whether identity fields count",
    ends: "",
    why: "Before all rules about clients: it decides who is asking, and everything after it can rely on that.",
  },
  bans: {
    needs: "[`bans`](bans.md)",
    reads: "client's address",
    sets: "",
    ends: "403",
    why: "Right after `clientAddress`, which says who asks behind a trusted proxy: nothing is paid for a banned client. Clients without a proxy are refused before, when they connect.",
  },
  trace: {
    needs: "[`telemetry`](tracing.md)",
    reads: "`traceparent`, whether the client is trusted",
    sets: "its trace",
    ends: "",
    why: "After `clientAddress`, since it continues the trace of a trusted client alone, and before everything that may refuse: refusals have their spans.",
  },
  passedNames: {
    needs: "a [pass-through](streams.md#tls-pass-through)",
    reads: "host, scheme",
    sets: "",
    ends: "421",
    why: "Before everything that goes by the host: a name whose connections are passed through is not served here.",
  },
  hostDemands: {
    needs: "[`tls.hosts`](tls.md#tls-by-host) with other client certificates",
    reads: "host, the name in the handshake",
    sets: "",
    ends: "421",
    why: "Before everything that goes by the host: a host that demands client certificates is served on connections that demanded them, and on no others.",
  },
  identityFields: {
    needs: "a method of `auth` that sets fields, names by which something is chosen, `pass_identity_headers`",
    reads: "all fields",
    sets: "which fields of the client do not go on",
    ends: "",
    why: "Before everything that reads fields: a client's own value for a name that a method of `auth` sets decides nothing: no route's `match`, no key of a rate limit, no placeholder. Nor does [another spelling](security.md#one-key) of a name by which the configuration goes.",
  },
  serverAddressRules: {
    needs: "`ip_rules`",
    reads: "client's address, country",
    sets: "",
    ends: "403",
    why: "Before `waf`, because these rules are cheap and the firewall is not.",
  },
  waf: {
    needs: "`waf`",
    reads: "raw target, chosen fields; the route, if one has its own `waf`",
    sets: "score",
    ends: "403; a rule's response",
    why: "Before the routes, so that an attack is refused and reported as one, also if no route would take its path. It sees the raw target, because canonical paths hide the attempt. If a route has [its own firewall](waf.md#at-a-route), the phase asks the routing phases which route they will find, and leaves no trace of that.",
  },
  routeExact: {
    needs: "",
    reads: "path, host, method, what `match` asks",
    sets: "route, canonical path, path to forward",
    ends: "405, 413, 501",
    why: "Before `prefixGuard`: a path that leads out of a mount and to an exact route is a request for that route. `match` is a part of finding a route, so it sees the results of the phases before: the client's address, which fields only a trusted proxy may send, and a head that passed the firewall. A table without `match` asks nothing of the kind.",
  },
  httpsRedirect: {
    needs: "`tls.redirect_http` or `redirect_https` of a listener",
    reads: "route, scheme, path",
    sets: "",
    ends: "301, 308, 400",
    why: "After the exact routes, since the built-in endpoints are exempt, and before the prefixes, so that no route needs to know of it. Before `corsPreflight`, whose preflight in clear text learns of TLS by the redirect.",
  },
  corsPreflight: {
    needs: "`cors`",
    reads: "method, `Origin`",
    sets: "",
    ends: "204",
    why: "After the exact routes and before the prefixes, for the reasons of `httpsRedirect`.",
  },
  prefixGuard: {
    needs: "static mounts",
    reads: "raw path, host",
    sets: "",
    ends: "403",
    why: "Before `pathEscapes`: both refuse paths that may be read in two ways, and the guard's 403 says more than a 400.",
  },
  pathEscapes: {
    needs: "",
    reads: "raw path",
    sets: "",
    ends: "400",
    why: "Before `routePrefix`, so that no prefix is compared with a path that may be read in two ways.",
  },
  routePrefix: {
    needs: "",
    reads: "canonical path, host, method, what `match` asks",
    sets: "route, what of the path goes on",
    ends: "204, 400, 404, 405, 413, 501",
    why: "After all that refuses a path as such. From here on every request has its route.",
  },
  allowedMethods: {
    needs: "`allowed_methods`",
    reads: "route, method",
    sets: "",
    ends: "405",
    why: "Right after the route is known, like the 405 of a path whose routes lack the method: no counter, bucket or lookup comes first. `corsPreflight` comes before, so that a browser may ask.",
  },
  routeAddressRules: {
    needs: "a route's `ip_rules`",
    reads: "route, client's address, country",
    sets: "",
    ends: "403",
    why: "Right after the route is known, before anything is read or looked up for it: a client that a route refuses must not get its stored responses, nor have its body read.",
  },
  maintenance: {
    needs: "a `maintenance`",
    reads: "route, client's address",
    sets: "",
    ends: "503",
    why: "Before everything that counts, reads or looks up: a refused request costs no token of a rate limit, and nothing stored is served. It is after the rules of addresses, so that clients that may not come at all get their 403.",
  },
  shedding: {
    needs: "`overload`",
    reads: "route",
    sets: "",
    ends: "503",
    why: "As soon as the route says how much the request matters, so that a shed request costs as little as it can. It is after `maintenance`, whose response costs no more and says why.",
  },
  rateLimit: {
    needs: "`rate_limit`",
    reads: "route, client's address or a field",
    sets: "its bucket",
    ends: "429",
    why: "Before `bots` and `auth`, whose work and whose guesses it limits, and after `maintenance`.",
  },
  agents: {
    needs: "[`agents`](agents.md)",
    reads: "the fields and components that a signature covers",
    sets: "the agent's name",
    ends: "402, 403, 429",
    why: "Before `bots`, which lets agents in that a rule allows, and after `rateLimit`, so that a client that sends many wrong signatures is limited first. The signature is verified earlier if a `match`, a key of a rate limit or a rule asks for the name.",
  },
  pageFields: {
    needs: "[`ssi`](ssi.md)",
    reads: "route, all fields",
    sets: "the fields of requests for parts of the page",
    ends: "",
    why: "Before `bots`, `waitingRoom` and `auth`, which take cookies and credentials off: each part goes through all of them with its own.",
  },
  bots: {
    needs: "`bots`",
    reads: "route, client's address, `User-Agent`, cookies and a few more fields",
    sets: "that the gateway's own cookies do not go on",
    ends: "403",
    why: "After `rateLimit`, so that trying at tasks, the pages of tasks and questions to name servers are limited for each client, and before `auth`: a client that has not shown to be a browser guesses no passwords. After the rules of addresses and the firewall, whose 403 is final, and `maintenance`: no one is asked to work for a page that is not there. Before bodies and the cache, for the same reasons as `auth`.",
  },
  waitingRoom: {
    needs: "a [`waiting_room`](waiting-room.md)",
    reads: "route, path, client's address, cookies of rooms, which it takes off",
    sets: "the cookie of a visitor who comes in",
    ends: "503",
    why: "After `bots`, so that programs that must solve a task take no place before they have, and before `auth`: a visitor who waits costs no look-up of passwords and no call of a sign-in service.",
  },
  auth: {
    needs: "`auth`",
    reads: "route, `Authorization`, cookies of sessions, which it takes off, the client's certificate",
    sets: "who it is, fields of the request and of the response",
    ends: "3xx, 401, 403, 429, 503",
    why: "After `rateLimit`, so that guessing passwords is limited, and before bodies and the cache: nothing is read from, or stored for, a client that may not come in.",
  },
  userRateLimit: {
    needs: "`rate_limit` with `key: user`",
    reads: "route, who it is, else client's address",
    sets: "its bucket",
    ends: "429",
    why: "After `auth`: only `auth` knows whose bucket it is, and no request takes from a bucket without its credentials.",
  },
  userShedding: {
    needs: "`overload`, and a route with `auth`",
    reads: "route, user",
    sets: "",
    ends: "503",
    why: "After `auth`: users who have signed in go last, and only `auth` tells who has.",
  },
  concurrency: {
    needs: "a `concurrency`",
    reads: "route, client's address",
    sets: "its places, or its turn in a queue",
    ends: "503",
    why: "After everything that asks who the client is, so that no place goes to a client that may not come in, and before `wafBody`: a request that gets no place does not cost the look at its body. A request without a body that the cache may respond to passes.",
  },
  bodyLimit: {
    needs: "body",
    reads: "route, framing",
    sets: "the limit of this body",
    ends: "413, 501",
    why: "Before `wafBody`: edge refuses a body that is too large before it holds one byte of it. The same holds for `Expect: 100-continue`, which the first phase that wants the body answers.",
  },
  wafBody: {
    needs: "body, `waf`",
    reads: "the first bytes of the body",
    sets: "score",
    ends: "400, 403, 408, 413, 503",
    why: "Before `cacheLookup` and `ingest`: no origin sees the beginning of a body that is refused.",
  },
  pacing: {
    needs: "`limit_rate`",
    reads: "route",
    sets: "that the body goes out at no more than so many bytes a second",
    ends: "",
    why: "Before all phases that stand between a handler and its client: it counts bytes as they are sent, compressed and from the cache as well.",
  },
  responseFields: {
    needs: "a [placeholder](placeholders.md) in `headers.response`",
    reads: "route",
    sets: "the fields that its response gets",
    ends: "",
    why: "Before `cacheLookup`: fields with values of the request are added on the way from the cache to the client, so that no stored response has them.",
  },
  errorPages: {
    needs: "`errors.intercept`",
    reads: "route, `Accept`",
    sets: "that errors of the origin become pages",
    ends: "",
    why: "Before `cacheLookup`, so that pages go around the cache, which keeps the origin's response.",
  },
  responseRules: {
    needs: "`waf.rules` for responses",
    reads: "the response's head, on its way",
    sets: "",
    ends: "what a rule says",
    why: "Before `cacheLookup`, so that rules judge responses of the cache by the request that gets them. `waf.responses` is no phase: it stands around the handler, so that it sees the origin's response before a page, a coding or the cache changes it, and for the cache's own fetches as well.",
  },
  contentCoding: {
    needs: "`compression`",
    reads: "route, `Accept-Encoding`",
    sets: "`Accept-Encoding`, written anew",
    ends: "",
    why: "Before `cacheLookup`: the cache's key, the origin and the handler go by the same encodings.",
  },
  cacheLookup: {
    needs: "`cache`",
    reads: "route, key, `Cache-Control`",
    sets: "the cache's part; query and `Accept-Encoding` by `cache.key`",
    ends: "a stored response, 504; the response to PURGE",
    why: "Before `ingest`: requests with a body are no business of the cache; those without have nothing to ingest.",
  },
  fetchConcurrency: {
    needs: "a `concurrency` at a route with `cache`",
    reads: "route, client's address",
    sets: "its places, or its turn in a queue",
    ends: "503",
    why: "After `cacheLookup`: a stored response takes no place, and is sent however busy the origin is.",
  },
  ingest: {
    needs: "body, `normalize`",
    reads: "body",
    sets: "framing, length, trailers as fields",
    ends: "400, 408, 413, 431, 503",
    why: "After all that may refuse by the head: a whole body is read and held here.",
  },
  wafTrailers: {
    needs: "body, `waf`",
    reads: "fields that came as trailers",
    sets: "score",
    ends: "403",
    why: "After `ingest`, since trailers come last. If they stream, the same rules judge them on their way.",
  },
  traceFields: {
    needs: "`telemetry`",
    reads: "its trace",
    sets: "`traceparent`, `tracestate`",
    ends: "",
    why: "After all that reads the client's fields, and before `hooks`, whose modules see the fields that go on.",
  },
  hooks: {
    needs: "`hooks` of a route",
    reads: "the head; with `bodies` the bodies of the request and of the response",
    sets: "method, path, fields and body; the response",
    ends: "413, 500, 502, 503, 504",
    why: "Last before the handler, since a module of the route works for the handler: the cache stores the response of `onResponse`, and a stored response calls no hook.",
  },
  dispatch: {
    needs: "",
    reads: "route",
    sets: "",
    ends: "whatever the route's handler answers",
    why: "The end of the way down: every phase before it has let the request pass.",
  },
};

/** What docs/phases.md says of a tap. */
export interface TapRow {
  readonly needs: string;
  readonly does: string;
}

/** A row for each tap that sees the head of a response. */
export const HEAD_TAP_ROWS: Readonly<Record<HeadTapName, TapRow>> = {
  cacheStore: {
    needs: "`cache`",
    does: "reports the cache's result (`X-Cache`, `Cache-Status`), removes an origin's `Age`, invalidates after unsafe methods",
  },
  cors: { needs: "`cors`", does: "replaces the origin's CORS fields" },
  matchVary: { needs: "a `match` of fields or cookies", does: "[names them](routing.md#match-and-caches) in `Vary`" },
  securityHeaders: { needs: "`security_headers`", does: "adds missing fields" },
  altSvc: { needs: "`http3`", does: "names the port of HTTP/3, on responses over TLS" },
  debugHeader: {
    needs: "`debug_header`",
    does: "tells operators the cause of a refusal or gateway error (`X-Edge-Fault`)",
  },
};

/** A row for each tap that runs when an exchange is over. */
export const END_TAP_ROWS: Readonly<Record<EndTapName, TapRow>> = {
  counters: { needs: "", does: "counts the response" },
  bans: { needs: "`bans`", does: "counts refusals by firewall and path guard" },
  forwardEnd: { needs: "", does: "ends with the breaker, the connection to the origin and the kept body" },
  concurrency: { needs: "a `concurrency`", does: "gives the places back, to what waits for one" },
  slo: { needs: "an `slo`", does: "counts the response for the objectives of its route" },
  ai: { needs: "an `ai`", does: "counts the tokens of the model, before the line of the log names them" },
  cacheStore: { needs: "`cache`", does: "lets go of the entry that was being sent" },
  accessLog: { needs: "`access_log`", does: "writes the line, with the results of the others" },
  spans: { needs: "`telemetry`", does: "ends the span; last, since the line of the log names the trace" },
};
