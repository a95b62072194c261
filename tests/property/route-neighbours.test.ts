// Routes that share a host are found by an index as they would be by a look at each. docs/security.md#paths-and-hosts
import { expect, test } from "bun:test";
import fc from "fast-check";
import { RoutesByHost } from "../../src/loading/route-neighbours.ts";
import type { RouteConfig } from "../../src/routes/route-config.ts";

const host = fc.constantFrom("a.test", "b.test", "x.a.test", "y.x.a.test", "test", "*.a.test", "*.x.a.test", "*.test");
const route: fc.Arbitrary<RouteConfig> = fc
  .uniqueArray(host, { maxLength: 2 })
  .map((hosts) => ({ hosts }) as unknown as RouteConfig);

function isBelow(one: string, pattern: string): boolean {
  return pattern.startsWith("*.") && one.replace(/^\*/, "").endsWith(pattern.slice(1));
}

function shares({ hosts: some }: RouteConfig, { hosts: others }: RouteConfig): boolean {
  if (some.length === 0 || others.length === 0) return true;
  return some.some((one) => others.some((other) => one === other || isBelow(one, other) || isBelow(other, one)));
}

test("the first other route with a host in common", () => {
  fc.assert(
    fc.property(fc.array(route, { maxLength: 6 }), (routes) => {
      const index = new RoutesByHost();
      for (const one of routes) index.add(one);
      for (const one of routes)
        expect(index.firstBeside(one)).toBe(routes.find((other) => other !== one && shares(one, other)) ?? null);
    }),
    { numRuns: 2000 },
  );
});
