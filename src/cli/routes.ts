import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { isRouteName, ROUTE_NAME_PARTS } from "../core/route-name.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { type CommandCall, startCommand } from "./flags.ts";
import { findGateway, GATEWAY_FLAGS, type GatewayApi, GatewayFault, type GatewayResponse } from "./gateway-address.ts";

/** The command as `edge help routes` shows it. */
export const routesCommand = {
  name: "edge routes",
  page: "providers.md#api",
  summary: "Lists the routes of all sources; shows, puts and removes routes of the API of a running gateway.",
  operands: {
    usage: "list|show|put|rm|weights [NAME] [FILE]",
    min: 1,
    max: 1000,
    words: ["list", "show", "put", "rm", "weights"],
  },
  flags: [
    ...GATEWAY_FLAGS,
    { name: "dry-run", type: "bool", default: false, help: "check the change and show its effect" },
    {
      name: "if-match",
      type: "string",
      default: "",
      placeholder: "ETAG",
      help: "only if the route still has this ETag, which --json shows",
    },
    { name: "json", type: "bool", default: false, help: "print one JSON object" },
  ],
  notes: [
    "  edge routes list                 every route with its source",
    "  edge routes show NAME",
    "  edge routes put [NAME] FILE      one route; NAME is the file's by default",
    "  edge routes rm NAME",
    "  edge routes weights NAME URL=N   weights of targets; 0 takes no new requests",
    "",
    "Routes of the API outlive reloads, restarts and upgrades. A change that the gateway refuses changes nothing.",
    "Exit codes: 0 done, 1 the gateway does not answer or refuses, 2 wrong usage.",
  ],
} as const;

type Flags = CommandCall<(typeof routesCommand)["flags"]>["values"];

/** `edge routes`. docs/providers.md#api */
export async function runRoutes(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(routesCommand, args, io);
  if (typeof call === "number") return call;
  const { values, operands } = call;
  const order = orderOf(operands, values);
  if (typeof order === "string") {
    io.err(`edge routes: ${order}\nTry "edge routes --help".\n`);
    return ExitCode.Usage;
  }
  const gateway = findGateway(values, io, routesCommand.name);
  if (gateway === null) return ExitCode.Failure;
  try {
    return await done(gateway, order, values, io);
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`edge routes: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

/** A call of the API. */
interface Order {
  readonly method: "GET" | "PUT" | "DELETE" | "PATCH";
  /** Below the list's path. */
  readonly path: string;
  readonly body: string | null;
  /** For people, after it is done. */
  readonly told: string;
}

/** @returns why the operands are wrong */
function orderOf([word, ...operands]: readonly string[], flags: Flags): Order | string {
  const [first = "", second = ""] = operands;
  const wanted = WANTED[word!]!;
  if (operands.length < wanted.min || operands.length > wanted.max) return `expected edge routes ${wanted.usage}`;
  const query = flags["dry-run"] ? "?dry_run=1" : "";
  if (word === "list") return { method: "GET", path: "", body: null, told: "" };
  const file = second === "" ? first : second;
  const name = word === "put" && second === "" ? basename(first).replace(/\.(?:ya?ml|json)$/, "") : first;
  if (!isRouteName(name)) return `${name}: a name has ${ROUTE_NAME_PARTS}`;
  const path = `/${name}`;
  if (word === "show") return { method: "GET", path, body: null, told: "" };
  if (word === "rm") return { method: "DELETE", path: path + query, body: null, told: `${name} is removed.` };
  if (word === "weights") {
    const weights = weightsOf(operands.slice(1));
    if (typeof weights === "string") return weights;
    const body = JSON.stringify(weights);
    return { method: "PATCH", path: `${path}/weights${query}`, body, told: `${name} has these weights.` };
  }
  const text = textOf(file);
  return typeof text === "string"
    ? text
    : { method: "PUT", path: path + query, body: text.body, told: `${name} serves.` };
}

function weightsOf(pairs: readonly string[]): Record<string, number> | string {
  const weights: Record<string, number> = {};
  for (const pair of pairs) {
    const at = pair.lastIndexOf("=");
    if (at < 1 || !/^\d{1,10}$/.test(pair.slice(at + 1)))
      return `${pair}: expected URL=N, such as http://10.0.0.5:8000=1`;
    weights[pair.slice(0, at)] = Number(pair.slice(at + 1));
  }
  return weights;
}

