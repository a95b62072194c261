import { isNetworkWithin } from "../config/cidr.ts";
import type { ConfigFault } from "../config/config-fault.ts";
import { type FieldTest, type MatchConfig, NO_MATCH } from "../config/match-settings.ts";
import { buildRouter } from "../features/route/build-router.ts";
import { matchedMethods } from "../features/route/request-matcher.ts";
import { placeKey } from "../loading/route-resolution.ts";
import type { Route, RouteInit } from "../message/exchange.ts";
import { METHOD_COUNT, type Method, methodName, RequestHead } from "../message/request-head.ts";
import { RequestParser } from "../proto/h1/request-parser.ts";
import { type RouteConfig, redirectListOf } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { isHostFirst, pathRouter, settingsByIndex } from "../worker/routing.ts";
import { routeByPath } from "./route-contest.ts";

/**
 * Warns of routes that no request reaches: the router that serves is asked for each with requests that are made for it, of every host and
 * method that it takes. What a route with `match` asks counts as held where what the other asks follows from it. docs/routing.md#routes-that-are-never-asked
 */
export function unreachedRoutes(config: RuntimeConfig): ConfigFault[] {
  const { routes } = pathRouter(config);
  const settings = settingsByIndex(config, routes);
  let asked: RouteConfig | null = null;
  const router = buildRouter(
    routes.map(({ init }, i) => {
      const other = settings[i] ?? null;
      return init.match === undefined || other === null
        ? init
        : {
            ...init,
            match: {
              ...NO_GROUPS,
              id: init.match.id,
              fits: (head: RequestHead, method: Method = head.method) =>
                asked !== null &&
                redirectListOf(other) === "" &&
                (other === asked || isFilled(other, asked)) &&
                hasMethod(other, method),
            },
          };
    }),
    isHostFirst(config),
  );
  const own = routes.length - config.routes.length;
  return config.routes.flatMap((route, i) => {
    if (redirectListOf(route) !== "") return [];
    asked = route;
    const index = own + i;
    const winner = firstWinner(router.routes[index]!, (head) => routeByPath(router, head));
    if (winner === null || winner.index === index) return [];
    const line = placeOf(winner, settings[winner.index] ?? null);
    const message = `no request reaches this route: all that it would take goes to ${line}; remove one, or give them different hosts, methods or match`;
    return [{ ...route.position, path: `routes[${i}].${placeKey(route)}`, message }];
  });
}

/** The route itself where some request reaches it; else one that a request for it went to; null if none of them went anywhere. */
function firstWinner(route: Route, ask: (head: RequestHead) => Route | null): Route | null {
  let other: Route | null = null;
  for (const head of samples(route)) {
    const winner = ask(head);
    if (winner === route) return route;
    other ??= winner;
  }
  return other;
}

/** Requests that a route would take if it were alone. */
function* samples({ init, allowedMethods }: Route): Generator<RequestHead> {
  for (const path of samplePaths(init)) {
    for (const host of init.hosts.length === 0 ? [UNNAMED_HOST] : init.hosts) {
      for (let method = 1; method < METHOD_COUNT; method++) {
        if (allowedMethods[method] === 0) continue;
        const head = sampleHead(`${methodName(method)} ${path}`, host.replace(/^\*/, UNNAMED_LABEL));
        if (head !== null) yield head;
      }
    }
  }
}

/** Paths below a prefix that hardly another route names. */
function samplePaths({ path, exact }: RouteInit): string[] {
  const escaped = encodeURI(path.replace(/\/?\*?$/, exact ? "$&" : ""));
  return exact ? [escaped] : [`${escaped}/${UNNAMED_LABEL}/${UNNAMED_LABEL}/${UNNAMED_LABEL}`, escaped || "/"];
}

function sampleHead(start: string, host: string): RequestHead | null {
  const bytes = Buffer.from(`${start} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, "latin1");
  const head = new RequestHead();
  head.reset(bytes);
  const parser = new RequestParser(bytes.length);
  parser.begin(0);
  return parser.parse(bytes, bytes.length, head) === bytes.length ? head : null;
}

function placeOf({ label, kind }: Route, settings: RouteConfig | null): string {
  if (settings === null)
    return kind.isBuiltIn ? `the endpoint ${label} of the gateway's own` : `the transcoder's ${label}`;
  return `the route in line ${settings.position.line}`;
}

/** Whether every request that one route takes has all that another asks. */
function isFilled(other: RouteConfig, asked: RouteConfig): boolean {
  const { regex, listeners } = other;
  const isElsewhere = asked.listeners.length === 0 || !asked.listeners.every((name) => listeners.includes(name));
  if (listeners.length > 0 && isElsewhere) return false;
  return (regex === "" || regex === asked.regex) && follows(other.match ?? NO_MATCH, asked.match ?? NO_MATCH);
}

/** Whether every request for which `asked` holds fits `other`. */
function follows(other: MatchConfig, asked: MatchConfig): boolean {
  return Object.values(FOLLOWS).every((holds) => holds(other, asked));
}

/** What follows from what, by each key of `match`: a key without its line does not compile. */
const FOLLOWS: Readonly<Record<keyof Required<MatchConfig>, (other: MatchConfig, asked: MatchConfig) => boolean>> = {
  // Requests of each method are made: see `hasMethod`.
  method: () => true,
  takesHeadWithGet: () => true,
  header: (other, asked) => other.header.every((test) => isImplied(test, asked.header, true)),
  query: (other, asked) => other.query.every((test) => isImplied(test, asked.query, false)),
  cookie: (other, asked) => other.cookie.every((test) => isImplied(test, asked.cookie, false)),
  clientIp: (other, asked) => other.clientIp.length === 0 || areWithin(asked, other),
  country: (other, asked) => isAmong(asked.country, other.country),
  agent: (other, asked) => isAmong(asked.agent, other.agent),
  ja4: (other, asked) => isAmong(asked.ja4, other.ja4),
  group: (other, asked) => isAmong(asked.group, other.group),
  http2: (other, asked) => isAmong(asked.http2, other.http2),
  share: (other) => other.share === 1,
  stickyBy: () => true,
};

/** Whether one list of values, of which a request must have one, is a part of another; an empty list takes every request. */
function isAmong(asked: readonly string[] = [], other: readonly string[] = []): boolean {
  return other.length === 0 || (asked.length > 0 && asked.every((one) => other.includes(one)));
}

function areWithin(asked: MatchConfig, other: MatchConfig): boolean {
  return (
    asked.clientIp.length > 0 &&
    asked.clientIp.every((one) => other.clientIp.some((wide) => isNetworkWithin(one, wide)))
  );
}

function isImplied([name, wanted]: FieldTest, asked: readonly FieldTest[], isHeader: boolean): boolean {
  return asked.some(([other, value]) => {
    const isSame = isHeader ? other.toLowerCase() === name.toLowerCase() : other === name;
    return isSame && (value === wanted || (wanted === true && value !== false));
  });
}

/** Whether a route's `match` takes a method. */
function hasMethod({ match }: RouteConfig, method: Method): boolean {
  const names = match?.method ?? [];
  return match === null || names.length === 0 || matchedMethods(names, match)[method] === 1;
}

const NO_GROUPS = { groupsOf: () => null };
/** A label that no route is likely to name. */
const UNNAMED_LABEL = "edge-check-sample";
const UNNAMED_HOST = `${UNNAMED_LABEL}.invalid`;
