// Whatever a request says, a redirect leads to a server that routes.yaml names. docs/answers.md#redirects
import { expect, test } from "bun:test";
import fc from "fast-check";
import { RedirectTarget, redirectFault } from "../../src/features/answer/redirect-target.ts";
import { Pipeline, type Route } from "../../src/message/exchange.ts";
import { RouteKind } from "../../src/message/route.ts";
import { parseTemplate, Template } from "../../src/proto/template/template.ts";
import { forwardExchange, parsedHead } from "../unit/features/forward/forward-exchange.ts";

const RUNS = 4000;
const HOST = "asked.test";

const placeholder = fc.constantFrom(
  ...["{path}", "{rest}", "{uri}", "{query}", "{query.a}", "{header.X}", "{cookie.c}", "{host}", "{port}", "{scheme}"],
  ...["{match.1}", "{prefix}", "{method}"],
);
const literal = fc.constantFrom(
  "/",
  "//",
  "\\",
  "?",
  "#",
  "a",
  ".",
  "..",
  "@",
  ":",
  "x=",
  "&",
  "{{",
  "}}",
  "%2f",
  ":8443",
);
const start = fc.constantFrom(
  "",
  "/",
  "//",
  "https://",
  "http://file.test",
  "https://file.test/",
  "https://www.",
  "javascript:",
);
const to = fc
  .tuple(start, fc.array(fc.oneof(placeholder, literal), { maxLength: 6 }))
  .map(([first, rest]) => first + rest.join(""));

const piece = fc.constantFrom(
  ...[
    "/",
    "//",
    "\\",
    "%2f",
    "%5c",
    "%2e",
    ".",
    "..",
    "evil.test",
    "@",
    ":",
    ";",
    "?",
    "#",
    "%09",
    "%0d%0a",
    "%00",
    "%",
    "a",
  ],
  ...["https:", "\xef\xbc\x8f", "&", "=", "[", "]", "<", '"'],
);
const words = (max: number) => fc.array(piece, { maxLength: max }).map((all) => all.join(""));

test("the origin of a Location is one of the file's", () => {
  let led = 0;
  fc.assert(
    fc.property(to, words(8), words(6), words(4), (target, path, query, value) => {
      const template = parseTemplate(target);
      if (!(template instanceof Template) || redirectFault(template, true) !== "") return;
      const lines = [`GET /p${path}?a=${query} HTTP/1.1`, `Host: ${HOST}`, `X: ${value}`, `Cookie: c=${value}`];
      const head = parsedHead(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"));
      if (head === null) return;
      const ex = forwardExchange(head);
      ex.route = { kind: RouteKind.Plain, path: "/p", label: "/p", init: { exact: false } } as unknown as Route;
      ex.pipeline = new Pipeline([], [], []);
      ex.captures = ["", value];
      const location = new RedirectTarget(target).locationOf(ex);
      if (location === "") return;
      led++;
      const { origin, hostname } = new URL(location, `https://${HOST}/p/`);
      // What the file says of the server, with the host of the request in it.
      const named = /^https?:\/\/[^/?#\\{]*(?:\{host\}[^/?#\\{]*)?/.exec(target)?.[0].replace("{host}", HOST);
      expect(origin).toBe(named === undefined ? `https://${HOST}` : new URL(named).origin);
      expect(hostname).not.toContain("evil");
      expect(location).toMatch(/^[\x21-\x7e]+$/);
    }),
    { numRuns: RUNS, seed: 20_261_122 },
  );
  expect(led).toBeGreaterThan(RUNS / 20);
});
