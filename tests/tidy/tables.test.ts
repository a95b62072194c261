import { describe, expect, test } from "bun:test";
import { FAULTS } from "../../src/core/fault.ts";
import { ROUTE_TYPES } from "../../src/routes/route-types.ts";
import { place, SOURCE_MODULES } from "./source-module.ts";

const FAULT_FILE = "src/core/fault.ts";
const LIMITS_FILE = "src/core/limits.ts";

function snakeCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

function typeQuestions(code: string): string[] {
  const words = Object.keys(ROUTE_TYPES).join("|");
  return code.match(new RegExp(`(type [!=]== "(${words})"|[!=]== RouteKind\\.\\w+|case "(${words})":)`, "g")) ?? [];
}

describe("tables", () => {
  test("every Fault has its row, in the same order and labelled by its name", () => {
    const members = SOURCE_MODULES.find((module) => module.path === FAULT_FILE)?.enums.get("Fault") ?? [];
    expect(members.length).toBeGreaterThan(1);
    expect(FAULTS.map((row) => row.label)).toEqual(members.map(snakeCase));
  });

  test("every limit is used", () => {
    const limits = SOURCE_MODULES.find((module) => module.path === LIMITS_FILE)?.exports ?? [];
    expect(limits.length).toBeGreaterThan(1);
    const others = SOURCE_MODULES.filter((module) => /^(bin|src)\//.test(module.path) && module.path !== LIMITS_FILE);
    const code = others.map((module) => module.text).join("\n");
    const unused = limits.filter((limit) => limit.isConstant && !new RegExp(`\\b${limit.name}\\b`).test(code));
    expect(unused.map((limit) => limit.name)).toEqual([]);
  });

  test("nothing asks which type or kind a route has: its row says what it needs", () => {
    expect(typeQuestions('route.type === "static"')).toHaveLength(1);
    expect(typeQuestions("if (ex.route!.kind === RouteKind.Static) return")).toHaveLength(1);
    const asking = SOURCE_MODULES.filter(({ path }) => path.startsWith("src/")).flatMap((module) =>
      typeQuestions(module.text).map((found) => `${module.path}: ${found}`),
    );
    expect(asking).toEqual([]);
  });

  test("every exported function of src says what it is for", () => {
    const silent = SOURCE_MODULES.filter((module) => /^src\/.*(?<!\.d)\.ts$/.test(module.path)).flatMap((module) =>
      module.exports
        .filter((each) => each.isFunction && !each.isDocumented)
        .map((each) => `${place(module, each.line)}: ${each.name}`),
    );
    expect(silent).toEqual([]);
  });
});
