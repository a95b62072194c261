import type { CanaryStanding } from "../core/canary-standing.ts";
import { durationText, numberText, percentText, span } from "../core/number-text.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { findGateway, GATEWAY_FLAGS, type GatewayApi, GatewayFault } from "./gateway-address.ts";

/** The command as `edge help canary` shows it. */
export const canaryCommand = {
  name: "edge canary",
  page: "pressure.md#canaries",
  summary: "Shows the rollouts of new versions; promotes or aborts one.",
  operands: { usage: "status|promote|abort [NAME]", min: 1, max: 2, words: ["status", "promote", "abort"] },
  flags: [...GATEWAY_FLAGS, { name: "json", type: "bool", default: false, help: "print one JSON object" }],
  notes: [
    "NAME is the prefix of the route, such as /api.",
    "  edge canary status [NAME]    how it goes, with the numbers of both versions",
    "  edge canary promote NAME     all requests go to the new version at once",
    "  edge canary abort NAME       none do",
    "",
    "Exit codes: 0 done, 1 the gateway does not answer or has no such rollout, 2 wrong usage.",
  ],
} as const;

/** `edge canary`. docs/pressure.md#canaries */
export async function runCanary(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(canaryCommand, args, io);
  if (typeof call === "number") return call;
  const [word = "", name = ""] = call.operands;
  if (word !== "status" && name === "") {
    io.err(`edge canary: expected edge canary ${word} NAME, the prefix of a route\nTry "edge canary --help".\n`);
    return ExitCode.Usage;
  }
  const gateway = findGateway(call.values, io, canaryCommand.name);
  if (gateway === null) return ExitCode.Failure;
  try {
    const found = word === "status" ? await listed(gateway, name) : await ended(gateway, name, word);
    if (call.values.json) io.out(`${JSON.stringify({ canaries: found }, null, 2)}\n`);
    else io.out(found.length === 0 ? "No route has a canary.\n" : found.map(textOf).join(""));
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`edge canary: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

async function listed(gateway: GatewayApi, name: string): Promise<readonly CanaryStanding[]> {
  const path = "/internal/api/canaries";
  const { status, text } = await gateway.call("GET", path, null, {}, LIMIT_MS);
  if (status !== 200) throw gateway.refused(path, status, text);
  const { canaries } = gateway.parsed(path, text) as { readonly canaries: readonly CanaryStanding[] };
  if (name === "") return canaries;
  const found = canaries.filter(({ route }) => route === name);
  if (found.length === 0) throw new GatewayFault(`no route ${name} has a canary`);
  return found;
}

async function ended(gateway: GatewayApi, route: string, action: string): Promise<readonly CanaryStanding[]> {
  const path = "/internal/api/canary";
  const { status, text } = await gateway.post(path, { route, action }, LIMIT_MS);
  if (status !== 200) throw gateway.refused(path, status, text);
  return (gateway.parsed(path, text) as { readonly canaries: readonly CanaryStanding[] }).canaries;
}

function textOf(one: CanaryStanding): string {
  const why = one.reason === "" ? "" : ` (${one.reason.replace("_", " ")})`;
  const next = one.next_ms === null ? "" : `, next step in ${span(one.next_ms)} at the earliest`;
  const side = (name: string, requests: number, errors: number, p99: number | null) =>
    `  ${name}  ${numberText(requests)} requests, ${requests === 0 ? "–" : percentText(errors / requests)} errors, p99 ${p99 === null ? "–" : durationText(p99)}\n`;
  return [
    `${one.route}: ${one.state}${why}, ${one.share} % to ${one.targets.join(", ")}${next}\n`,
    side("new", one.requests, one.errors, one.p99_ms),
    side("old", one.old_requests, one.old_errors, one.old_p99_ms),
    `  evidence  errors ${numberText(one.errors_evidence)}, latency ${numberText(one.latency_evidence)} (200 aborts)\n`,
  ].join("");
}

const LIMIT_MS = 30_000;
