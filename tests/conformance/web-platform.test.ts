// The Web Platform Tests for Headers, Request, Response and URL, run inside a function. docs/functions.md#web-interfaces
import { expect, test } from "bun:test";
import { longTest } from "../harness/long-lane.ts";
import { runPlatformTests, suiteFolder } from "./web-platform.ts";

const suite = suiteFolder();

(suite === null ? test.skip : longTest)(
  "all files come to their end, and what a server can keep of the standards is kept (EDGE_WPT names a checkout)",
  async () => {
    const outcomes = await runPlatformTests(suite!);
    expect(outcomes.flatMap(({ broken }) => broken)).toEqual([]);
    const shares = outcomes.map(({ name, passed, total, browserRules }) => [name, passed / (total - browserRules)]);
    console.error(outcomes.map(({ name, passed, total }) => `${name} ${passed} of ${total}`).join(", "));
    for (const [name, share] of shares) expect([name, Number(share) > 0.75]).toEqual([name, true]);
  },
  120_000,
);
