import { writeSuitePage } from "../suite-page.ts";
import { isAboutLog, type Outcome, outcomeOf } from "./outcome.ts";
import { reasonOf } from "./reasons.ts";
import type { FileResult } from "./run.ts";

/** Writes the page of the suite. */
export function writeNginxPage(results: readonly FileResult[], version: string): void {
  const ran = results.filter(({ skipReason }) => skipReason === null);
  const all = ran.map((result) => ({ result, outcome: outcomeOf(result) }));
  const sum = (key: keyof Outcome): number => all.reduce((total, { outcome }) => total + outcome[key], 0);
  const incomplete = all.filter(({ outcome }) => outcome.closed + outcome.failed + outcome.notReached > 0);
  writeSuitePage({
    name: "nginx-tests",
    title: "nginx-tests",
    intro: [
      "nginx's own tests (github.com/nginx/nginx-tests) with edge in the place of nginx: `scripts/conformance-nginx CHECKOUT`. A stand-in for its binary converts each",
      "configuration with `edge convert` and serves the result at the same ports. The suite is run as a copy whose requests and responses follow the RFCs: heads end their",
      "lines with CRLF, HTTP/2 begins with SETTINGS, a Huffman code has at most seven bits of padding, and a field section of HTTP/3 requires those insertions into the",
      "dynamic table that it refers to. A peer that resets its connection ends no test. Modules of nginx that edge has nothing for, such as SSI, mail and uWSGI, are not",
      "declared, so the suite leaves their files out. Two assertions of each file are about nginx's error log alone.",
      "",
      "An assertion is *closed* if edge answered that the route is closed: `edge convert` closes what it cannot carry over, and says so. It is *not reached* if the test",
      "ended before it.",
    ].join("\n"),
    version,
    counts: [
      ["passed", sum("passed")],
      [
        "of these about the error log alone",
        all.reduce((n, { result }) => n + result.assertions.filter(isAboutLog).length, 0),
      ],
      ["failed", sum("failed")],
      ["closed by convert", sum("closed")],
      ["not reached", sum("notReached")],
      ["files of which all passes", all.length - incomplete.length],
      ["files that ran", all.length],
      ["files that the suite left out", results.length - all.length],
    ],
    columns: ["file", "passed", "failed", "closed", "not reached", "reason"],
    rows: incomplete.map(({ result, outcome: { passed, failed, closed, notReached } }) => [
      result.file.replace(/\.t$/, ""),
      ...[passed, failed, closed, notReached].map(String),
      reasonOf(result),
    ]),
  });
}
