import { writeSuitePage } from "../suite-page.ts";
import type { Fixture } from "./fixtures.ts";
import type { Assertion } from "./integration.ts";

const MAX_NAMED = 8;

/** Why tests of the suite do not pass, by the beginnings of their names; the first row that fits counts. */
const REASONS: readonly (readonly [tests: string, reason: string])[] = [
  ["TestAutoHTTP", "feature: certificates of the gateway's own for `localhost` are made by `edge serve --demo` alone"],
  ["TestReadCookie TestReplIndex", "feature: templates; the files are in the suite's folder"],
  ["TestUri TestSet TestRename TestReplace TestPartial TestNonExisting", "feature: edits of the query"],
  ["TestHttpRequestLocalPort TestMap", "feature: placeholders and maps of Caddy within a response"],
  ["TestHandleError", "feature: pages of errors are files or texts by status, no routes"],
  ["TestIntercept", "feature: responses of the gateway's own are not replaced"],
  ["TestReverseProxyHealthCheck", "feature: health checks go to the port of the target"],
];

/** Writes the page of the suite. */
export function writeCaddyPage(fixtures: readonly Fixture[], assertions: readonly Assertion[], version: string): void {
  const right = fixtures.filter(({ isFaulty }) => !isFaulty);
  const faulty = fixtures.filter(({ isFaulty }) => isFaulty);
  const wrong = right.filter(({ conversion }) => conversion.isRefused || conversion.fault !== "");
  const open = faulty.filter(({ conversion }) => !conversion.isRefused);
  const sum = (key: "carried" | "standard" | "noted"): number =>
    right.reduce((total, { conversion }) => total + conversion[key], 0);
  const count = (outcome: Assertion["outcome"]): number => assertions.filter((one) => one.outcome === outcome).length;
  writeSuitePage({
    name: "caddy",
    title: "Caddy's fixtures and integration tests",
    intro: [
      "Caddyfiles of github.com/caddyserver/caddy by way of `edge convert`: `scripts/conformance-caddy CHECKOUT`. The integration tests that give a Caddyfile and then",
      "ask for addresses run with `edge serve` in the place of Caddy; *passed*, *failed*, *closed by convert* and *not reached* count their assertions. The fixtures of",
      "the adapter are converted and checked with `edge check`; each of their directives is carried over, needs no setting, or is named.",
    ].join("\n"),
    version,
    counts: [
      ["passed", count("passed")],
      ["failed", count("failed")],
      ["closed by convert", count("closed")],
      ["not reached", count("not reached")],
      ["fixtures that Caddy takes", right.length],
      ["of these converted, and in order for `edge check`", right.length - wrong.length],
      [
        "of these without a note",
        right.filter(({ conversion }) => conversion.noted === 0 && !conversion.isRefused).length,
      ],
      ["directives of these that are carried over", sum("carried")],
      ["directives that need no setting", sum("standard")],
      ["directives that are named", sum("noted")],
      ["fixtures that Caddy refuses", faulty.length],
      ["of these refused by `edge convert`", faulty.length - open.length],
    ],
    columns: ["test", "outcome", "reason"],
    rows: [
      ...wrong.map(({ file, conversion }) => [file, "wrong", firstLine(conversion.fault)]),
      ...open.map(({ file, conversion: { names } }) => [
        file,
        "converted",
        `habit: Caddy refuses the file; ${names.length === 0 ? "edge takes it" : named(names)}`,
      ]),
      ...assertions
        .filter(({ outcome }) => outcome !== "passed")
        .map(({ test, line, outcome, said, names }) => [
          `${test}: \`${line.replaceAll("`", "'")}\``,
          said === "" ? outcome : `${outcome}: ${said}`,
          `${reasonOf(test)}; ${named(names)}`,
        ]),
    ],
  });
}

function reasonOf(test: string): string {
  return (
    REASONS.find(([tests]) => tests.split(" ").some((start) => test.startsWith(start)))?.[1] ?? "not explained yet"
  );
}

function named(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).map((name) => `\`${name}\``);
  return `convert names ${shown.join(", ")}${names.length > MAX_NAMED ? " and more" : ""}`;
}

function firstLine(text: string): string {
  return text.split("\n")[0]!.replace(/^\/\S*\//, "");
}
