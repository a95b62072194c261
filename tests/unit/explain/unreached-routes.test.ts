import { describe, expect, test } from "bun:test";
import { formatFault } from "../../../src/config/config-fault.ts";
import { unreachedRoutes } from "../../../src/explain/unreached-routes.ts";
import { loadCase, readVectors } from "../loading/config-case.ts";

interface Vector {
  readonly name: string;
  readonly config?: string;
  readonly routes: string;
  readonly found: readonly string[];
}

describe("routes that no request reaches", () => {
  test.each(readVectors("route-findings.yaml") as Vector[])("$name", (one) => {
    const result = loadCase(one);
    if (!result.ok) throw new Error(result.faults.map(formatFault).join("\n"));
    expect(unreachedRoutes(result.config).map(formatFault)).toEqual([...one.found]);
  });

  test("ten thousand routes are looked through, none of which is in the way of another", () => {
    const lines = Array.from(
      { length: 10_000 },
      (_, i) => `- {type: upstream, prefix: /r${i}, target: "http://10.0.0.5:8000"}`,
    );
    const result = loadCase({ name: "many", routes: lines.join("\n") });
    if (!result.ok) throw new Error("faulty");

    expect(unreachedRoutes(result.config)).toEqual([]);
  });
});
