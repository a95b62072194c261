import { formatFault } from "../config/config-fault.ts";
import { RULE_NAMES } from "../features/waf/rule-table.ts";
import { loadConfig } from "../loading/load-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { CommandIo } from "./command-io.ts";
import { CONFIG_FLAGS } from "./config-flags.ts";
import { moreOf } from "./help/more.ts";

/** The flags of commands that ask the configuration about a request. `header` is taken by `takeRepeated`. */
export const REQUEST_FLAGS = [
  ...CONFIG_FLAGS,
  { name: "header", alias: "H", type: "string", default: "", help: "a line such as 'Name: value'; may be repeated" },
] as const;

/** What a command loads by `--config` and `--routes`. */
export function loadRequest({ config, routes }: { readonly config: string; readonly routes: string }) {
  return {
    configPath: config || null,
    routesPath: routes || null,
    cwd: process.cwd(),
    env: process.env,
    knownWafRules: RULE_NAMES,
  };
}

/** Reads the files that such a command names. @returns null if they are faulty, which is told then */
export function loadForRequest(
  flags: { readonly config: string; readonly routes: string },
  io: CommandIo,
): RuntimeConfig | null {
  const loaded = loadConfig(loadRequest(flags));
  if (loaded.ok) return loaded.config;
  for (const fault of loaded.faults) io.err(`${formatFault(fault)}\n`);
  io.err(moreOf(loaded.faults));
  return null;
}