/** @returns why it cannot be read */
function textOf(file: string): { readonly body: string } | string {
  try {
    if (statSync(file).size > MAX_FILE_BYTES) return `${file}: larger than 1 MiB`;
    return { body: readFileSync(file, "utf8") };
  } catch (error) {
    return `${file}: ${errorReason(error)}`;
  }
}

async function done(gateway: GatewayApi, order: Order, flags: Flags, io: CommandIo): Promise<number> {
  const { method, path, body, told } = order;
  const whole = `${PATH}${path}`;
  const isShown = method === "GET" && path !== "";
  const fields = {
    ...(flags["if-match"] === "" ? {} : { "If-Match": flags["if-match"] }),
    ...(isShown && !flags.json ? { Accept: "application/yaml" } : {}),
  };
  const response = await gateway.call(method, whole, body, fields, LIMIT_MS);
  if (response.status !== 200 && response.status !== 422) throw gateway.refused(whole, response.status, response.text);
  if (isShown && !flags.json) {
    io.out(response.text.endsWith("\n") ? response.text : `${response.text}\n`);
    return ExitCode.Done;
  }
  const answer = gateway.parsed(whole, response.text) as Answer;
  if (flags.json) io.out(`${JSON.stringify(isShown ? shownAs(path, response, answer) : answer, null, 2)}\n`);
  else if (response.status === 422) for (const fault of answer.faults ?? []) io.err(`${fault}\n`);
  else if (method === "GET") io.out(table(answer));
  else {
    io.out(flags["dry-run"] ? `In order; nothing is changed. ${differenceOf(answer)}\n` : `${told}\n`);
    for (const by of answer.shadowed_by ?? [])
      io.err(`edge routes: does not serve: ${by.source} ${by.name} has a route of the same host, path and match\n`);
    if (answer.kept === false)
      io.err("edge routes: the state folder cannot be written: a restart forgets this change\n");
  }
  return response.status === 200 ? ExitCode.Done : ExitCode.Failure;
}

function shownAs(path: string, { etag }: GatewayResponse, route: object): object {
  return { name: path.slice(1), etag, route };
}

interface Origin {
  readonly source: string;
  readonly name: string;
}

interface ListedRoute extends Origin {
  readonly route: string;
  readonly host: readonly string[];
}

/** What any of these calls answers. docs/providers.md#api */
interface Answer {
  readonly faults?: readonly string[];
  readonly shadowed_by?: readonly Origin[];
  readonly kept?: boolean;
  readonly changes?: { readonly routes: readonly { readonly change: string; readonly name: string }[] };
  readonly routes?: readonly (ListedRoute & { readonly type: string })[];
  readonly shadowed?: readonly (ListedRoute & { readonly by: Origin })[];
  readonly invalid?: readonly (Origin & { readonly faults: readonly string[]; readonly kept: boolean })[];
}

function differenceOf({ changes }: Answer): string {
  const all = (changes?.routes ?? []).map(({ change, name }) => `${change}: ${name}`);
  return all.length === 0 ? "It would change nothing." : `It would change: ${all.join("; ")}.`;
}

function table({ routes = [], shadowed = [], invalid = [] }: Answer): string {
  const rows = routes.map(({ source, name, type, route, host }) => [source, name, type, host.join(",") || "*", route]);
  const all = [["SOURCE", "NAME", "TYPE", "HOST", "ROUTE"], ...rows];
  const widths = all[0]!.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const lines = all.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join("  ")
      .trimEnd(),
  );
  for (const { source, name, route, host, by } of shadowed)
    lines.push(`shadowed: ${source} ${name} ${host.join(",") || "*"} ${route}: ${by.source} ${by.name} serves`);
  for (const { source, name, faults, kept } of invalid)
    lines.push(`faulty: ${source} ${name}${kept ? " (its last good routes serve)" : ""}: ${faults[0] ?? ""}`);
  return `${lines.join("\n")}\n`;
}

/** The operands after a word. */
const WANTED: Readonly<Record<string, { readonly usage: string; readonly min: number; readonly max: number }>> = {
  list: { usage: "list", min: 0, max: 0 },
  show: { usage: "show NAME", min: 1, max: 1 },
  put: { usage: "put [NAME] FILE", min: 1, max: 2 },
  rm: { usage: "rm NAME", min: 1, max: 1 },
  weights: { usage: "weights NAME URL=N", min: 2, max: 999 },
};
const PATH = "/internal/api/config/routes";
const MAX_FILE_BYTES = 1_048_576;
/** Longer than the gateway waits for its workers. */
const LIMIT_MS = 150_000;
