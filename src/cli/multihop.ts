import { writeFileSync } from "node:fs";
import { nearestName } from "../config/nearest-name.ts";
import type { BackendName } from "../tools/multihop/backend.ts";
import { authorityOf, ByteLink, type Endpoint } from "../tools/multihop/byte-link.ts";
import { chooseScenarios, type Scenario } from "../tools/multihop/catalogue.ts";
import { runScenarios } from "../tools/multihop/multihop-run.ts";
import { MultihopProgress } from "../tools/multihop/progress.ts";
import { buildReport, type MultihopReport } from "../tools/multihop/report.ts";
import { markdownReport, summaryText } from "../tools/multihop/report-text.ts";
import type { ScenarioResult } from "../tools/multihop/scenario-result.ts";
import { startSimulatedOrigins } from "../tools/multihop/simulated-origins.ts";
import { startStandaloneGateway } from "../tools/multihop/standalone-gateway.ts";
import type { Witness } from "../tools/multihop/witness.ts";
import { writeFault } from "../tools/writable-file.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { type CommandCall, startCommand } from "./flags.ts";

/** The command as `edge help multihop` shows it. */
export const multihopCommand = {
  name: "edge multihop",
  page: "tools.md#multihop",
  summary: "Attacks a gateway with the ten framing vectors, and checks what reaches the three origins behind it.",
  flags: [
    {
      name: "standalone",
      type: "bool",
      default: false,
      help: "test this gateway itself, run in this process, in front of three simulated origins",
    },
    {
      name: "edge-addr",
      type: "string",
      default: "",
      placeholder: "HOST:PORT",
      help: "test a running gateway whose routes /node, /python and /go lead to its origins",
    },
    {
      name: "h2-addr",
      type: "string",
      default: "",
      placeholder: "HOST:PORT",
      help: "address at which that gateway serves HTTP/2 without TLS, if another",
    },
    {
      name: "origin-ports",
      type: "string",
      default: "",
      placeholder: "NODE,PYTHON,GO",
      help: "start the simulated origins on these ports of 127.0.0.1; that gateway must route to them",
    },
    {
      name: "only",
      type: "string",
      default: "",
      placeholder: "VECTOR-04,…",
      help: "only these vectors",
    },
    {
      name: "backends",
      type: "string",
      default: "",
      placeholder: "node,…",
      help: "only these backends: node, python, go",
    },
    { name: "list", type: "bool", default: false, help: "print the scenarios and exit" },
    {
      name: "json",
      type: "string",
      default: "multihop-report.json",
      placeholder: "FILE",
      help: "JSON report with all bytes sent and received; - is standard output, '' none",
    },
    {
      name: "md",
      type: "string",
      default: "multihop-report.md",
      placeholder: "FILE",
      help: "Markdown report; - is standard output, '' none",
    },
    { name: "timeout", type: "duration", default: "3s", help: "how long a response may take" },
  ],
  notes: [
    "Examples:",
    "  edge multihop --standalone",
    "  edge multihop --edge-addr 127.0.0.1:8080 --only VECTOR-04,VECTOR-06",
    "",
    "Exit codes: 0 PASS, 1 FAIL, 2 wrong usage, no gateway there or a file that cannot be written, 130 interrupted (the report holds the scenarios so far).",
  ],
} as const;

type Call = CommandCall<(typeof multihopCommand)["flags"]>;
type Values = Call["values"];

/** `edge multihop`: runs the scenarios, writes the reports, leaves with the verdict. docs/tools.md#multihop */
export async function runMultihop(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(multihopCommand, args, io);
  if (typeof call === "number") return call;
  const { values } = call;
  try {
    if (values.timeout === 0) throw new Error(`${call.given.get("timeout")}: expected more than 0`);
    const scenarios = choose(values);
    if (values.list) {
      for (const { vector, backend } of scenarios) {
        io.out(`${vector.id}  ${vector.protocol.padEnd(8)}  ${backend.name.padEnd(6)}  ${vector.name}\n`);
      }
      return ExitCode.Done;
    }
    const files = [values.json, values.md].filter((path) => path !== "" && path !== "-");
    for (const path of files) checkWritable(path);
    const report = await run(call, scenarios, io);
    write(values, report, io);
    if (report.interrupted) return ExitCode.Interrupted;
    return report.overall_verdict === "PASS" ? ExitCode.Done : ExitCode.Failure;
  } catch (error) {
    io.err(`edge multihop: ${(error as Error).message}\n`);
    return ExitCode.Usage;
  }
}

function choose(values: Values): Scenario[] {
  const words = (text: string) =>
    text
      .split(",")
      .map((word) => word.trim())
      .filter((word) => word !== "");
  const chosen = chooseScenarios(words(values.only), words(values.backends));
  if (Array.isArray(chosen)) return chosen;
  const meant = nearestName(chosen.unknown, chosen.known);
  const cure = meant === "" ? `known are ${chosen.known.join(", ")}` : `did you mean ${meant}?`;
  throw new Error(`there is no ${JSON.stringify(chosen.unknown)} (${cure})`);
}

