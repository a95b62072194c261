// For random tables of routes and random requests, the router finds what sorting by the rule of docs/routing.md#which-route-wins finds.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { NO_MATCH } from "../../src/config/match-settings.ts";
import { buildRouter } from "../../src/features/route/build-router.ts";
import { RequestMatcher } from "../../src/features/route/request-matcher.ts";
import { RouteKind } from "../../src/message/route.ts";
import { LateExpression } from "../../src/proto/expression/expression.ts";
import { routeInit } from "../unit/features/route/route-inits.ts";
import { routed } from "../unit/features/route/routed.ts";
import { headOfTarget } from "../unit/proto/target/head-of-target.ts";

interface Row {
  readonly label: string;
  readonly path: string;
  readonly exact: boolean;
  /** "" for none. */
  readonly regex: string;
  readonly hasPrefix: boolean;
  readonly methods: readonly string[];
  readonly hosts: readonly string[];
  /** `match.method` */
  readonly only: readonly string[];
  readonly isBuiltIn: boolean;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];
const segments = fc.array(fc.constantFrom("a", "b", "c.css"), { maxLength: 3 });
const path = segments.map((parts) => `/${parts.join("/")}`);
const row: fc.Arbitrary<Row> = fc.record({
  label: fc.uuid(),
  path,
  exact: fc.boolean(),
  regex: fc.constantFrom("", "", "", "\\.css$", "^/a/", "^/(a|b)$"),
  hasPrefix: fc.boolean(),
  methods: fc.constantFrom([], [], ["GET"], ["POST"]),
  hosts: fc.subarray(["x.test", "y.x.test", "*.x.test", "*.y.x.test", "*.test"], { maxLength: 2 }),
  only: fc.constantFrom([], [], [], ["POST"], ["GET", "PUT"]),
  isBuiltIn: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
});
const rows = fc
  .array(row, { maxLength: 14 })
  // Endpoints of the gateway's own come first, are exact and name no host; an exact path asks for no expression here.
  .map((all) =>
    all.map((one) => {
      if (one.isBuiltIn) return { ...one, exact: true, regex: "", hosts: [], only: [], methods: ["GET"] };
      // What no request fits is a fault of the configuration.
      const methods = one.only.length === 0 || one.methods.some((name) => one.only.includes(name)) ? one.methods : [];
      if (one.exact) return { ...one, methods, regex: "" };
      return { ...one, methods, ...(one.regex !== "" && !one.hasPrefix ? { path: "/" } : {}) };
    }),
  )
  .map((all) => all.toSorted((one, other) => Number(other.isBuiltIn) - Number(one.isBuiltIn)));
const method = fc.constantFrom("GET", "HEAD", "POST", "PUT");
/** A host as clients write it, and the name that it is. */
const host = fc.constantFrom(
  ["x.test", "x.test"],
  ["X.Test.", "x.test"],
  ["y.x.test:8080", "y.x.test"],
  ["Z.Y.x.TEST", "z.y.x.test"],
  ["z.y.x.test.:80", "z.y.x.test"],
  ["other.example", "other.example"],
  ["", ""],
) as fc.Arbitrary<readonly [string, string]>;

for (const isHostFirst of [true, false])
  test(`${isHostFirst ? "host" : "path"} first: the router finds what sorting by the rule finds, however the host is spelled`, () => {
    fc.assert(
      fc.property(rows, path, method, host, (all, target, name, [authority, plain]) => {
        expect(found(all, isHostFirst, target, name, authority)).toBe(reference(all, isHostFirst, target, name, plain));
      }),
      { numRuns: 3000 },
    );
  });

/** A label, or the fault with the methods that Allow has. */
function found(all: readonly Row[], isHostFirst: boolean, target: string, name: string, authority: string): string {
  const router = buildRouter(
    all.map((one) => {
      const init = routeInit({ kind: "upstream", ...one });
      if (one.isBuiltIn) return { ...init, kind: RouteKind.BuiltIn };
      if (one.regex === "" && one.only.length === 0) return init;
      const expression = one.regex === "" ? null : new LateExpression(one.regex);
      return {
        ...init,
        match: new RequestMatcher({ ...NO_MATCH, method: one.only }, one.label, 0, expression),
        ...(isByRegex(one) ? { regex: one.regex } : {}),
      };
    }),
    isHostFirst,
  );
  return routed(router, headOfTarget(target, name, authority));
}

