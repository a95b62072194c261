// For random tables with `match` and random requests, the router finds what a plain reading of docs/routing.md finds.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { MatchConfig } from "../../src/config/match-settings.ts";
import { buildRouter } from "../../src/features/route/build-router.ts";
import { RequestMatcher } from "../../src/features/route/request-matcher.ts";
import { RequestHead } from "../../src/message/request-head.ts";
import { RequestParser } from "../../src/proto/h1/request-parser.ts";
import { routeInit } from "../unit/features/route/route-inits.ts";
import { routed } from "../unit/features/route/routed.ts";

/** A route of the table, and what it asks of the request: a team, a version, both or nothing. */
interface Row {
  readonly label: string;
  readonly path: string;
  readonly exact: boolean;
  readonly methods: readonly string[];
  readonly hosts: readonly string[];
  readonly team: string | boolean | null;
  readonly version: string | null;
}

interface Asked {
  readonly path: string;
  readonly method: string;
  readonly host: string;
  readonly team: string | null;
  readonly version: string | null;
}

const path = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 3 }).map((segments) => `/${segments.join("/")}`);
const row: fc.Arbitrary<Row> = fc.record({
  label: fc.uuid(),
  path,
  exact: fc.boolean(),
  methods: fc.subarray(["GET", "POST"]),
  hosts: fc.subarray(["x.test", "*.x.test", "*.y.x.test"], { maxLength: 2 }),
  team: fc.constantFrom("blue", "red", "/^(blue|red)$/", true, false, null),
  version: fc.constantFrom("2", null, null),
});
const asked: fc.Arbitrary<Asked> = fc.record({
  path,
  method: fc.constantFrom("GET", "HEAD", "POST", "PUT"),
  host: fc.constantFrom("x.test", "y.x.test", "z.y.x.test", "other.test"),
  team: fc.constantFrom("blue", "red", "green", null),
  version: fc.constantFrom("2", "3", null),
});

test("the router finds what a search through the rules finds", () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 14 }), asked, (rows, request) => {
      expect(found(rows, request)).toEqual(reference(rows, request));
    }),
    { numRuns: 6000 },
  );
});

/** A label, or the fault with the methods that Allow has. */
function found(rows: readonly Row[], request: Asked): string {
  const inits = rows.map((one) => {
    const init = routeInit({ kind: "upstream", ...one });
    const config = configOf(one);
    return config === null ? init : { ...init, match: new RequestMatcher(config, one.label, 0) };
  });
  const router = buildRouter(inits);
  return routed(router, headOf(request));
}

function headOf({ path: target, method, host, team, version }: Asked): RequestHead {
  const lines = [`${method} ${target}${version === null ? "" : `?v=${version}`} HTTP/1.1`, `Host: ${host}`];
  if (team !== null) lines.push(`X-Team: ${team}`);
  const bytes = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
  const head = new RequestHead();
  const parser = new RequestParser(65_536);
  head.reset(bytes);
  parser.begin(0);
  expect(parser.parse(bytes, bytes.length, head)).toBeGreaterThan(0);
  return head;
}

function configOf({ team, version }: Row): MatchConfig | null {
  if (team === null && version === null) return null;
  return {
    header: team === null ? [] : [["X-Team", team]],
    query: version === null ? [] : [["v", version]],
    cookie: [],
    clientIp: [],
    country: [],
    share: 1,
    stickyBy: "",
  };
}

/**
 * docs/routing.md: routes whose match does not fit are not there. Of the others: the exact path, else the longest prefix; of the
 * routes there, the most specific host that has the method; there, those with match in the order of the file, then the rest.
 */
function reference(rows: readonly Row[], request: Asked): string {
  const there = rows.filter((one) => fits(one, request) && rank(one, request.host) >= 0);
  const exact = there.filter((one) => one.exact && one.path === request.path);
  const prefixes = there.filter((one) => !one.exact && isBelow(request.path, one.path));
  const longest = Math.max(...prefixes.map((one) => one.path.length));
  const place = exact.length > 0 ? exact : prefixes.filter((one) => one.path.length === longest);
  if (place.length === 0) return "404";
  const able = place.filter((one) => has(one, request.method));
  if (able.length === 0) {
    const allowed = ["GET", "HEAD", "POST"].filter((name) => place.some((one) => has(one, name)));
    return `405 ${allowed.join(", ")}`;
  }
  const best = Math.max(...able.map((one) => rank(one, request.host)));
  const last = able.filter((one) => rank(one, request.host) === best);
  return (last.find((one) => configOf(one) !== null) ?? last[0]!).label;
}

function fits({ team, version }: Row, request: Asked): boolean {
  if (version !== null && request.version !== version) return false;
  if (team === null) return true;
  if (typeof team === "boolean") return (request.team !== null) === team;
  if (team.startsWith("/")) return request.team === "blue" || request.team === "red";
  return request.team === team;
}

function has({ methods }: Row, method: string): boolean {
  return methods.length === 0 || methods.includes(method === "HEAD" ? "GET" : method);
}

function isBelow(whole: string, prefix: string): boolean {
  return prefix === "/" || whole === prefix || whole.startsWith(`${prefix}/`);
}

function rank({ hosts }: Row, name: string): number {
  if (hosts.length === 0) return 0;
  return Math.max(
    ...hosts.map((host) => {
      if (host === name) return 1000;
      return host.startsWith("*.") && name.endsWith(host.slice(1)) ? host.length : -1;
    }),
  );
}