async function run({ values, given }: Call, scenarios: readonly Scenario[], io: CommandIo): Promise<MultihopReport> {
  const { standalone } = values;
  if (standalone === (values["edge-addr"] !== "")) {
    throw new Error("give either --standalone or --edge-addr HOST:PORT");
  }
  if (standalone && (values["h2-addr"] !== "" || values["origin-ports"] !== "")) {
    throw new Error("--h2-addr and --origin-ports belong to --edge-addr");
  }
  const isSimulated = standalone || values["origin-ports"] !== "";
  const origins = isSimulated
    ? startSimulatedOrigins(standalone ? [] : portsOf(given.get("origin-ports")!, values["origin-ports"]))
    : new Map();
  const ports = new Map([...origins].map(([name, origin]): [BackendName, number] => [name, origin.port]));
  const h1 = standalone
    ? { hostname: "127.0.0.1", port: (await startStandaloneGateway(ports)).port }
    : endpointOf(given.get("edge-addr")!, values["edge-addr"]);
  const h2 = values["h2-addr"] === "" ? h1 : endpointOf(given.get("h2-addr")!, values["h2-addr"]);
  await checkReachable(h1);
  if (scenarios.some(({ vector }) => vector.protocol === "HTTP/2")) await checkReachable(h2);
  const startedAtMs = Date.now();
  const { results, isInterrupted } = await untilInterrupted(values, scenarios, h1, h2, origins, io);
  return buildReport({
    startedAtMs,
    durationMs: Date.now() - startedAtMs,
    target: authorityOf(h1),
    mode: standalone ? "standalone" : "live",
    isSimulated,
    planned: scenarios.length,
    isInterrupted,
    results,
  });
}

async function untilInterrupted(
  values: Values,
  scenarios: readonly Scenario[],
  h1: Endpoint,
  h2: Endpoint,
  witnesses: ReadonlyMap<BackendName, Witness>,
  io: CommandIo,
): Promise<{ results: ScenarioResult[]; isInterrupted: boolean }> {
  const progress = new MultihopProgress(process.stderr.isTTY === true, scenarios.length, (text) => io.err(text));
  const stop = new AbortController();
  const onSignal = () => {
    // A second one ends at once.
    if (stop.signal.aborted) process.exit(ExitCode.Interrupted);
    stop.abort();
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  const results = await runScenarios({
    scenarios,
    h1,
    h2,
    answerMs: values.timeout,
    witnesses,
    signal: stop.signal,
    onResult: (result) => progress.done(result),
    onAbsent: (backend, why) =>
      progress.say(`${backend} cannot be reached through the gateway (${why}); --backends leaves it out`),
  });
  progress.clear();
  process.off("SIGINT", onSignal);
  process.off("SIGTERM", onSignal);
  return { results, isInterrupted: stop.signal.aborted };
}

function write(values: Values, report: MultihopReport, io: CommandIo): void {
  const texts = [
    { path: values.json, text: `${JSON.stringify(report, null, 2)}\n` },
    { path: values.md, text: markdownReport(report) },
  ];
  for (const { path, text } of texts) {
    if (path === "-") io.out(text);
    else if (path !== "") writeFileSync(path, text);
  }
  if (values.json === "-" || values.md === "-") return;
  io.out(summaryText(report));
  const files = texts.filter(({ path }) => path !== "").map(({ path }) => path);
  if (files.length > 0) io.out(`report: ${files.join(", ")}\n`);
}

/** Before the run, so that its results are not lost. */
function checkWritable(path: string): void {
  const fault = writeFault(path);
  if (fault !== "") throw new Error(fault);
}

async function checkReachable(endpoint: Endpoint): Promise<void> {
  const link = await ByteLink.connect(endpoint).catch((error: unknown) => {
    throw new Error(`no gateway there: ${(error as Error).message}`);
  });
  link.close();
}

/** `host:port`, `[::1]:port`, or an `http://` URL of it. */
function endpointOf(flag: string, text: string): Endpoint {
  const parts = /^(?:http:\/\/)?(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})\/?$/.exec(text);
  const port = Number(parts?.[3]);
  if (parts === null || port < 1 || port > MAX_PORT) {
    throw new Error(`${flag}: expected an address such as 127.0.0.1:8080, found ${JSON.stringify(text)}`);
  }
  return { hostname: parts[1] ?? parts[2]!, port };
}

function portsOf(flag: string, text: string): number[] {
  const ports = text.split(",").map((each) => (/^\s*\d{1,5}\s*$/.test(each) ? Number(each) : -1));
  if (ports.length !== 3 || ports.some((port) => port < 0 || port > MAX_PORT)) {
    throw new Error(`${flag}: expected three ports such as 9001,9002,9003, found ${JSON.stringify(text)}`);
  }
  return ports;
}

const MAX_PORT = 65_535;
