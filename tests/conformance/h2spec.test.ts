import { describe, expect, test } from "bun:test";
import { findH2spec, runH2spec, SHARED_PORT_CASE, type SpecWay, startSpecGateway, VECTOR_08_CASE } from "./h2spec.ts";

const CASES = 146;
const tool = findH2spec();
if (tool === null) console.log("skipped: HTTP/2 conformance needs h2spec (scripts/conformance-h2spec installs it)");

describe.skipIf(tool === null)("h2spec", () => {
  test.each([
    ["tls", "reject", []],
    ["tls", "drop", [VECTOR_08_CASE]],
    ["cleartext", "reject", [SHARED_PORT_CASE]],
    ["cleartext", "drop", [SHARED_PORT_CASE, VECTOR_08_CASE]],
  ] as [SpecWay, "drop" | "reject", string[]][])(
    "%s, unknown pseudo-headers: %s",
    async (way, pseudoHeaders, known) => {
      const gateway = await startSpecGateway(pseudoHeaders);
      const { passed, failed } = await runH2spec(tool!, gateway, way);
      await gateway.stop();
      expect(failed).toEqual(known);
      expect(passed).toBe(CASES - known.length);
    },
    90_000,
  );
});
