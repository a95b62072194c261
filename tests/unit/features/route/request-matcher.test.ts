// docs/routing.md#match
import { describe, expect, test } from "bun:test";
import type { MatchConfig } from "../../../../src/config/match-settings.ts";
import { RequestMatcher } from "../../../../src/features/route/request-matcher.ts";
import type { RequestHead } from "../../../../src/message/request-head.ts";
import { expressionIn } from "../../../../src/proto/expression/expression.ts";
import { parsedHead } from "../../../harness/parsed-head.ts";

/** What a client sends, as the parser leaves it. */
function headOf(target: string, lines: readonly string[], clientIp = ""): RequestHead {
  return parsedHead(`GET ${target}`, lines, {
    clientIp,
    agentName: "",
    country: COUNTRIES[clientIp] ?? "",
    canonicalPath: "",
    fromTrustedProxy: false,
    scheme: "http",
    listenerName: "",
  });
}

const COUNTRIES: Readonly<Record<string, string>> = { "192.0.2.1": "DE", "192.0.2.2": "FR" };
const NOTHING: MatchConfig = { header: [], query: [], cookie: [], clientIp: [], country: [], share: 1, stickyBy: "" };

function matcher(config: Partial<MatchConfig>, from = 0): RequestMatcher {
  return new RequestMatcher({ ...NOTHING, ...config }, "id", from);
}

describe("an expression for every value", () => {
  const query = (target: string): boolean =>
    matcher({ query: [["/^file$/i", "/^[a-z]+$/e"]] }).fits(headOf(target, []));

  test.each([
    ["/?file=abc", true],
    ["/?FILE=abc", true],
    ["/?file=abc&file=def", true],
    ["/?file=..&file=abc", false],
    ["/?File=..&file=abc", false],
    ["/?file=abc&f%69le=..", false],
    ["/?file=%61bc", false],
    ["/?file=a+c", false],
    ["/?file", false],
    ["/?other=abc", false],
    ["/", false],
  ])("of the query: %s", (target, expected) => {
    expect(query(target)).toBe(expected);
  });

  test("of cookies and fields", () => {
    const both = matcher({ header: [["X-Key", "/^ok$/ie"]], cookie: [["/^s$/i", "/^v$/e"]] });
    const fits = (...lines: string[]): boolean => both.fits(headOf("/", lines));
    expect(fits("X-Key: OK", "Cookie: s=v")).toBe(true);
    expect(fits("X-Key: OK", "Cookie: S=v; s=v")).toBe(true);
    expect(fits("X-Key: OK", "Cookie: S=bad; s=v")).toBe(false);
    expect(fits("X-Key: OK", "Cookie: s=v", "Cookie: s=bad")).toBe(false);
    expect(fits("X-Key: bad", "X-Key: ok", "Cookie: s=v")).toBe(false);
    expect(fits("Cookie: s=v")).toBe(false);
  });

  test("false is for no such name", () => {
    const none = matcher({ query: [["/^k$/i", false]] });
    expect([none.fits(headOf("/?K=1", [])), none.fits(headOf("/?kk=1", []))]).toEqual([false, true]);
  });
});

describe("match.header", () => {
  const fits = (wanted: string | boolean, ...lines: string[]) =>
    matcher({ header: [["X-Team", wanted]] }).fits(headOf("/", lines));

  test.each([
    ["blue", ["X-Team: blue"], true],
    ["blue", ["x-TEAM:   blue  "], true],
    ["blue", ["X-Team: Blue"], false],
    ["blue", ["X-Team: blue, red"], false],
    ["blue", ["X-Team: red", "X-Team: blue"], true],
    ["red, blue", ["X-Team: red", "X-Team: blue"], true],
    ["blue", ["X_Team: blue"], false],
    ["blue", ["X.Team: blue"], false],
    ["blue", ["XTeam: blue"], false],
    ["blue", ["Connection: X-Team", "X-Team: blue"], false],
    ["", ["X-Team:"], true],
    ["", [], false],
    ["/^b.ue$/", ["X-Team: blue"], true],
    ["/^b.ue$/", ["X-Team: blue!"], false],
    ["/BLUE/i", ["X-Team: a blue one"], true],
    ["/^x, y$/", ["X-Team: x", "X-Team: y"], true],
    [true, ["x-team: "], true],
    [true, ["X_TEAM: 1"], false],
    [true, [], false],
    [false, [], true],
    [false, ["X-Team: "], false],
    [false, ["X_Team: 1"], true],
    [false, ["Connection: x-team", "X-Team: 1"], true],
  ])("%p asked of %p", (wanted, lines, expected) => {
    expect(fits(wanted, ...lines)).toBe(expected);
  });
});

describe("match.cookie", () => {
  const fits = (wanted: string | boolean, ...lines: string[]) =>
    matcher({ cookie: [["beta", wanted]] }).fits(headOf("/", lines));

  test.each([
    ["1", ["Cookie: beta=1"], true],
    ["1", ["Cookie: a=b;beta=1 ; c=d"], true],
    ["1", ["Cookie: a=b", "Cookie: beta=1"], true],
    ["1", ['Cookie: beta="1"'], true],
    ["1", ["Cookie: beta=%31"], true],
    ["1", ["Cookie: beta=2; beta=1"], true],
    ["1", ["Cookie: Beta=1"], false],
    ["1", ["Cookie: xbeta=1"], false],
    ["1", ["Cookie: beta=11"], false],
    ["a=b", ["Cookie: beta=a=b"], true],
    [true, ["Cookie: beta"], true],
    [true, ["Cookie: betas=1"], false],
    [false, ["Cookie: a=beta"], true],
    [false, ["Cookie: beta="], false],
    ["/^v[12]$/", ["Cookie: beta=v2"], true],
  ])("%p asked of %p", (wanted, lines, expected) => {
    expect(fits(wanted, ...lines)).toBe(expected);
  });
});

