import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { stateFolderOf } from "../../../config/state-folder.ts";
import { messageOf } from "../../../core/error-text.ts";
import { readSigningKeys } from "../remote/minisign.ts";
import { isSourceUrl } from "../remote/source-address.ts";
import { RemoteConfig, type RemoteOptions } from "./remote-config.ts";

/** What the flags of `edge serve` say. */
export interface RemoteFlags {
  readonly config: string;
  readonly routes: string;
  /** Milliseconds. */
  readonly poll: number;
  readonly "signature-key": string;
  readonly ca: string;
}

/** Where and how the texts are read. */
interface RemoteSourcePorts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly load: RemoteOptions["load"];
}

/**
 * The configuration from afar that flags ask for; null if they name files.
 * @throws the fault in the flags
 */
export function remoteConfigOf(flags: RemoteFlags, { env, cwd, load }: RemoteSourcePorts): RemoteConfig | null {
  const { config, routes, poll, ca } = flags;
  const isRemote = isSourceUrl(config);
  if (!isRemote) {
    if (isSourceUrl(routes)) throw new Error("--routes: a URL needs a --config that is one as well");
    for (const name of ["signature-key", "ca"] as const)
      if (flags[name] !== "") throw new Error(`--${name}: requires a URL in --config`);
    return null;
  }
  if (routes !== "" && !isSourceUrl(routes)) throw new Error("--routes: expected a URL, as --config is one");
  if (poll < MIN_POLL_MS) throw new Error(`--poll: expected at least ${MIN_POLL_MS / 1000}s`);
  if (ca !== "") readFlagFile("--ca", resolve(cwd, ca), (text) => text);
  const keyFile = flags["signature-key"];
  return new RemoteConfig({
    config,
    routes,
    pollMs: poll,
    keys: keyFile === "" ? null : readFlagFile("--signature-key", resolve(cwd, keyFile), readSigningKeys),
    caFile: ca === "" ? "" : resolve(cwd, ca),
    token: env.EDGE_CONFIG_TOKEN ?? "",
    folder: stateFolderOf(env, cwd),
    load,
  });
}

function readFlagFile<T>(flag: string, path: string, read: (text: string) => T): T {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`${flag}: ${path}: ${messageOf(error)}`);
  }
  try {
    return read(text);
  } catch (error) {
    throw new Error(`${flag}: ${path}: ${messageOf(error)}`);
  }
}

const MIN_POLL_MS = 1000;
