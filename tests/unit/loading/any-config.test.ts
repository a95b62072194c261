import { describe, expect, test } from "bun:test";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { stringify } from "yaml";
import { inFolder, lines, load, readCases } from "./config-case.ts";

/** Every key that the good and the bad cases use, so that random trees often hit a real one. */
const KEYS = [
  ...new Set(
    ["good.yaml", "server-faults.yaml", "mesh-faults.yaml", "route-faults.yaml"]
      .flatMap(readCases)
      .flatMap((one) =>
        [...`${one.config ?? ""}\n${one.routes ?? ""}`.matchAll(/([a-z_0-9]+):/g)].map((match) => match[1]!),
      ),
  ),
];

const WORDS = [
  "",
  "static",
  "upstream",
  "public",
  "/a",
  "http://a:1",
  "10.0.0.0/8",
  "5s",
  "4MiB",
  "GET",
  "cert.pem",
  "key.pem",
  "*",
];

const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, depthSize: "medium" },
    fc.constantFrom(...WORDS),
    fc.integer({ min: -2, max: 70_000 }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("tree"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie("tree"), { maxKeys: 5 }),
  ),
}));

const section = fc.dictionary(fc.constantFrom(...KEYS), tree, { maxKeys: 12 });
const config = fc.record(
  { server: section, proxy: section, sidecar: section, transcoder: section },
  { requiredKeys: [] },
);
const route = fc.record(
  {
    type: fc.constantFrom("static", "upstream"),
    prefix: fc.constantFrom("/a", "/b", "/"),
    dir: fc.constantFrom("public", "nope"),
    target: fc.constantFrom("http://a:1", "x y"),
    targets: tree,
    headers: tree,
    tls: tree,
    rate_limit: tree,
    health_check: tree,
    host: tree,
    methods: tree,
  },
  { requiredKeys: ["type"] },
);

describe("any configuration", () => {
  test("either loads or has faults with a place and a text, and never throws", () => {
    inFolder((dir) => {
      cpSync(join(import.meta.dir, "../../vectors/config/files"), dir, { recursive: true });
      fc.assert(
        fc.property(fc.oneof(config, tree), fc.oneof(fc.array(route, { maxLength: 4 }), tree), (main, routes) => {
          writeFileSync(join(dir, "config.yaml"), stringify(main));
          writeFileSync(join(dir, "routes.yaml"), stringify(routes));
          const result = load(dir, {});
          if (result.ok) return;
          expect(result.faults.length).toBeGreaterThan(0);
          for (const line of lines([...result.faults])) expect(line).toMatch(/^(config|routes)\.yaml:\d+:\d+: \S/);
        }),
        { numRuns: 400 },
      );
    });
  });
});
