import { exactly } from "../core/number-text.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { readLines } from "../tools/logs/line-source.ts";
import { type RecordedRequest, readRecorded } from "../tools/replay/recorded-request.ts";
import { findingJson, findingText } from "../tools/replay/replay-report.ts";
import { ReplayTarget } from "../tools/replay/replay-response.ts";
import { type ReplayFinding, replay } from "../tools/replay/replay-run.ts";
import { FIELDS_THAT_MATTER } from "../tools/replay/response-difference.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { type CommandCall, startCommand } from "./flags.ts";

/** The command as `edge help replay` shows it. */
export const replayCommand = {
  name: "edge replay",
  page: "tools.md#replay",
  summary:
    "Sends the safe requests of an access log again (GET, HEAD, OPTIONS), and shows you which responses differ: between two servers, or from the status in the log.",
  operands: { usage: "LOG...", min: 1, max: 1000 },
  flags: [
    {
      name: "against",
      type: "string",
      default: "",
      placeholder: "URL",
      help: "the server to test, such as http://127.0.0.1:8080",
    },
    {
      name: "compare",
      type: "string",
      default: "",
      placeholder: "URL",
      help: "a second server for the same requests; without it the log's statuses count",
    },
    { name: "rate", type: "int", default: 50, min: 1, max: 100_000, help: "requests a second, to each server" },
    { name: "concurrency", type: "int", default: 8, min: 1, max: 256, help: "requests that are under way at once" },
    {
      name: "limit",
      type: "int",
      default: 10_000,
      min: 1,
      max: 10_000_000,
      help: "how many requests are sent at most",
    },
    {
      name: "all",
      type: "bool",
      default: false,
      help: "send requests that are the same each time they occur, not once",
    },
    {
      name: "ignore",
      type: "string",
      default: "",
      placeholder: "NAMES",
      help: "header fields that are not compared, with commas between them",
    },
    { name: "error-bodies", type: "bool", default: false, help: "compare the bodies of redirects and errors too" },
    { name: "timeout", type: "duration", default: "30s", help: "for a whole response" },
    { name: "insecure", type: "bool", default: false, help: "do not verify the servers' certificates" },
    { name: "json", type: "bool", default: false, help: "one JSON object: the requests, and the differences" },
  ],
  notes: [
    "LOG is a file of JSON lines (of edge, Caddy, Traefik), common, combined or HAProxy's format, also .gz and .zst, or - for standard input. If a line names the host, edge sends it. The servers are under load while it runs: --rate says how much.",
    "",
    "Examples:",
    "  edge replay /var/log/nginx/access.log --against http://127.0.0.1:8080 \\",
    "    --compare http://127.0.0.1:80",
    "  edge replay access.log access-20261122T101500.log.zst --rate 10 \\",
    "    --against https://staging.example.com",
    "",
    "Exit codes: 0 nothing differs, 1 something differs or the log cannot be read, 2 wrong usage.",
  ],
} as const;

type Call = CommandCall<typeof replayCommand.flags>;

/** `edge replay`: docs/tools.md#replay */
export async function runReplay(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(replayCommand, args, io);
  if (typeof call === "number") return call;
  const { against, compare, concurrency, timeout: timeoutMs, insecure } = call.values;
  const urls = [against, ...(compare === "" ? [] : [compare])].map(urlOf);
  const fault = urls.find((one) => typeof one === "string");
  if (fault !== undefined) {
    io.err(`edge replay: ${fault}\n`);
    return ExitCode.Usage;
  }
  const log = new RecordedLog(call.values.limit, call.values.all);
  try {
    for (const file of call.operands) await readLines(file, (line) => log.take(line));
  } catch (error) {
    io.err(`edge replay: cannot read the log: ${errorReason(error)}\n`);
    return ExitCode.Failure;
  }
  if (log.requests.length === 0) {
    io.err(`edge replay: the log has no request that can be sent${log.skippedText()}\n`);
    return ExitCode.Failure;
  }
  const targets = (urls as URL[]).map((url) => new ReplayTarget(url, { concurrency, timeoutMs, verifies: !insecure }));
  try {
    return await run(call, log, targets, io);
  } finally {
    for (const one of targets) one.close();
  }
}

