import { mayColor } from "../control/start-summary.ts";
import { type DryRequest, DryRun, type HttpVersion } from "../explain/dry-run.ts";
import type { LiveExplanation } from "../explain/explain-call.ts";
import { type Explanation, explainRequest } from "../explain/explanation.ts";
import { requestOf, type TypedRequest } from "../explain/typed-request.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { passedNames } from "../routes/streams/passed-names.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { explanationText, NO_PAINT, TERMINAL } from "./explanation-text.ts";
import { startCommand, takeRepeated } from "./flags.ts";
import { findGateway, type GatewayApi, GatewayFault, PLACE_FLAGS } from "./gateway-address.ts";
import { isTerminal } from "./is-terminal.ts";
import { loadForRequest, REQUEST_FLAGS } from "./load-for-request.ts";

/** The command as `edge help explain` shows it. */
export const explainCommand = {
  name: "edge explain",
  page: "explain.md",
  summary:
    "Shows what the gateway would do with a request and why (a dry run), using the routes and phases that serve. It sends and opens nothing.",
  operands: { usage: "'METHOD URL'", min: 1, max: 2 },
  flags: [
    ...REQUEST_FLAGS,
    {
      name: "live",
      type: "bool",
      default: false,
      help: "ask the running gateway, which knows the routes of all sources; the files by default",
    },
    ...PLACE_FLAGS,
    {
      name: "method",
      alias: "X",
      type: "string",
      default: "",
      placeholder: "METHOD",
      help: "the method, if it is not before the URL",
    },
    { name: "body", type: "string", default: "", help: "the body; its length is declared unless a header does" },
    {
      name: "client-ip",
      type: "string",
      default: "127.0.0.1",
      placeholder: "ADDRESS",
      help: "where the request comes from",
    },
    {
      name: "http",
      type: "string",
      default: "1",
      choices: ["1", "2", "3"],
      help: "the version of HTTP by which it comes",
    },
    {
      name: "listener",
      type: "string",
      default: "",
      placeholder: "NAME",
      help: "the listener by which it comes; the first that speaks as it does without it",
    },
    { name: "json", type: "bool", default: false, help: "print one JSON object" },
  ],
  notes: [
    "Examples:",
    "  edge explain 'GET https://shop.example.com/a/b'",
    "  edge explain 'POST /api/users' -H 'Host: api.example.com' \\",
    "    -H 'Content-Length: 5000000'",
    "  edge explain -X POST /login",
    "  edge explain --client-ip 198.51.100.7 /admin",
    "",
    "A path alone is requested from localhost, in clear text where server.port is on; a URL alone is a GET.",
    "Exit codes: 0 the files are in order, whatever the response; 1 they are not, or no gateway answers; 2 wrong usage.",
  ],
} as const;

/** `edge explain`: what would become of a request. docs/explain.md */
export function runExplain(
  args: readonly string[],
  io: CommandIo,
  hasColor: boolean = isTerminal(STDOUT) && mayColor(process.env),
): number | Promise<number> {
  const { taken: headers, others } = takeRepeated(args, "header", "H");
  const call = startCommand(explainCommand, others, io);
  if (typeof call === "number") return call;
  const { values, operands } = call;
  const typed = {
    request: [values.method, ...operands].filter((word) => word !== "").join(" "),
    headers,
    body: values.body,
    clientIp: values["client-ip"],
    http: HTTP_VERSIONS[values.http],
    listener: values.listener,
  };
  const shown = (explanation: Explanation, others: object = {}): string =>
    values.json
      ? `${JSON.stringify({ ...explanation, ...others }, null, 2)}\n`
      : explanationText(explanation, hasColor ? TERMINAL : NO_PAINT);
  if (values.live || values.socket !== "" || values.url !== "") {
    const gateway = findGateway(values, io, explainCommand.name);
    return gateway === null ? ExitCode.Failure : explainLive(gateway, typed, shown, io);
  }
  const config = loadForRequest(values, io);
  if (config === null) return ExitCode.Failure;
  const request = requestOf(typed, config);
  if (typeof request === "string") {
    io.err(`edge explain: ${request}\n`);
    return ExitCode.Usage;
  }
  for (const note of [...notesOn(request, config), ...notesOnSources(config)]) io.err(`edge explain: ${note}\n`);
  const explanation = explainRequest(config, new DryRun(config), request);
  const passed = request.tls ? passedNames(config)?.get(hostOf(explanation.request.host)) : null;
  if (passed) {
    const targets = passed.targets.map(({ url }) => url).join(", ");
    io.err(
      `edge explain: TLS connections for this name go to ${targets} unopened (${passed.path}): what follows is for a request that comes on another's\n`,
    );
  }
  io.out(shown(explanation));
  return ExitCode.Done;
}

/** Asks a running gateway, and says from which sources its table comes. */
async function explainLive(
  gateway: GatewayApi,
  { clientIp, ...typed }: TypedRequest,
  shown: (explanation: Explanation, others: object) => string,
  io: CommandIo,
): Promise<number> {
  try {
    const { status, text } = await gateway.post(EXPLAIN, { ...typed, client_ip: clientIp });
    if (status !== 200) throw gateway.refused(EXPLAIN, status, text);
    const { explanation, sources } = gateway.parsed(EXPLAIN, text) as LiveExplanation;
    const counts = Object.entries(sources).map(([source, count]) => `${count} of ${source}`);
    io.err(`edge explain: routes of the gateway at ${gateway.label}: ${counts.join(", ") || "none"}\n`);
    io.out(shown(explanation, { sources }));
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`edge explain: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

/** Without the port. */
function hostOf(authority: string): string {
  return authority.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
}

/** A request to a listener that is off is explained all the same. */
function notesOn({ tls, http = 1 }: DryRequest, { server }: RuntimeConfig): string[] {
  if (http > 1 && !(http === 2 ? server.http2 : server.http3).enabled) {
    return [`server.http${http} is off: nothing speaks HTTP/${http}, explained as if it did`];
  }
  if (tls && !server.tls.enabled) return ["server.tls is off: nothing listens for https, explained as if it did"];
  if (!tls && server.listeners.every((one) => one.tls))
    return ["server.port is off: nothing listens for http, explained as if it did"];
  return [];
}

/** What a running gateway learns from elsewhere is not in the files. */
function notesOnSources({ providers }: RuntimeConfig): string[] {
  const { kubernetes, docker, consul, nomad, etcd } = providers;
  const live = Object.entries({ docker, consul, nomad, etcd, kubernetes: kubernetes.enabled ? kubernetes : null });
  const names = live.flatMap(([name, settings]) => (settings === null ? [] : [name]));
  if (names.length === 0) return [];
  return [`routes of ${names.join(" and ")} are not in the files: --live asks the running gateway, which has them`];
}

const EXPLAIN = "/internal/api/explain";
const STDOUT = 1;
const HTTP_VERSIONS: Readonly<Record<string, HttpVersion>> = { 1: 1, 2: 2, 3: 3 };
