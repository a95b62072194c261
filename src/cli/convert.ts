import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { ConfigFault } from "../config/config-fault.ts";
import { MAX_CONFIG_FILE_BYTES } from "../config/config-file.ts";
import { exactly } from "../core/number-text.ts";
import { judgeRoutes } from "../explain/judge-routes.ts";
import { loadConfig } from "../loading/load-config.ts";
import { PRODUCTS, type Product, planOf, recognise } from "../tools/convert/convert.ts";
import { Draft } from "../tools/convert/draft.ts";
import type { Plan } from "../tools/convert/plan.ts";
import { readSource } from "../tools/convert/source-text.ts";
import { ConvertFault } from "../tools/convert/statement.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { runConvertIngress } from "./convert-ingress.ts";
import { startCommand } from "./flags.ts";

/** The command as `edge help convert` shows it. */
export const convertCommand = {
  name: "edge convert",
  page: "migrate.md",
  summary:
    "Makes config.yaml and routes.yaml of a configuration of nginx, Caddy, HAProxy or Traefik (file provider). Comments name every lost setting at its place, and a table at the end of routes.yaml lists them.",
  operands: { usage: "FILE|-", min: 1, max: 1 },
  flags: [
    {
      name: "out",
      alias: "o",
      type: "string",
      default: "",
      placeholder: "FOLDER",
      help: "where to write config.yaml and routes.yaml, never over a file; without it both go to standard output",
    },
    {
      name: "from",
      type: "string",
      default: "auto",
      choices: ["auto", ...PRODUCTS],
      help: "whose configuration it is; auto goes by the file's name and its text",
    },
  ],
  notes: [
    "Includes are read; paths that are not absolute count from the folder of FILE. The result passes edge check: a route that needs a file which is not on this machine is written as a comment, and answers 503 until then.",
    "",
    "Examples:",
    "  edge convert /etc/nginx/nginx.conf --out /etc/edge",
    "  edge convert Caddyfile | less",
    "",
    "edge convert ingress FILE converts Ingresses of Kubernetes: edge convert ingress --help.",
    "",
    "Exit codes: 0 converted, 1 there is nothing to convert, the file cannot be read, or a file is there already, 2 wrong usage.",
  ],
} as const;

/** `edge convert`: writes or prints both files. Gives the exit code. docs/migrate.md */
export function runConvert(args: readonly string[], io: CommandIo): number {
  if (args[0] === "ingress") return runConvertIngress(args.slice(1), io);
  const call = startCommand(convertCommand, args, io);
  if (typeof call === "number") return call;
  const file = call.operands[0]!;
  const { out, from } = call.values;
  try {
    const text = readSource(file);
    const product = from === "auto" ? recognise(file, text) : (from as Product);
    if (text.trim() === "") return fail(io, `${file} is empty: there is nothing to convert`);
    if (product === null) return fail(io, `${file} is not recognised: name its program with --from`, ExitCode.Usage);
    const plan = planOf(product, file, text);
    if (plan.ledger.account().length === 0) return fail(io, `${file} holds no directives: there is nothing to convert`);
    const { config, routes, count } = checked(plan, file);
    if (out === "") io.out(`# config.yaml\n${config}# routes.yaml\n${routes}`);
    else if (!write(out, { "config.yaml": config, "routes.yaml": routes }, io)) return ExitCode.Failure;
    summarise(plan, { out, count, product }, io);
    return ExitCode.Done;
  } catch (error) {
    return fail(io, error instanceof ConvertFault ? error.message : `${file}: ${errorReason(error)}`);
  }
}

function fail(io: CommandIo, message: string, code: ExitCode = ExitCode.Failure): ExitCode {
  io.err(`edge convert: ${message}\n`);
  return code;
}

function summarise(
  plan: Plan,
  { out, count, product }: { readonly out: string; readonly count: number; readonly product: string },
  io: CommandIo,
): void {
  const fates = plan.ledger.account().map(({ fate }) => fate);
  const of = (fate: string): number => fates.filter((one) => one === fate).length;
  const where = out === "" ? "" : `Wrote ${join(out, "config.yaml")} and ${join(out, "routes.yaml")}. `;
  io.err(
    `${where}${product}: ${fates.length} directives, ${of("carried")} carried over, ${of("standard")} without need of a setting, ` +
      `${of("noted")} noted in comments and in the table at the end of routes.yaml; ${exactly(count, "route")}.\n`,
  );
}

/** Writes both files, if neither is there. */
function write(folder: string, files: Readonly<Record<string, string>>, io: CommandIo): boolean {
  const there = Object.keys(files).filter((name) => isThere(join(folder, name)));
  if (there.length > 0) {
    io.err(`edge convert: ${there.join(" and ")} already present in ${folder}, nothing written.\n`);
    return false;
  }
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { flag: "wx" });
  return true;
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return existsSync(path);
  }
}

/** Both texts, with all that `edge check` has against them taken out and noted. */
function checked(plan: Plan, file: string): { config: string; routes: string; count: number } {
  const draft = new Draft(plan, file);
  const folder = mkdtempSync(join(tmpdir(), "edge-convert-"));
  try {
    const configPath = join(folder, "config.yaml");
    const routesPath = join(folder, "routes.yaml");
    for (let round = 0; ; round++) {
      writeResult(configPath, draft.configText(), file);
      writeResult(routesPath, draft.routesText(), file);
      const faults = faultsOf(configPath, routesPath);
      if (faults.length === 0) break;
      if (round === MAX_ROUNDS)
        throw new ConvertFault({ file, line: 0 }, `the result is not in order: ${faults[0]!.message}`);
      const concerned = draft.written();
      // A route without its expression is like another one: that is no fault of the other.
      const first = faults.filter(({ path }) => /\.(regex|match)\b/.test(path));
      for (const { file: at, path, message } of first.length > 0 ? first : faults) {
        const reason = message.replaceAll(`${folder}/`, "");
        if (basename(at) === "routes.yaml") draft.takeFromRoute(concerned, path, reason);
        else draft.takeFromConfig(path, reason);
      }
    }
    return { config: draft.configText(), routes: draft.routesText(), count: draft.written().routes.length };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes one of both files, unless it is larger than what edge reads. */
function writeResult(path: string, text: string, file: string): void {
  if (Buffer.byteLength(text) > MAX_CONFIG_FILE_BYTES)
    throw new ConvertFault(
      { file, line: 0 },
      `its ${basename(path)} would be larger than 16 MiB: convert its sites in parts`,
    );
  writeFileSync(path, text);
}

function faultsOf(configPath: string, routesPath: string): readonly ConfigFault[] {
  const result = loadConfig({
    configPath,
    routesPath,
    cwd: process.cwd(),
    env: process.env,
    judge: judgeRoutes,
    maxFaults: Number.POSITIVE_INFINITY,
  });
  return result.ok ? [] : result.faults;
}

/** Each round takes at least one thing out of everything that is faulty. */
const MAX_ROUNDS = 100;
