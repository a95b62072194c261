// docs/routing.md#rewrite: whatever a client writes, what goes upstream is one valid path within what the file says.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { PathRewrite } from "../../src/features/rewrite/path-rewrite.ts";
import { rewritten } from "../unit/features/rewrite/rewritten-request.ts";

const REWRITES = [
  { prefix: "/app", within: "/new/in", rewrite: new PathRewrite({ path: "/new/in{rest}", regex: "", to: "" }) },
  { prefix: "/app", within: "/new/in/", rewrite: new PathRewrite({ path: "/new/in/{query.a}", regex: "", to: "" }) },
  {
    prefix: "/app",
    within: "/new/",
    rewrite: new PathRewrite({ path: "/new/{query.a}{query.b}/{path}", regex: "", to: "" }),
  },
  { prefix: "/", within: "/new/", rewrite: new PathRewrite({ path: "", regex: "^/app/(.*)$", to: "/new/{match.1}" }) },
  {
    prefix: "/",
    within: "/n",
    rewrite: new PathRewrite({ path: "", regex: "(.)(.)/(.*?)", to: "/n{match.3}/{match.1}{match.2}" }),
  },
  { prefix: "/app", within: "/", rewrite: new PathRewrite({ path: "{rest}", regex: "", to: "" }) },
  {
    prefix: "/",
    within: "/",
    rewrite: new PathRewrite({ path: "", regex: "^(.*)app(.*)$", to: "/{match.2}{match.1}" }),
  },
];
const PIECES = [
  "/",
  "/",
  "/app",
  "a",
  "..",
  ".",
  "%2e",
  "%2E%2e",
  "%2f",
  "%5c",
  "\\",
  "%25",
  "%252e",
  "%0d%0a",
  "%20",
  "%00",
  "%3f",
  "%23",
  ";",
  ";x=1",
  "//",
  "@",
  ":",
  "%C3%BC",
  "%ff",
  "{",
  "|",
  "'",
  "&a=",
  "?a=",
  "&b=",
  "+",
  "http:",
  "%",
];
const target = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((parts) => `/app${parts.join("")}`);

test("no value adds a query, a host, a line or a way out", () => {
  fc.assert(
    fc.property(fc.constantFrom(...REWRITES), target, ({ prefix, within, rewrite }, asked) => {
      const { path } = rewritten(rewrite, asked, prefix);
      if (typeof path !== "string") return;
      expect(path).toMatch(/^\/(?:[\w\-.~!$&'()*+,;=:@/]|%[0-9a-fA-F]{2})*$/);
      expect(path.startsWith(within)).toBe(true);
      expect(path).not.toMatch(/^\/(?:\/|%2f|%5c)/i);
      // Read by those who decode, once or many times, and take backslashes for slashes.
      for (let text = path, round = 0; round < 10; round++) {
        for (const segment of text.replaceAll("\\", "/").split("/")) expect(segment).not.toMatch(/^\.{1,2}(?:;.*)?$/s);
        text = text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
      }
    }),
    { numRuns: 20_000 },
  );
});
