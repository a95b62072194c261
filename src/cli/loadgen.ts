import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { parseDuration } from "../config/duration.ts";
import {
  type DurationTier,
  durationKey,
  TIER_WORDS,
  tiersOf,
  tiersOfDurations,
} from "../tools/loadgen/duration-tier.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { MAX_LOAD_RATE } from "../tools/loadgen/limits.ts";
import type { LoadPlan } from "../tools/loadgen/load-plan.ts";
import { parseTarget } from "../tools/loadgen/load-target.ts";
import { ReportFiles } from "../tools/loadgen/report-files.ts";
import { isLoadMethod, type PlannedRequest, readRequests } from "../tools/loadgen/request-list.ts";
import { compareRuns, comparisonText, earlierReport } from "../tools/loadgen/run-comparison.ts";
import { reachTarget } from "../tools/loadgen/target-reach.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { type CommandCall, type FlagValues, startCommand } from "./flags.ts";
import { type LoadCall, LoadSession } from "./load-session.ts";

/** Bytes of a file of requests that the load generator sends. */
const MAX_LOAD_FILE_BYTES = 64 * 1024 * 1024;
/** Connections that the benign stream of the load generator keeps at most. */
const MAX_LOAD_CONNECTIONS = 10_000;
/** Milliseconds of one run of the load generator at most. */
const MAX_LOAD_MS = 24 * 3_600_000;

/** The command as `edge help loadgen` shows it. docs/tools.md#load-generator */
export const loadgenCommand = {
  name: "edge loadgen",
  page: "tools.md#load-generator",
  summary: "Loads a gateway with benign and hostile requests at a steady rate, and shows whether it passed.",
  flags: [
    { name: "url", type: "string", default: "http://127.0.0.1:8080/health", placeholder: "URL", help: "benign target" },
    { name: "c", type: "int", default: 20, min: 1, max: MAX_LOAD_CONNECTIONS, help: "keep-alive connections" },
    {
      name: "d",
      type: "string",
      default: "5s",
      placeholder: "TIME[,TIME]",
      help: "duration, or a list such as 5s,60s,300s; overrides -tier",
    },
    {
      name: "tier",
      type: "string",
      default: "quick",
      placeholder: "WORD",
      help: "quick (5 s), medium or steady (60 s), soak (300 s), all",
      choices: TIER_WORDS,
    },
    { name: "rate", type: "int", default: 2000, min: 1, max: MAX_LOAD_RATE, help: "requests per second in total" },
    {
      name: "attack-ratio",
      alias: "a",
      type: "float",
      default: 0.1,
      min: 0,
      max: 1,
      help: "share of attacks among them, 0 to 1",
    },
    {
      name: "gc-trace",
      type: "string",
      default: "",
      placeholder: "FILE",
      help: "the gateway's garbage collector log (BUN_JSC_logGC=1, stderr), followed as it grows",
    },
    { name: "m", type: "string", default: "GET", placeholder: "METHOD", help: "method of the benign requests" },
    { name: "body", type: "string", default: "", help: "body of the benign requests" },
    {
      name: "requests",
      type: "string",
      default: "",
      placeholder: "FILE",
      help: "benign requests to send in turn, one a line: GET /a?b=c, or POST /b {...}",
    },
    {
      name: "http",
      type: "string",
      default: "1",
      placeholder: "1|2|3",
      help: "protocol of the benign requests",
      choices: ["1", "2", "3"],
    },
    { name: "sweep", type: "bool", default: false, help: "look for the highest rate that is kept, from --rate on" },
    {
      name: "json",
      type: "string",
      default: "",
      placeholder: "FILE",
      help: "write the report as JSON; - is standard output",
    },
    { name: "csv", type: "string", default: "", placeholder: "FILE", help: "write one line of figures per tier" },
    { name: "md", type: "string", default: "", placeholder: "FILE", help: "write the report as Markdown" },
    { name: "html", type: "string", default: "", placeholder: "FILE", help: "write the report as a page with charts" },
    {
      name: "compare",
      type: "string",
      default: "",
      placeholder: "FILE[,FILE]",
      help: "show the run beside an earlier one (its JSON), or two earlier ones, without a run",
    },
    { name: "dry-run", type: "bool", default: false, help: "check the arguments, print the durations, exit" },
  ],
  notes: [
    "With --sweep each rate is offered for the duration of one tier: half as much again until one is not kept.",
    "With several durations each gets its own report (report_60s.json); the files as named hold all of them.",
    "",
    "PASS: at least 99.9 % of the benign requests answered 2xx, their p99 under 10 ms, every attack refused with 400, 403, 413, 431 or 501 or a closed connection; in the soak tier, a heap that grows by at most 1.0 MB a minute.",
    "Exit codes: 0 PASS, 1 FAIL, 2 wrong usage or target unreachable, 130 interrupted (the reports hold the measurements so far).",
  ],
} as const;

type Values = FlagValues<(typeof loadgenCommand)["flags"]>;
/** The flags as they were typed; defaults are never at fault. */
type Given = CommandCall<(typeof loadgenCommand)["flags"]>["given"];

