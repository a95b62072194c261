// Whom another gateway keeps out, the routes of `edge convert` keep out as well, or a note says that they do not. docs/migrate.md
import { describe, test } from "bun:test";
import fc from "fast-check";
import { parse } from "yaml";
import { type Product, planOf } from "../../src/tools/convert/convert.ts";
import { Draft } from "../../src/tools/convert/draft.ts";
import { holdsNetwork } from "../../src/tools/convert/networks.ts";
import { type Call, type Route, routed } from "../harness/converted-routes.ts";

const RUNS = 300;

const CALLS: fc.Arbitrary<Call> = fc.record({
  host: fc.constantFrom("a.test", "b.test", "c.test"),
  path: fc.constantFrom("/", "/a/x", "/a/b/y", "/b", "/c/z.php"),
  method: fc.constantFrom("GET", "POST", "DELETE"),
  address: fc.constantFrom("10.0.0.1", "10.1.0.1", "192.0.2.1"),
  fields: fc.record({ "X-Key": fc.constantFrom("", "1", "2") }),
});

interface Converted {
  readonly routes: readonly Route[];
  /** Why, by line. */
  readonly notes: ReadonlyMap<number, string>;
}

function converted(product: Product, text: string): Converted {
  const plan = planOf(product, "x", text);
  const routes = (parse(new Draft(plan, "x").routesText()) as { routes: Route[] }).routes;
  const notes = new Map<number, string>();
  // Those of line 0 are about no directive.
  for (const { place, why } of plan.ledger.notes().filter(({ place: at }) => at.line > 0))
    notes.set(place.line, `${notes.get(place.line) ?? ""} ${why}`);
  return { routes, notes };
}

function shown(text: string, call: Call, line: number, found: Route | null): string {
  return `${text}\n${JSON.stringify(call)}: refused by line ${line}, here ${JSON.stringify(found)}`;
}

/** A test of a request, as a condition writes it. */
interface Test {
  readonly text: string;
  fits(call: Call): boolean;
}

const from = (network: string) => (call: Call) => holdsNetwork(network, call.address);
const below = (path: string) => (call: Call) => call.path.startsWith(path);

