import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { get, TestSite, trial } from "./test-site.ts";

const site = new TestSite();
afterAll(() => site.dispose());
site.write("a.txt", "public");
site.write("dir/b.txt", "public");
site.write(".env", "SECRET");
site.write("dir/.git/config", "SECRET");
site.writeOutside("s.txt", "SECRET");
site.writeOutside("index.html", "SECRET");
site.link("out", "../outside");
site.link("out.txt", "../outside/s.txt");
site.link("dir/up", "../..");
site.link("self", ".");

const PIECES = ["a.txt", "dir", "b.txt", "out", "out.txt", "up", "self", "outside", "www", "s.txt", "index.html"];
const DOTS = [".", "..", "%2e%2e", "..%2f", ".env", ".git", "config", "%252e%252e", "..\\", "", "%00", "%", "\xff"];
const target = fc
  .array(fc.constantFrom(...PIECES, ...DOTS), { maxLength: 8 })
  .map((segments) => `/${segments.join("/")}`);

test("no path gives what is hidden or outside, whatever routing makes of it", () => {
  const mounts = [site.mount(), site.mount({ spa: true, fallback: "a.txt" }), site.mount({ fallback: "dir/b.txt" })];
  fc.assert(
    fc.property(target, fc.boolean(), fc.nat(2), (path, isCanonical, which) => {
      const made = trial("GET", path, {}, isCanonical ? undefined : path);
      mounts[which]!.handle(made.ex);
      expect(made.sink.text).not.toContain("SECRET");
      expect(made.sink.ended).toBe(made.sink.fault === null);
      expect(made.sink.field("Location") ?? "/").toMatch(/^\/(?![/\\])/);
    }),
    { numRuns: 3000 },
  );
  expect(site.openFiles()).toBe(0);
  expect(get(mounts[0]!, "/a.txt").text).toBe("public");
});