async function run(
  { values }: Call,
  log: RecordedLog,
  [target, other]: readonly ReplayTarget[],
  io: CommandIo,
): Promise<number> {
  const ignored = new Set(
    values.ignore
      .toLowerCase()
      .split(",")
      .map((one) => one.trim()),
  );
  const fields = FIELDS_THAT_MATTER.filter((name) => !ignored.has(name));
  const findings: ReplayFinding[] = [];
  let isOver = false;
  const stop = (): void => {
    isOver = true;
  };
  process.once("SIGINT", stop);
  const hosts = [target!, ...(other === undefined ? [] : [other])].map(({ url }) => url.host).join(" and ");
  io.err(
    `Sending ${exactly(log.requests.length, "request")} to ${hosts}, at most ${values.rate} a second and ${values.concurrency} at once.\n`,
  );
  const sent = await replay(
    log.requests,
    {
      target: target!,
      other: other ?? null,
      comparison: { fields, hasErrorBodies: values["error-bodies"] },
      concurrency: values.concurrency,
      rate: values.rate,
    },
    (finding) => {
      findings.push(finding);
      if (!values.json) io.out(findingText(finding));
    },
    () => isOver,
  );
  process.off("SIGINT", stop);
  if (values.json)
    io.out(
      `${JSON.stringify({ sent, skipped: log.skipped, differ: findings.length, findings: findings.map(findingJson) }, null, 2)}\n`,
    );
  else
    io.out(
      `${exactly(sent, "request")} sent${log.skippedText()}; ${findings.length === 0 ? "none differs" : `${findings.length} ${findings.length === 1 ? "differs" : "differ"}`}.\n`,
    );
  if (isOver) return ExitCode.Interrupted;
  return findings.length === 0 ? ExitCode.Done : ExitCode.Failure;
}

/** Requests of a log, each once unless all are wanted. */
class RecordedLog {
  readonly requests: RecordedRequest[] = [];
  readonly skipped = { method: 0, unreadable: 0, repeated: 0, limit: 0 };
  private readonly seen: Set<string> = new Set();
  private readonly limit: number;
  private readonly isEach: boolean;

  constructor(limit: number, isEach: boolean) {
    this.limit = limit;
    this.isEach = isEach;
  }

  take(line: string): void {
    if (line.trim() === "") return;
    const request = readRecorded(line);
    if (request === "event") return;
    if (typeof request === "string") {
      this.skipped[request]++;
      return;
    }
    const key = `${request.method} ${request.host} ${request.uri}`;
    if (!this.isEach && this.seen.has(key)) this.skipped.repeated++;
    else if (this.requests.length >= this.limit) this.skipped.limit++;
    else {
      this.seen.add(key);
      this.requests.push(request);
    }
  }

  skippedText(): string {
    const { method, unreadable, repeated, limit } = this.skipped;
    const parts = [
      method > 0 ? `${method} with a method that may change something` : "",
      repeated > 0 ? `${repeated} repeated` : "",
      unreadable > 0 ? `${exactly(unreadable, "line")} not readable` : "",
      limit > 0 ? `${limit} beyond the limit` : "",
    ].filter((one) => one !== "");
    return parts.length === 0 ? "" : ` (left out: ${parts.join(", ")})`;
  }
}

function urlOf(text: string): URL | string {
  if (text === "") return "--against is missing: the server to test, such as http://127.0.0.1:8080";
  const isUrl = /^https?:\/\//.test(text) && URL.canParse(text);
  if (!isUrl) return `expected a URL such as http://127.0.0.1:8080, found ${JSON.stringify(text)}`;
  const url = new URL(text);
  return url.search === "" && url.username === "" ? url : "expected a URL without query and user name";
}