describe("HAProxy", () => {
  const TESTS: readonly Test[] = [
    { text: "src 10.0.0.0/8", fits: from("10.0.0.0/8") },
    { text: "src 10.1.0.0/16", fits: from("10.1.0.0/16") },
    { text: "path_beg /a/", fits: below("/a/") },
    { text: "path_beg /a/b/", fits: below("/a/b/") },
    { text: "path /b", fits: ({ path }) => path === "/b" },
    { text: "path_end .php", fits: ({ path }) => path.endsWith(".php") },
    { text: "hdr(x-key) -m str 1", fits: ({ fields }) => fields["X-Key"] === "1" },
    { text: "hdr(x-key) -m found", fits: ({ fields }) => fields["X-Key"] !== "" },
    { text: "hdr(host) a.test b.test", fits: ({ host }) => host !== "c.test" },
    { text: "hdr(host) a.test", fits: ({ host }) => host === "a.test" },
    { text: "METH_POST", fits: ({ method }) => method === "POST" },
    { text: "http_auth(users)", fits: () => false },
  ];
  const term = fc.record({ test: fc.constantFrom(...TESTS), isNot: fc.boolean() });
  const condition = fc
    .record({
      isUnless: fc.boolean(),
      groups: fc.array(fc.array(term, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
    })
    .map(
      ({ isUnless, groups }): Test => ({
        text: `${isUnless ? "unless" : "if"} ${groups.map((all) => all.map(({ test: one, isNot }) => `${isNot ? "!" : ""}{ ${one.text} }`).join(" ")).join(" or ")}`,
        fits: (call) =>
          groups.some((all) => all.every(({ test: one, isNot }) => one.fits(call) !== isNot)) !== isUnless,
      }),
    );
  const rule = fc.record({
    what: fc.constantFrom(
      "http-request deny",
      "http-request allow",
      "http-request auth",
      "tcp-request connection reject",
      "tcp-request connection accept",
      "http-request redirect location /r",
    ),
    condition,
  });
  const list = fc.array(rule, { maxLength: 3 });
  type Rules = readonly { readonly what: string; readonly condition: Test }[];
  const text = (rules: Rules, at: number): [string, number][] =>
    rules.map(({ what, condition: { text: words } }, i) => [`  ${what} ${words}`, at + i]);

  /** The line that refuses a call, 0 where it is let in. */
  function refusedBy(call: Call, frontend: Rules, backend: Rules, first: readonly [number, number]): number {
    for (const kind of ["tcp-request", "http-request"] as const) {
      for (const [rules, line] of [
        [frontend, first[0]],
        [backend, first[1]],
      ] as const) {
        for (const [i, { what, condition: asked }] of rules.entries()) {
          if (!what.startsWith(kind) || !asked.fits(call)) continue;
          if (/deny|auth|reject/.test(what)) return line + i;
          if (what.includes("redirect")) return 0;
          break;
        }
      }
    }
    return 0;
  }

  test("what is refused stays refused, and without a note all else is let in", () => {
    fc.assert(
      fc.property(list, list, fc.array(CALLS, { minLength: 8, maxLength: 8 }), (frontend, backend, calls) => {
        const http = backend.filter(({ what }) => what.startsWith("http-request"));
        const top = text(frontend, 5);
        const bottom = text(http, 5 + frontend.length + 2);
        const lines = [
          "defaults",
          "  mode http",
          "frontend f",
          "  bind :80",
          ...top.map(([one]) => one),
          "  default_backend app",
          "backend app",
          ...bottom.map(([one]) => one),
          "  server s 127.0.0.1:9",
        ];
        const whole = lines.join("\n");
        const { routes, notes } = converted("haproxy", whole);
        for (const call of calls) {
          const line = refusedBy(call, frontend, http, [5, 5 + frontend.length + 2]);
          const found = routed(routes, call);
          const isOut = found === null;
          const words = notes.get(line) ?? "";
          const isWrong =
            line > 0 ? found?.type === "upstream" && !words.includes("gets in") : isOut && notes.size === 0;
          if (isWrong) throw new Error(shown(whole, call, line, found));
        }
      }),
      { numRuns: RUNS, includeErrorInReport: true },
    );
  });
});

describe("Caddy", () => {
  const TESTS: readonly Test[] = [
    { text: "remote_ip 10.0.0.0/8", fits: from("10.0.0.0/8") },
    { text: "remote_ip 10.1.0.0/16", fits: from("10.1.0.0/16") },
    { text: "path /a/*", fits: below("/a/") },
    { text: "path /b /a/b/*", fits: ({ path }) => path === "/b" || path.startsWith("/a/b/") },
    { text: "path *.php", fits: ({ path }) => path.endsWith(".php") },
    { text: "path_regexp ^/a/", fits: below("/a/") },
    { text: "path_regexp \\.php$", fits: ({ path }) => path.endsWith(".php") },
    { text: "header X-Key 1", fits: ({ fields }) => fields["X-Key"] === "1" },
    { text: "header X-Key", fits: ({ fields }) => fields["X-Key"] !== "" },
    { text: "host a.test", fits: ({ host }) => host === "a.test" },
    { text: "method POST", fits: ({ method }) => method === "POST" },
    { text: "expression 1==2", fits: () => false },
  ];
  const term = fc.record({ test: fc.constantFrom(...TESTS), isNot: fc.boolean() });
  const matcher = fc.uniqueArray(term, {
    minLength: 1,
    maxLength: 2,
    selector: ({ test: one }) => one.text.split(" ")[0],
  });
  const what = fc.constantFrom<readonly [string, boolean]>(
    ["respond @m 403", true],
    ["abort @m", true],
    ["error @m 401", true],
    ["basic_auth @m {\nu $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n}", true],
    ["crowdsec_auth @m", true],
    ["handle @m {\nrespond 403\n}", true],
    ["handle @m {\nreverse_proxy h:1\n}", false],
    [
      "handle @m {\nbasic_auth {\nu $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n}\nreverse_proxy h:2\n}",
      true,
    ],
  );

  test("what is refused stays refused", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ what, matcher }), { minLength: 1, maxLength: 3 }),
        fc.array(CALLS, { minLength: 8, maxLength: 8 }),
        (rules, calls) => {
          const blocks = rules.map(({ what: [words], matcher: terms }, i) => [
            `@m${i} {`,
            ...terms.map(({ test: one, isNot }) => `${isNot ? "not " : ""}${one.text}`),
            "}",
            ...words.replace("@m", `@m${i}`).split("\n"),
          ]);
          const whole = `:80 {\nroute {\n${blocks.flat().join("\n")}\nreverse_proxy h:3\n}\n}`;
          const { routes, notes } = converted("caddy", whole);
          for (const call of calls) {
            const at = rules.findIndex(({ matcher: terms }) =>
              terms.every(({ test: one, isNot }) => one.fits(call) !== isNot),
            );
            if (at < 0 || !rules[at]!.what[1]) continue;
            const found = routed(routes, call);
            const first = 3 + blocks.slice(0, at).flat().length;
            const own = Array.from(blocks[at]!, (_, i) => notes.get(first + i) ?? "").join();
            if (found?.type === "upstream" && !/let them in|gets in|go to the other routes/.test(own))
              throw new Error(shown(whole, call, first, found));
          }
        },
      ),
      { numRuns: RUNS, includeErrorInReport: true },
    );
  });
});

