// The entry of scripts/conformance-nginx: runs nginx's own tests against edge, and writes what passes.
import { join } from "node:path";
import { checkoutOf, versionOf, writeSuitePage } from "../suite-page.ts";
import { isAboutLog, outcomeOf } from "./outcome.ts";
import { reasonOf } from "./reasons.ts";
import { runSuite, suiteFilesOf } from "./run.ts";

/** Most of the time tests wait. */
const AT_ONCE = 6;

const usage = "scripts/conformance-nginx CHECKOUT [FILE...], a checkout of github.com/nginx/nginx-tests";
const checkout = checkoutOf(join("lib", "Test", "Nginx.pm"), usage);
const chosen = process.argv.slice(3);
const files = chosen.length > 0 ? chosen : suiteFilesOf(checkout);
const results = await runSuite(checkout, files, {
  atOnce: AT_ONCE,
  onFile(result) {
    const { passed, closed, failed, notReached } = outcomeOf(result);
    if (chosen.length > 0) process.stdout.write(result.output);
    const text = result.skipReason === null ? `${passed} passed, ${failed + closed} failed, ${notReached} not reached` : `left out: ${result.skipReason}`;
    if (process.stderr.isTTY || chosen.length > 0) process.stderr.write(`${result.file}: ${text}\n`);
  },
});
if (chosen.length === 0) {
  const ran = results.filter(({ skipReason }) => skipReason === null);
  const all = ran.map((result) => ({ result, outcome: outcomeOf(result) }));
  const sum = (key: "passed" | "closed" | "failed" | "notReached" | "todo"): number =>
    all.reduce((total, { outcome }) => total + outcome[key], 0);
  const incomplete = all.filter(({ outcome }) => outcome.closed + outcome.failed + outcome.notReached > 0);
  writeSuitePage({
    name: "nginx-tests",
    title: "nginx-tests",
    intro: [
      "nginx's own tests (github.com/nginx/nginx-tests) with edge in the place of nginx: `scripts/conformance-nginx CHECKOUT`. A stand-in for its binary converts each",
      "configuration with `edge convert` and serves the result at the same ports. The suite is run as a copy whose requests and responses follow the RFCs: heads end their",
      "lines with CRLF, HTTP/2 begins with SETTINGS, and a Huffman code has at most seven bits of padding. Modules of nginx that edge has nothing for, such as SSI, mail and",
      "uWSGI, are not declared, so the suite leaves their files out. Two assertions of each file are about nginx's error log alone.",
      "",
      "An assertion is *closed* if edge answered that the route is closed: `edge convert` closes what it cannot carry over, and says so. It is *not reached* if the test",
      "ended before it.",
    ].join("\n"),
    version: versionOf(checkout),
    counts: [
      ["passed", sum("passed")],
      ["of these about the error log alone", all.reduce((n, { result }) => n + result.assertions.filter(isAboutLog).length, 0)],
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
