import { resolve } from "node:path";
import { messageOf } from "../../core/error-text.ts";
import { VERSION } from "../../core/version.ts";
import { type CommandIo, ExitCode } from "../command-io.ts";
import { startCommand } from "../flags.ts";
import { findGateways, GATEWAY_FLAGS, type GatewayApi, GatewayFault, type GatewayFlags } from "../gateway-address.ts";
import { hasChild, runningWith } from "../running-gateway.ts";
import { BinarySwap } from "./binary-swap.ts";
import { type NewestRelease, RELEASE_FLAGS, ReleaseFault, ReleaseFolder } from "./release-folder.ts";

/** The command as `edge help update` shows it. */
export const updateCommand = {
  name: "edge update",
  page: "upgrade.md#update",
  summary: "Replaces this program by the newest signed release, and upgrades the running gateway with zero downtime.",
  flags: [
    ...RELEASE_FLAGS,
    { name: "dry-run", type: "bool", default: false, help: "say what would be installed, and change nothing" },
    { name: "allow-older", type: "bool", default: false, help: "take an older version, too" },
    ...GATEWAY_FLAGS,
    { name: "json", type: "bool", default: false, help: "print one JSON object" },
  ],
  notes: [
    "If the new program does not become ready, the old one goes on and its file is put back.",
    "Exit codes: 0 updated, or nothing to do; 1 not updated; 2 wrong usage.",
  ],
} as const;

/** The result. */
interface Outcome {
  readonly ok: boolean;
  readonly from: string;
  readonly to: string;
  /** `current`, `dry_run`, `installed` (no gateway runs), `upgraded`, `rolled_back`, `refused`. */
  readonly result: string;
  readonly message: string;
  /** Of the gateway that serves now; null if none is known. */
  readonly pid: number | null;
}

/** `edge update`. docs/upgrade.md#update */
export async function runUpdate(args: readonly string[], io: CommandIo): Promise<number> {
  const call = startCommand(updateCommand, args, io);
  if (typeof call === "number") return call;
  const { json } = call.values;
  let outcome: Outcome;
  try {
    outcome = await update(call.values, io);
  } catch (error) {
    if (!(error instanceof ReleaseFault)) throw error;
    outcome = outcomeOf("refused", "", error.message);
  }
  if (json) io.out(`${JSON.stringify(outcome)}\n`);
  else if (outcome.ok) io.out(`${outcome.message}\n`);
  else io.err(`edge update: ${outcome.message}\n`);
  return outcome.ok ? ExitCode.Done : ExitCode.Failure;
}

interface UpdateFlags extends GatewayFlags {
  readonly from: string;
  readonly "signature-key": string;
  readonly ca: string;
  readonly "dry-run": boolean;
  readonly "allow-older": boolean;
}

async function update(flags: UpdateFlags, io: CommandIo): Promise<Outcome> {
  const folder = ReleaseFolder.of(flags, process.env);
  const release = await folder.newest();
  const { version } = release;
  const order = Bun.semver.order(version, VERSION);
  if (order === 0) return outcomeOf("current", version, `edge ${VERSION} is the newest release.`);
  if (order < 0 && !flags["allow-older"])
    throw new ReleaseFault(`the newest release is ${version}, older than ${VERSION}: --allow-older takes it`);
  const swap = new BinarySwap(process.execPath);
  swap.ensureReplaceable();
  if (flags["dry-run"]) return outcomeOf("dry_run", version, describe(release));
  const configPath = resolve(flags.config || "config.yaml");
  swap.stage(await folder.program(release), version, configPath);
  const [running] = runningWith(configPath);
  swap.commit();
  if (running === undefined)
    return outcomeOf(
      "installed",
      version,
      `${process.execPath} is edge ${version}. No gateway runs with ${configPath}.`,
    );
  const pid = await upgraded(running.pid, findGateways(flags, io, updateCommand.name));
  if (pid !== null)
    return outcomeOf("upgraded", version, `edge ${version} serves as process ${pid}; it was ${VERSION}.`, pid);
  swap.rollBack();
  const message = `edge ${version} did not become ready: process ${running.pid} goes on with ${VERSION}, whose file is back. The event upgrade in the log has the reason.`;
  return outcomeOf("rolled_back", version, message, running.pid);
}

function describe({ version, file, keyId }: NewestRelease): string {
  return `edge ${version} would take the place of ${VERSION} at ${process.execPath}: ${file}, signed with key ${keyId}.`;
}

/** Has the gateway hand over. @returns the id of the process that took over; null if none did */
async function upgraded(pid: number, gateways: readonly GatewayApi[]): Promise<number | null> {
  try {
    process.kill(pid, "SIGUSR2");
  } catch (error) {
    throw new ReleaseFault(`process ${pid} cannot be signalled: ${messageOf(error)}`);
  }
  const deadline = performance.now() + READY_MS;
  let hasBegun = false;
  while (performance.now() < deadline) {
    await Bun.sleep(POLL_MS);
    const now = await pidOf(gateways);
    if (now !== null && now !== pid) return now;
    const isStarting = hasChild(pid);
    if (hasBegun && !isStarting && now === pid) return null;
    hasBegun ||= isStarting;
  }
  return null;
}

async function pidOf(gateways: readonly GatewayApi[]): Promise<number | null> {
  for (const gateway of gateways) {
    try {
      return (await gateway.json<{ readonly pid: number }>(STATUS)).pid;
    } catch (error) {
      if (!(error instanceof GatewayFault)) throw error;
    }
  }
  return null;
}

function outcomeOf(result: string, to: string, message: string, pid: number | null = null): Outcome {
  const ok = result !== "refused" && result !== "rolled_back";
  return { ok, from: VERSION, to, result, message, pid };
}

const STATUS = "/internal/api/status";
const READY_MS = 60_000;
const POLL_MS = 50;
