import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { expandVariables } from "../../../src/config/variable-expansion.ts";
import { readVectors } from "../loading/config-case.ts";

interface Variables {
  readonly env: Readonly<Record<string, string>>;
  readonly cases: readonly (readonly [string, string | null])[];
}

describe("variables", () => {
  const { env, cases } = readVectors("variables.yaml") as Variables;
  for (const [text, expanded] of cases) {
    test(`${text} expands to ${expanded ?? "a fault"}`, () => {
      const result = expandVariables(text, env);
      expect(result.ok ? result.text : null).toBe(expanded);
    });
  }

  test("a text without a brace stays as it is", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!/\$\{/.test(text));
        expect(expandVariables(text, {})).toEqual({ ok: true, text, used: [], warnings: [] });
      }),
    );
  });
});