/** Where a route stands: of two, the first that differs decides; the higher goes before. */
function ranks(one: Row, isHostFirst: boolean, name: string): number[] {
  const ofHost = hostRank(one, name);
  const kind = one.exact ? 2 : isByRegex(one) ? 1 : 0;
  const length = kind === 0 ? one.path.length : 0;
  return isHostFirst ? [ofHost, kind, length] : [kind, length, ofHost];
}

function reference(all: readonly Row[], isHostFirst: boolean, target: string, name: string, plain: string): string {
  const isThere = (one: Row, asked: string) => hostRank(one, plain) >= 0 && takes(one, target) && fits(one, asked);
  const there = all
    .filter((one) => isThere(one, name))
    .map((one, i) => ({ one, i, rank: ranks(one, isHostFirst, plain) }))
    .sort((a, b) => compared(b.rank, a.rank) || a.i - b.i);
  const exact = there.filter(({ one }) => one.exact && one.path === target).sort(byHost(plain));
  // What the gateway itself answers holds on every host, unless a host's own route has just that path.
  const first = exact[0]?.one;
  const holdsEverywhere = first !== undefined && hostRank(first, plain) === 0 && exact.some(({ one }) => one.isBuiltIn);
  const winner = holdsEverywhere ? first : there[0]?.one;
  if (winner === undefined) return "404";
  const able = (asked: string) =>
    all
      .filter((one) => isThere(one, asked) && isSamePlace(one, winner) && has(one, asked))
      .map((one, i) => ({ one, i }))
      .sort(
        (a, b) =>
          hostRank(b.one, plain) - hostRank(a.one, plain) ||
          Number(b.one.isBuiltIn) - Number(a.one.isBuiltIn) ||
          Number(isChoosy(b.one)) - Number(isChoosy(a.one)) ||
          a.i - b.i,
      );
  const own = able(name)[0];
  if (own !== undefined) return own.one.label;
  return `405 ${METHODS.filter((asked) => able(asked).length > 0).join(", ")}`;
}

/** A prefix has its routes with an expression among the others. */
function isSamePlace(one: Row, other: Row): boolean {
  if (one.exact !== other.exact || one.path !== other.path || isByRegex(one) !== isByRegex(other)) return false;
  return !isByRegex(one) || one.regex === other.regex;
}

function isByRegex({ exact, regex, hasPrefix }: Row): boolean {
  return !exact && regex !== "" && !hasPrefix;
}

function byHost(plain: string) {
  return (a: { readonly one: Row }, b: { readonly one: Row }) => hostRank(b.one, plain) - hostRank(a.one, plain);
}

function compared(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((one, i) => one !== b[i]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

function takes({ path: own, exact, regex }: Row, target: string): boolean {
  if (exact) return own === target;
  const isBelow = own === "/" || target === own || target.startsWith(`${own}/`);
  return isBelow && (regex === "" || new RegExp(regex).test(target));
}

function fits({ only }: Row, name: string): boolean {
  return only.length === 0 || only.includes(name === "HEAD" ? "GET" : name);
}

function has({ methods }: Row, name: string): boolean {
  return methods.length === 0 || methods.includes(name === "HEAD" ? "GET" : name);
}

function isChoosy({ regex, only }: Row): boolean {
  return regex !== "" || only.length > 0;
}

/** 0 for any host, the length of the pattern for a match, more for a full name; -1 for none. */
function hostRank({ hosts }: Row, name: string): number {
  if (hosts.length === 0) return 0;
  return Math.max(
    ...hosts.map((one) => {
      if (one === name) return 1000;
      return one.startsWith("*.") && name.endsWith(one.slice(1)) ? one.length : -1;
    }),
  );
}