describe("nginx", () => {
  /** A directive of a location with what it refuses. */
  const GUARDS: readonly Test[] = [
    { text: "deny all;", fits: () => true },
    { text: "allow 10.0.0.0/8; deny all;", fits: (call) => !from("10.0.0.0/8")(call) },
    { text: "deny 10.1.0.0/16; allow 10.0.0.0/8; deny all;", fits: (call) => !call.address.startsWith("10.0.") },
    { text: "allow 10.0.0.0/8; deny 10.1.0.0/16;", fits: () => false },
    { text: "deny 10.1.0.0/16;", fits: from("10.1.0.0/16") },
    { text: "auth_basic x; auth_basic_user_file u;", fits: () => true },
    { text: "satisfy any; deny all; auth_basic x; auth_basic_user_file u;", fits: () => true },
    { text: "auth_request /nowhere;", fits: () => true },
    { text: "auth_jwt x;", fits: () => true },
    { text: "auth_jwt off;", fits: () => false },
    { text: "access_by_lua_file x.lua;", fits: () => true },
    { text: "internal;", fits: () => true },
    { text: "return 444;", fits: () => true },
    { text: "limit_except GET { deny all; }", fits: ({ method }) => method !== "GET" },
    {
      text: "limit_except GET { allow 10.0.0.0/8; deny all; }",
      fits: ({ method, address }) => method !== "GET" && address === "192.0.2.1",
    },
    { text: "if ($http_x_key != 1) { return 403; }", fits: ({ fields }) => fields["X-Key"] !== "1" },
    { text: "if ($http_x_key = 1) { return 444; }", fits: ({ fields }) => fields["X-Key"] === "1" },
    { text: 'if ($http_x_key = "") { return 403; }', fits: ({ fields }) => fields["X-Key"] === "" },
    { text: 'if ($http_x_key != "") { return 403; }', fits: ({ fields }) => fields["X-Key"] !== "" },
    { text: "if ($remote_addr != 10.0.0.1) { return 403; }", fits: ({ address }) => address !== "10.0.0.1" },
    { text: "if ($request_method !~ ^(GET|HEAD)$) { return 405; }", fits: ({ method }) => method !== "GET" },
    { text: "if ($request_method = POST) { return 405; }", fits: ({ method }) => method === "POST" },
    { text: "if ($host !~ ^(a|b)\\.test$) { return 444; }", fits: ({ host }) => host === "c.test" },
    { text: "if ($ssl_client_verify != SUCCESS) { return 403; }", fits: () => true },
  ];
  const guards = fc
    .subarray([...GUARDS], { maxLength: 2 })
    .filter((list) => list.filter(({ text }) => /allow|deny/.test(text)).length < 2);
  const place = fc.constantFrom(
    "location /a/",
    "location ^~ /a/b/",
    "location = /b",
    "location ~ ^/a/b/",
    "location /c/",
  );
  const holds = (where: string, path: string): boolean =>
    where.includes("=") ? path === "/b" : path.startsWith(where.split(/[ ^~]+/).at(-1)!);
  const inherits = (text: string): boolean => /^(allow|deny|satisfy|auth|access)/.test(text);

  test("what is refused stays refused", () => {
    fc.assert(
      fc.property(
        guards.filter((list) => list.every(({ text }) => !/internal|limit|return/.test(text) || text.startsWith("if"))),
        fc.uniqueArray(fc.record({ where: place, guards }), { maxLength: 3, selector: ({ where }) => where }),
        fc.array(CALLS, { minLength: 8, maxLength: 8 }),
        (top, locations, calls) => {
          const all = [...locations, { where: "location /", guards: [] as Test[] }];
          const lines = [
            "server {",
            "listen 80;",
            ...top.map(({ text }) => text),
            ...all.flatMap(({ where, guards: own }) => [
              `${where} {`,
              ...own.map(({ text }) => text),
              "proxy_pass http://h:1;",
              "}",
            ]),
            "}",
          ];
          const { routes } = converted("nginx", lines.join("\n"));
          for (const call of calls) {
            const fitting = all.filter(({ where }) => holds(where, call.path));
            const longest = fitting
              .filter(({ where }) => !where.includes(" ~ "))
              .sort((a, b) => b.where.replace("^~ ", "").length - a.where.replace("^~ ", "").length)[0]!;
            const exact = fitting.find(({ where }) => where.includes("="));
            const isFirm = longest.where.includes("^~");
            const chosen =
              exact ?? (isFirm ? longest : (fitting.find(({ where }) => where.includes(" ~ ")) ?? longest));
            const own = chosen.guards;
            const name = ({ text }: Test): string =>
              /^(allow|deny|satisfy)/.test(text) ? "allow" : text.split(" ")[0]!;
            const outer = top.filter((one) => !inherits(one.text) || !own.some((each) => name(each) === name(one)));
            // With "satisfy any", one is enough: not part of this model beside others.
            if ([...own, ...outer].some(({ text }) => text.startsWith("satisfy")) && own.length + outer.length > 1)
              continue;
            const refused = [...own, ...outer].find((one) => one.fits(call));
            const found = routed(routes, call);
            if (refused !== undefined && found !== null && found.type !== "redirect")
              throw new Error(`${refused.text} in\n${shown(lines.join("\n"), call, 0, found)}`);
          }
        },
      ),
      { numRuns: RUNS, includeErrorInReport: true },
    );
  });
});