describe("match.query", () => {
  const fits = (wanted: string | boolean, query: string) =>
    matcher({ query: [["v n", wanted]] }).fits(headOf(`/${query}`, []));

  test.each([
    ["2", "?v%20n=2", true],
    ["2", "?v+n=2", true],
    ["2", "?%76%20%6e=%32", true],
    ["2", "?a=1&v+n=3&v+n=2", true],
    ["2", "?v+n=22", false],
    ["2", "?V+N=2", false],
    ["a b", "?v+n=a+b", true],
    ["a+b", "?v+n=a+b", true],
    ["a b", "?v+n=a%20b", true],
    ["ü", "?v+n=%C3%BC", true],
    ["/^ü$/", "?v+n=%c3%bc", true],
    [true, "?v+n", true],
    [true, "?", false],
    [true, "", false],
    [false, "?x=v+n", true],
    [false, "?v+n&x", false],
  ])("%p asked of %p", (wanted, query, expected) => {
    expect(fits(wanted, query)).toBe(expected);
  });

  test("a fragment is no part of it", () => {
    expect(matcher({ query: [["a", "1"]] }).fits(headOf("/?a=1", []))).toBe(true);
  });
});

describe("match.client_ip and share", () => {
  test("networks", () => {
    const inside = matcher({
      clientIp: [{ text: "10.0.0.0/8", bytes: [...new Array(10).fill(0), 255, 255, 10, 0, 0, 0], bits: 104 }],
    });
    expect(inside.fits(headOf("/", [], "10.1.2.3"))).toBe(true);
    expect(inside.fits(headOf("/", [], "11.1.2.3"))).toBe(false);
    expect(inside.fits(headOf("/", [], "unknown"))).toBe(false);
  });

  const addresses = Array.from({ length: 4000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);

  test("a share is that part of the clients, the same ones each time, and a larger one has them all", () => {
    const taken = (share: number, from = 0) =>
      addresses.filter((ip) => matcher({ share }, from).fits(headOf("/", [], ip)));
    const tenth = taken(0.1);
    expect(tenth.length).toBeGreaterThan(320);
    expect(tenth.length).toBeLessThan(480);
    expect(taken(0.1)).toEqual(tenth);
    expect(taken(0.3)).toEqual(expect.arrayContaining(tenth));
    // The next route's share are others, and all of them together everyone.
    expect(taken(0.2, 0.1).filter((ip) => tenth.includes(ip))).toEqual([]);
    expect(new Set([...tenth, ...taken(0.2, 0.1), ...taken(0.7, 0.3)]).size).toBe(addresses.length);
    expect(taken(0.1, 1.0)).toEqual(tenth);
  });

  test("with sticky_by the cookie counts where there is one, from any address", () => {
    const half = matcher({ share: 0.5, stickyBy: "sid" });
    const fitsOf = (sid: string, ip: string) => half.fits(headOf("/", sid === "" ? [] : [`Cookie: sid=${sid}`], ip));
    const answers = new Set<boolean>();
    for (let i = 0; i < 200; i++) {
      const first = fitsOf(`s${i}`, "10.0.0.1");
      answers.add(first);
      for (const ip of addresses.slice(0, 5)) expect(fitsOf(`s${i}`, ip)).toBe(first);
    }
    expect(answers.size).toBe(2);
    expect(new Set(addresses.slice(0, 100).map((ip) => fitsOf("", ip))).size).toBe(2);
  });
});

test("all of it must hold", () => {
  const all = matcher({ header: [["A", "1"]], cookie: [["b", true]], query: [["c", false]] });
  expect(all.fits(headOf("/", ["A: 1", "Cookie: b=2"]))).toBe(true);
  expect(all.fits(headOf("/?c", ["A: 1", "Cookie: b=2"]))).toBe(false);
  expect(all.fits(headOf("/", ["A: 1"]))).toBe(false);
  expect(all.fits(headOf("/", ["Cookie: b=2"]))).toBe(false);
});

test("what is between slashes is an expression", () => {
  expect(["/a/", "/a/i", "/a\\/b/", "//", "a", "/a", "/", "a/b/"].map(expressionIn)).toEqual([
    "a",
    "(?i)a",
    "a\\/b",
    "",
    null,
    null,
    null,
    null,
  ]);
});

test("match.country is the client's, and an unknown one is in no list", () => {
  const fits = (country: readonly string[], client: string) => matcher({ country }).fits(headOf("/", [], client));
  expect(fits(["DE"], "192.0.2.1")).toBe(true);
  expect(fits(["DE"], "192.0.2.2")).toBe(false);
  expect(fits(["DE", "FR"], "192.0.2.2")).toBe(true);
  expect(fits(["DE"], "198.51.100.1")).toBe(false);
  expect(fits([], "198.51.100.1")).toBe(true);
});