/** `edge loadgen`: one run a tier, the reports, and the exit code of the verdict. */
export async function runLoadgen(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = startCommand(loadgenCommand, args, io);
  if (typeof flags === "number") return flags;
  const [before = "", after] = flags.values.compare.split(",");
  if (after !== undefined) return compareFiles(before, after, io);
  const call = readCall(flags.values, flags.given, io);
  if (typeof call === "string") return refuse(io, call);
  if (flags.values["dry-run"]) {
    io.out(`${call.tiers.map((tier) => durationKey(tier.durationMs)).join(",")}\n`);
    return ExitCode.Done;
  }
  const target = await reachTarget(call.plans[0]!.target);
  if (typeof target === "string") return refuse(io, `cannot reach ${call.plans[0]!.target.url}: ${target}`);
  try {
    const plans = call.plans.map((plan) => ({ ...plan, target }));
    return await new LoadSession({ ...call, plans }, io).run();
  } catch (error) {
    return refuse(io, errorReason(error));
  }
}

function refuse(io: CommandIo, message: string): ExitCode {
  io.err(`edge loadgen: ${message}\n`);
  return ExitCode.Usage;
}

/** The flags, checked as far as possible without the target; a text about the fault in them. */
function readCall(values: Values, given: Given, io: CommandIo): LoadCall | string {
  const target = parseTarget(values.url);
  if (typeof target === "string") return `${given.get("url")}: ${target}`;
  if (!isLoadMethod(values.m)) {
    return `${given.get("m")}: expected a method such as GET or POST, found ${JSON.stringify(values.m)}`;
  }
  const tiers = readTiers(values, given);
  if (typeof tiers === "string") return tiers;
  if (values.sweep && tiers.length > 1) return `${given.get("sweep")}: expected one duration, for each rate the same`;
  const protocol = Number(values.http) as LoadPlan["protocol"];
  if (protocol === 3 && !target.isTls) return `${given.get("http")}: HTTP/3 needs a URL of https`;
  const requests = benignRequests(values, given, target.path);
  if (typeof requests === "string") return requests;
  const earlier = values.compare === "" ? "" : textOf(values.compare);
  if (earlier === null || (earlier !== "" && earlierReport(earlier, null) === null)) {
    return `${given.get("compare")}: expected the JSON of an earlier run, found none in ${values.compare}`;
  }
  const files = new ReportFiles(values, tiers, (text) => io.out(text));
  const fault = files.fault();
  if (fault !== "") return fault;
  const gcTrace = values["gc-trace"];
  try {
    if (gcTrace !== "") accessSync(gcTrace, constants.R_OK);
  } catch (error) {
    return `${given.get("gc-trace")}: cannot read ${gcTrace}: ${errorReason(error)}`;
  }
  const plans = tiers.map((tier) => ({
    target,
    requests,
    protocol,
    concurrency: values.c,
    durationMs: tier.durationMs,
    tier: tier.name,
    ratePerSecond: values.rate,
    attackRatio: values["attack-ratio"],
  }));
  return { plans, tiers, files, gcTrace, earlier, sweeps: values.sweep };
}

/** What is sent again and again; a text about the fault in it. */
function benignRequests(values: Values, given: Given, path: string): readonly PlannedRequest[] | string {
  if (values.requests === "") return [{ method: values.m, path, fields: [], body: values.body }];
  const also = ["m", "body"].find((name) => given.has(name as "m" | "body"));
  if (also !== undefined) return `${given.get("requests")} and ${given.get(also as "m" | "body")}: give one of them`;
  const text = textOf(values.requests);
  if (text === null) return `${given.get("requests")}: cannot read ${values.requests}`;
  const requests = readRequests(text);
  return typeof requests === "string" ? `${given.get("requests")}: ${values.requests}: ${requests}` : requests;
}

/** Null if the file cannot be read, or is too large. */
function textOf(path: string): string | null {
  try {
    return statSync(path).size > MAX_LOAD_FILE_BYTES ? null : readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** `--compare BEFORE,AFTER`. */
function compareFiles(before: string, after: string, io: CommandIo): ExitCode {
  const now = earlierReport(textOf(after) ?? "", null);
  if (now === null) return refuse(io, `${after} is no report that --json has written`);
  const earlier = earlierReport(textOf(before) ?? "", now);
  if (earlier === null) return refuse(io, `${before} has no report of ${now.duration_tier}, ${now.duration_seconds} s`);
  io.out(comparisonText(compareRuns(earlier, now)));
  return ExitCode.Done;
}

// A list of durations goes before the tier, which then only names the rules that hold.
function readTiers(values: Values, given: Given): readonly DurationTier[] | string {
  if (!given.has("d")) return tiersOf(values.tier);
  if (given.has("tier") && values.tier === "all")
    return `${given.get("d")} and ${given.get("tier")} all: give one of them`;
  const durations: number[] = [];
  for (const text of values.d.split(",")) {
    const ms = parseDuration(text);
    if (ms <= 0 || ms > MAX_LOAD_MS) {
      return `${given.get("d")}: expected durations such as 5s or 5s,60s,300s, at most a day each, found ${JSON.stringify(text)}`;
    }
    durations.push(ms);
  }
  return tiersOfDurations(durations, given.has("tier") ? values.tier : "");
}