describe("Traefik", () => {
  const TESTS: readonly Test[] = [
    { text: "ClientIP(`10.0.0.0/8`)", fits: from("10.0.0.0/8") },
    { text: "ClientIP(`10.1.0.0/16`)", fits: from("10.1.0.0/16") },
    { text: "PathPrefix(`/a/`)", fits: below("/a/") },
    { text: "Path(`/b`)", fits: ({ path }) => path === "/b" },
    { text: "Header(`X-Key`, `1`)", fits: ({ fields }) => fields["X-Key"] === "1" },
    { text: "Host(`a.test`)", fits: ({ host }) => host === "a.test" },
    { text: "Method(`POST`)", fits: ({ method }) => method === "POST" },
    { text: "PathRegexp(`[.]php$`)", fits: ({ path }) => path.endsWith(".php") },
  ];
  const term = fc.record({ test: fc.constantFrom(...TESTS), isNot: fc.boolean() });
  const rule = fc.array(term, { minLength: 1, maxLength: 2 });
  const middlewares = fc.subarray(["", "inside", "ten", "users", "ask", "away", "odd"], { maxLength: 2 });
  const keepsOut = (name: string, { address }: Call): boolean =>
    name === "inside" ? !address.startsWith("10.") : name === "ten" ? !address.startsWith("10.1.") : name !== "";

  test("what is refused stays refused, but where a rule is noted", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ rule, middlewares }), { minLength: 1, maxLength: 4 }),
        fc.array(CALLS, { minLength: 8, maxLength: 8 }),
        (routers, calls) => {
          const routerLines = routers.flatMap(({ rule: terms, middlewares: names }, i) => [
            `    r${i}:`,
            `      priority: ${100 - i}`,
            `      rule: "${terms.map(({ test: one, isNot }) => `${isNot ? "!" : ""}${one.text}`).join(" && ")}"`,
            "      service: s",
            `      middlewares: [${names.filter((one) => one !== "").join()}]`,
          ]);
          const whole = `http:\n  routers:\n${routerLines.join("\n")}\n  middlewares:
    inside: { ipAllowList: { sourceRange: ["10.0.0.0/8"] } }
    ten: { ipAllowList: { sourceRange: ["10.1.0.0/16"] } }
    users: { basicAuth: { users: ["u:$2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG"] } }
    ask: { forwardAuth: { address: "http://h:2/" } }
    odd: { jwt: { secret: x } }
  services: { s: { loadBalancer: { servers: [{ url: "http://h:1" }] } } }`;
          const { routes, notes } = converted("traefik", whole);
          for (const call of calls) {
            const at = routers.findIndex(({ rule: terms }) =>
              terms.every(({ test: one, isNot }) => one.fits(call) !== isNot),
            );
            const isOut = at < 0 || routers[at]!.middlewares.some((one) => keepsOut(one, call));
            const isNoted = (notes.get(3 + at * 5) ?? "").includes("go to the other routes");
            const found = routed(routes, call);
            if (isOut && !isNoted && found !== null) throw new Error(shown(whole, call, at, found));
          }
        },
      ),
      { numRuns: RUNS, includeErrorInReport: true },
    );
  });
});
