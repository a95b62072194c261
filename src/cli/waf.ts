import { Fault } from "../core/fault.ts";
import { faultRow } from "../core/fault-rows.ts";
import { placeText } from "../features/waf/incident.ts";
import type { WafConfig } from "../features/waf/settings.ts";
import { explainWaf, questionedExchange, type WafExplanation } from "../features/waf/waf-explanation.ts";
import { Exchange } from "../message/exchange.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { firewallFor, pathRouter } from "../worker/routing.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { type CommandCall, startCommand, takeRepeated } from "./flags.ts";
import { loadForRequest, REQUEST_FLAGS } from "./load-for-request.ts";
import { runWafImport, runWafLearn } from "./waf-exclusions.ts";

/** The command as `edge help waf` shows it. */
export const wafTestCommand = {
  name: "edge waf test",
  page: "waf.md#false-positives",
  summary: "Shows how the firewall judges a request: inspected parts, rules, scores, verdict.",
  operands: { usage: "'METHOD TARGET'", min: 1, max: 2 },
  flags: [
    ...REQUEST_FLAGS,
    { name: "body", type: "string", default: "", help: "the body" },
    {
      name: "content-type",
      type: "string",
      default: "application/x-www-form-urlencoded",
      help: "the body's media type",
    },
  ],
  notes: [
    "Examples:",
    "  edge waf test 'GET /static/%2e%2e/secret'",
    "  edge waf test 'GET /items?id=1%27%20or%201=1' -H 'User-Agent: curl/8.4.0'",
    "  edge waf test 'POST /api' --body '{\"a\":\"<script>x()\"}' \\",
    "    --content-type application/json",
    "",
    "edge waf learn access|incidents LOG... writes exclusions from a day of detection;",
    "edge waf import FILE writes them from lists for the Core Rule Set. Each has --help.",
    "",
    "Exit codes: 0 the request passes, 1 it is blocked, 2 wrong usage or a faulty configuration.",
  ],
} as const;

type WafCall = CommandCall<(typeof wafTestCommand)["flags"]>;

/** `edge waf test`: explains a verdict without a running gateway. docs/waf.md */
export function runWaf(args: readonly string[], io: CommandIo): number {
  const [word = "", ...rest] = args;
  if (word === "learn") return runWafLearn(rest, io);
  if (word === "import") return runWafImport(rest, io);
  const isHelp = ["", "help", "-h", "-help", "--help"].includes(word);
  if (word !== "test" && !isHelp) {
    io.err(`edge waf: no command "${word}"; there are edge waf test, learn and import.\n`);
    return ExitCode.Usage;
  }
  const { taken: headers, others } = takeRepeated(isHelp ? ["--help"] : rest, "header", "H");
  const call = startCommand(wafTestCommand, others, io);
  if (typeof call === "number") return call;
  const config = loadForRequest(call.values, io);
  if (config === null) return ExitCode.Usage;
  return explain(call, headers, config, io);
}

function explain(call: WafCall, headers: readonly string[], config: RuntimeConfig, io: CommandIo): number {
  const [method = "", target = "", ...more] = call.operands.join(" ").split(" ");
  if (target === "" || more.length > 0) {
    io.err(
      `edge waf test: expected a method and a target such as 'GET /x?y=1', found ${JSON.stringify(call.operands.join(" "))}\n`,
    );
    return ExitCode.Usage;
  }
  const body = Buffer.from(call.values.body);
  const hasType = headers.some((line) => line.toLowerCase().startsWith("content-type:"));
  const lines = body.length === 0 || hasType ? headers : [...headers, `Content-Type: ${call.values["content-type"]}`];
  const question = { method, target, headers: lines, body };
  const router = pathRouter(config);
  const ex = questionedExchange(question);
  const waf = ex instanceof Exchange ? firewallFor(config, router, ex) : config.server.waf;
  const found = explainWaf(question, waf, router);
  if (found.fault !== Fault.None) {
    io.err(`edge waf test: the request is refused before it reaches the firewall: ${faultRow(found.fault).label}\n`);
    return ExitCode.Usage;
  }
  io.out(report(found, waf, body.length));
  return waf.enabled && found.verdict === "block" ? ExitCode.Failure : ExitCode.Done;
}

function report(found: WafExplanation, waf: WafConfig, bodyBytes: number): string {
  const lines = [`path       raw      ${found.candidates.raw}`, `           decoded  ${found.candidates.decoded}`];
  if (bodyBytes > 0) lines.push(`body       ${found.inspectedBodyBytes} of ${bodyBytes} bytes inspected`);
  for (const rule of found.rules) {
    const finding = found.findings.find((one) => one.rule === rule)!;
    const place = placeText(finding.location, finding.param);
    lines.push(
      `rule       ${rule.id}  ${finding.score}  ${rule.description}`,
      `           in ${place}: ${finding.snippet}`,
    );
  }
  if (found.rules.length === 0) lines.push("rule       no match");
  lines.push(`score      ${found.score}, and ${waf.anomalyThreshold} blocks in mode enforce; the mode is ${waf.mode}`);
  lines.push(`verdict    ${waf.enabled ? verdictOf(found) : "passes: the firewall is off (server.waf)"}`);
  return `${lines.join("\n")}\n`;
}

function verdictOf({ verdict, status }: WafExplanation): string {
  if (verdict !== "block" || status === 403) return VERDICTS[verdict];
  return status === 0 ? "blocked, and the connection is cut" : `blocked with ${status}`;
}

const VERDICTS: Readonly<Record<WafExplanation["verdict"], string>> = {
  refuse: "refused",
  block: "blocked with 403",
  log: "passes, and is logged",
  pass: "passes",
};
