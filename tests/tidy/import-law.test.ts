import { describe, expect, test } from "bun:test";
import manifest from "../../package.json";
import { ALSO_ALLOWED, importCircles, importFaults, typeCircles } from "./import-law.ts";
import { SOURCE_MODULES } from "./source-module.ts";

const PACKAGES = Object.keys(manifest.dependencies);
const GATEWAY = SOURCE_MODULES.filter((module) => !module.path.startsWith("tests/"));

function importing(path: string, target: string, isTypeOnly = false) {
  return {
    path,
    namesBun: false,
    imports: [{ target, isOurs: /^(bin|src|tests)\//.test(target), isTypeOnly, line: 1 }],
  };
}

describe("the import law", () => {
  test("every file keeps it", () => {
    expect(GATEWAY.flatMap((module) => importFaults(module, PACKAGES))).toEqual([]);
  });

  test("no files import each other in a circle", () => {
    expect(importCircles(SOURCE_MODULES)).toEqual([]);
  });

  test.each([
    ["src/core/bytes.ts", "node:buffer"],
    ["src/core/bytes.ts", "src/message/method.ts"],
    ["src/message/method.ts", "src/config/size.ts"],
    ["src/proto/h1/parser.ts", "node:net"],
    ["src/features/waf/rules.ts", "src/features/cache/store.ts"],
    ["src/features/waf/rules.ts", "src/net/slab.ts"],
    ["src/features/waf/rules.ts", "fast-check"],
    ["src/net/slab.ts", "src/message/method.ts"],
    ["src/edge/server.ts", "src/upstream/pool.ts"],
    ["src/features/geo/place-finder.ts", "src/features/geo/control/databases.ts"],
    ["src/features/geo/place-finder.ts", "src/features/telemetry/events.ts"],
    ["src/features/geo/control/databases.ts", "src/features/cache/policy.ts"],
    ["src/features/geo/control/databases.ts", "src/control/control.ts"],
    ["src/worker/wire.ts", "src/control/control.ts"],
    ["src/control/wire.ts", "src/cli/flags.ts"],
    ["src/control/wire.ts", "tests/harness/origin.ts"],
    ["src/cli/flags.ts", "bin/edge.ts"],
    ["src/config/row.ts", "src/routes/route-types.ts"],
    ["src/config/row.ts", "src/features/geo/settings.ts"],
    ["src/settings/server-settings.ts", "src/routes/route-types.ts"],
    ["src/routes/static-route.ts", "src/loading/load-config.ts"],
    ["src/features/waf/rules.ts", "src/routes/runtime-config.ts"],
    ["src/orphan.ts", "src/core/bytes.ts"],
  ])("%s may not import %s", (path, target) => {
    expect(importFaults(importing(path, target), PACKAGES)).toHaveLength(1);
  });

  test.each([
    ["src/features/waf/rules.ts", "src/features/waf/score.ts"],
    ["src/features/waf/settings.ts", "src/config/row.ts"],
    ["src/features/telemetry/exposition.ts", "prom-client"],
    ["src/upstream/pool.ts", "src/memory/breakers.ts"],
    ["src/tools/multihop/standalone.ts", "src/control/control.ts"],
    ["src/features/geo/control/databases.ts", "src/features/geo/place-finder.ts"],
    ["src/features/geo/control/databases.ts", "src/features/telemetry/log-level.ts"],
    ["src/features/geo/control/databases.ts", "src/net/file-watch.ts"],
    ["src/control/control.ts", "src/features/geo/control/databases.ts"],
    ["bin/edge.ts", "src/cli/commands.ts"],
  ])("%s may import %s", (path, target) => {
    expect(importFaults(importing(path, target), PACKAGES)).toEqual([]);
  });

  test("at most five imports depart from the table", () => {
    expect(ALSO_ALLOWED.length).toBeLessThanOrEqual(5);
    const all = GATEWAY.flatMap(({ path, imports }) => imports.map(({ target }) => ({ path, target })));
    const unused = ALSO_ALLOWED.filter(
      ({ from, to }) => !all.some((one) => from.test(one.path) && to.test(one.target)),
    );
    expect(unused.map(({ why }) => why)).toEqual([]);
  });

  test("no files name each other in a circle of types", () => {
    expect(typeCircles(GATEWAY)).toEqual([]);
  });

  test("a circle of types is found", () => {
    const modules = [
      importing("src/core/a.ts", "src/core/b.ts", true),
      importing("src/core/b.ts", "src/core/a.ts", true),
      importing("src/core/c.ts", "src/core/a.ts"),
    ];
    expect(typeCircles(modules)).toEqual([["src/core/a.ts", "src/core/b.ts"]]);
  });

  test("a circle is found", () => {
    const circle = [importing("src/core/a.ts", "src/core/b.ts"), importing("src/core/b.ts", "src/core/a.ts")];
    expect(importCircles(circle)).toEqual(["src/core/a.ts → src/core/b.ts → src/core/a.ts"]);
    expect(importCircles([circle[0]!, importing("src/core/b.ts", "src/core/a.ts", true)])).toEqual([]);
  });
});
