import { writeSuitePage } from "../suite-page.ts";
import { reasonOf } from "./reasons.ts";
import type { FileResult } from "./run.ts";

/** Writes the page of the suite. */
export function writeHaproxyPage(results: readonly FileResult[], version: string): void {
  const count = (outcome: FileResult["outcome"]): number => results.filter((one) => one.outcome === outcome).length;
  const held = results.reduce((sum, one) => sum + one.held, 0);
  writeSuitePage({
    name: "haproxy",
    title: "HAProxy reg-tests",
    intro: [
      "HAProxy's own tests (github.com/haproxy/haproxy, reg-tests) by VTest with edge in the place of haproxy: `scripts/conformance-haproxy CHECKOUT`. A stand-in for its",
      "binary converts each configuration with `edge convert` and serves the result at the sockets that VTest has opened. Clients of HTTP/2 take the frame for the window of",
      "the connection that edge sends behind its SETTINGS. A file counts as a whole: it fails with its first expectation that does not hold, and most of them ask for a log",
      "line, a command or an expression that is HAProxy's own. It is *closed* if that response came of a route which `edge convert` has closed, and says so.",
    ].join("\n"),
    version,
    counts: [
      ["passed", count("passed")],
      ["failed", count("failed")],
      ["closed by convert", count("closed")],
      ["skipped by the suite", count("skipped")],
      ["expectations that held before", held],
    ],
    columns: ["file", "outcome", "held before", "first failure", "reason"],
    rows: results
      .filter(({ outcome }) => outcome !== "passed" && outcome !== "skipped")
      .map((one) => [one.file, one.outcome, String(one.held), one.said, reasonOf(one)]),
  });
}
