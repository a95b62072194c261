import { goTestWafScore } from "./gotestwaf-cases.ts";
import type { WafCase } from "./waf-case.ts";
import { isStopped, type WafVerdict } from "./waf-wire.ts";

/** What a firewall said of all cases, in their order. */
export interface Judged {
  readonly name: string;
  readonly verdicts: readonly WafVerdict[];
}

/** CPU time of the firewall in microseconds a request. */
export interface CostRow {
  readonly load: string;
  readonly cells: readonly { readonly name: string; readonly micros: number }[];
}

/** The page with the figures. @param costs null where they were not measured */
export function resultsPage(
  cases: readonly WafCase[],
  judged: readonly Judged[],
  costs: readonly CostRow[] | null,
  peer: string,
): string {
  return `# The firewall beside Coraza

Written by \`scripts/compare-waf\`, ${new Date().toISOString().slice(0, 10)}: this gateway in \`mode: enforce\` at both levels, and ${peer}
at paranoia level 1 with its usual threshold, each on the same bytes. An attack is stopped where the application does not see it; an ordinary request that is
stopped is a false positive, in shares weighted by what a row stands for. The tests of the Core Rule Set are about its own rules, those of
all paranoia levels among them: an attack of theirs is a request on which a rule must match, another one a request on which one rule must
not match, whatever others say.

## By set

${table(cases, judged, ({ set }) => set)}

${scores(cases, judged)}

## By class

${table(cases, judged, ({ set, group }) => `${set}: ${group}`)}

## Cost

${costTable(costs)}
`;
}

function table(cases: readonly WafCase[], judged: readonly Judged[], rowOf: (one: WafCase) => string): string {
  const indexed = cases.map((one, index) => ({ ...one, index }));
  const rows = [...Map.groupBy(indexed, rowOf)].map(([name, own]) => {
    const attacks = own.filter(({ isAttack }) => isAttack);
    const benign = own.filter(({ isAttack }) => !isAttack);
    const cells = judged.flatMap(({ verdicts }) => [share(attacks, verdicts, 0), share(benign, verdicts, 2)]);
    return `| ${name} | ${attacks.length} | ${benign.length} | ${cells.join(" | ")} |`;
  });
  const heads = judged.flatMap(({ name }) => [`${name}: stopped`, "false positives"]);
  return [
    `| | attacks | ordinary | ${heads.join(" | ")} |`,
    `|---|---:|---:|${heads.map(() => "---:").join("|")}|`,
    ...rows,
  ].join("\n");
}

interface Indexed extends WafCase {
  readonly index: number;
}

function share(own: readonly Indexed[], verdicts: readonly WafVerdict[], digits: number): string {
  if (own.length === 0) return "";
  const all = own.reduce((sum, { weight }) => sum + weight, 0);
  const stopped = own.reduce((sum, { weight, index }) => sum + (isStopped(verdicts[index]!) ? weight : 0), 0);
  return `${((100 * stopped) / all).toFixed(digits)} %`;
}

function scores(cases: readonly WafCase[], judged: readonly Judged[]): string {
  const own = cases.flatMap((one, index) => (one.set === "GoTestWAF" ? [{ ...one, index }] : []));
  if (own.length === 0) return "";
  const each = judged.map(({ name, verdicts }) => {
    const score = goTestWafScore(own, (one) => isStopped(verdicts[(one as Indexed).index]!));
    return `${name} ${score.toFixed(1)}`;
  });
  return `GoTestWAF's score, without gRPC: ${each.join(", ")}.`;
}

function costTable(costs: readonly CostRow[] | null): string {
  if (costs === null) return "Not measured in this run: `scripts/compare-waf --cost` on a quiet machine.";
  const names = costs[0]!.cells.map(({ name }) => name);
  return [
    "CPU microseconds a request that the firewall adds, least of three rounds:",
    "",
    `| | ${names.join(" | ")} |`,
    `|---|${names.map(() => "---:").join("|")}|`,
    ...costs.map(({ load, cells }) => `| ${load} | ${cells.map(({ micros }) => micros.toFixed(0)).join(" | ")} |`),
  ].join("\n");
}
