// What the reports of several gateways come to, as Markdown.
import type { MultihopReport, ProbeRecord, ResultRecord } from "../../../src/tools/multihop/report.ts";

/** One gateway with its report; null where it could not be run. */
export interface GatewayReport {
  readonly name: string;
  readonly version: string;
  readonly report: MultihopReport | null;
}

const BACKENDS = ["node", "python", "go"];

/**
 * One row a vector, and below it one a probe where those are wanted; in each cell the three backends.
 * @param absent backends that were not there, which have a dash
 */
export function framingTable(
  gateways: readonly GatewayReport[],
  absent: readonly string[],
  hasProbes: boolean,
): string {
  const run = gateways.filter(({ report }) => report !== null);
  const rows = [`| Vector | ${run.map(({ name }) => name).join(" | ")} |`, `|---|${run.map(() => "---").join("|")}|`];
  const results = run.map(({ report }) => report!.results);
  const ids = [...new Set(results.flat().map(({ vector_id }) => vector_id))].sort();
  for (const id of ids) {
    const ofVector = results.map((each) => each.filter(({ vector_id }) => vector_id === id));
    const [first] = ofVector.flat();
    const verdicts = ofVector.map((each) => cell(each, absent, verdict));
    rows.push(`| **${id}** ${first!.name} | ${verdicts.join(" | ")} |`);
    if (!hasProbes) continue;
    const probes = [...new Set(ofVector.flat().flatMap(({ evidence }) => evidence.probes.map(({ probe }) => probe)))];
    for (const name of probes) {
      const answers = ofVector.map((each) => short(each, absent, (result) => answer(result, name)));
      rows.push(`| · ${name} | ${answers.join(" | ")} |`);
    }
  }
  const sums = run.map(({ report }) => `${report!.passed_scenarios} of ${report!.planned_scenarios}`);
  return [...rows, `| **passed** | ${sums.join(" | ")} |`].join("\n");
}

type Say = (result: ResultRecord) => string;

function cell(results: readonly ResultRecord[], absent: readonly string[], say: Say): string {
  return BACKENDS.map((name) => {
    const result = results.find(({ backend }) => backend === name);
    return absent.includes(name) || result === undefined ? "–" : say(result);
  }).join(" ");
}

/** The same, but what all backends got is said once. */
function short(results: readonly ResultRecord[], absent: readonly string[], say: Say): string {
  const words = cell(results, absent, say).split(" ");
  const said = [...new Set(words.filter((word) => word !== "–"))];
  return said.length === 1 ? said[0]! : words.join(" ");
}

function verdict({ passed, desync, pool_poisoned }: ResultRecord): string {
  if (passed) return "✓";
  return `✗${desync ? "ᴰ" : ""}${pool_poisoned ? "ᴾ" : ""}`;
}

function answer({ evidence, protocol }: ResultRecord, name: string): string {
  const probe = evidence.probes.find((each) => each.probe === name);
  return probe === undefined ? "–" : outcome(probe, protocol === "HTTP/1.1");
}

function outcome({ status, reset, closed }: ProbeRecord, mustClose: boolean): string {
  if (status !== null) return status === 400 && mustClose && !closed ? "400,open" : `${status}`;
  if (reset === null) return "nothing";
  return reset.startsWith("connection") ? "closed" : reset.split(" ")[0]!;
}
