import { describe, expect, test } from "bun:test";
import { FAULTS } from "../../src/core/fault-rows.ts";
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

/** What runs elsewhere (a browser, a user's module, a test of one), is a tool, is asked itself, or is that one way. */
const ASKS_BY_ITSELF =
  /^src\/(net\/outbound-request\.ts|features\/dashboard\/page\/|features\/functions\/|tools\/|demo\/|cli\/gateway-address\.ts)/;

/** The code without its comments and texts. */
function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, "");
}

describe("tables", () => {
  test("every Fault has its row, in the same order and labelled by its name", () => {
    const members = SOURCE_MODULES.find((module) => module.path === FAULT_FILE)?.enums.get("Fault") ?? [];
    expect(members.length).toBeGreaterThan(1);
    expect(FAULTS.map((row) => row.label)).toEqual(members.map(snakeCase));
  });

  test("every bound of core/limits.ts is shared by two folders or features; any other stands beside what it bounds", () => {
    const bounds = SOURCE_MODULES.find((module) => module.path === LIMITS_FILE)?.exports ?? [];
    expect(bounds.length).toBeGreaterThan(1);
    expect(bounds.length).toBeLessThanOrEqual(60);
    const code = SOURCE_MODULES.filter(({ path }) => path.startsWith("src/") && path !== LIMITS_FILE);
    const rooms = (name: string) => {
      const users = code.filter(({ text }) => new RegExp(`\\b${name}\\b`).test(text));
      return new Set(users.map(({ path }) => /^src\/(features\/)?[^/]+/.exec(path)?.[0]));
    };
    expect(bounds.filter(({ name }) => rooms(name).size < 2).map(({ name }) => name)).toEqual([]);
  });

  test("nothing asks which type or kind a route has: its row says what it needs", () => {
    expect(typeQuestions('route.type === "static"')).toHaveLength(1);
    expect(typeQuestions("if (ex.route!.kind === RouteKind.Static) return")).toHaveLength(1);
    const asking = SOURCE_MODULES.filter(({ path }) => path.startsWith("src/")).flatMap((module) =>
      typeQuestions(module.text).map((found) => `${module.path}: ${found}`),
    );
    expect(asking).toEqual([]);
  });

  test("the gateway asks other services by outboundRequest alone, which verifies certificates and bounds what comes", () => {
    const calls = /(?:\b(?:await|return|void)|=>?|[(,?:&|])\s*fetch\(|\bimport\("node:https"\)/g;
    expect("await fetch(url)".match(calls)).toHaveLength(1);
    const elsewhere = SOURCE_MODULES.filter(
      ({ path }) => path.startsWith("src/") && !ASKS_BY_ITSELF.test(path),
    ).flatMap((module) => [...codeOf(module.text).matchAll(calls)].map(([found]) => `${module.path}: ${found}`));
    expect(elsewhere).toEqual([]);
  });

  test("clients of HTTP are made in known places, each of which verifies certificates", () => {
    const clients = /^(node:(http|https|http2)|@connectrpc\/connect-node)$/;
    const known = [
      // What the package for ACME asks, and what becomes of it.
      "src/features/acme/control/acme-client-authority.ts",
      "src/features/acme/control/last-problem.ts",
      "src/upstream/outbound-grpc.ts",
    ];
    const users = SOURCE_MODULES.filter(
      ({ path, imports }) =>
        path.startsWith("src/") &&
        !ASKS_BY_ITSELF.test(path) &&
        imports.some(({ target, isTypeOnly }) => !isTypeOnly && clients.test(target)),
    );
    expect([...new Set(users.map(({ path }) => path))].sort()).toEqual(known);
  });

  test("every thread verifies certificates before it loads anything that asks", () => {
    const entries = SOURCE_MODULES.filter(({ path }) => /^bin\/(?!main\.ts$)/.test(path));
    expect(entries.length).toBeGreaterThan(5);
    expect(entries.filter(({ text }) => !text.includes("\nverifyTls();")).map(({ path }) => path)).toEqual([]);
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
