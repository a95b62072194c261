import type { ConfigFault } from "../../config/config-fault.ts";
import type { ErrorName } from "../../help/error-guide.ts";
import { KeyList } from "../../loading/key-list.ts";
import { anchorOf } from "./anchor.ts";

/** Where a fault of the configuration is explained. */
export interface FaultHelp {
  /** What `edge help` takes: the key that the fault is about, or the name of an error. */
  readonly help: string;
  /** A page of docs with its anchor. */
  readonly page: string;
}

let keys: KeyList | null = null;

/** Where an error is explained that is no key's. */
export function errorHelp(name: ErrorName): FaultHelp {
  return { help: name, page: `docs/errors.md#${name}` };
}

/** Where a fault or a warning is explained: at its key, or the nearest section around it. docs/configuration.md#mistakes */
export function faultHelp({ path }: Pick<ConfigFault, "path">): FaultHelp {
  keys ??= new KeyList();
  const key = keys.ofFault(path);
  if (key !== "") return { help: key, page: `docs/keys.md#${anchorOf(key)}` };
  // Of routes.yaml as a whole, or an unknown key at the top.
  if (path !== "") return { help: "keys", page: "docs/keys.md" };
  return errorHelp("configuration-file");
}

/** The last line of what a command says about faults: where they are explained. "" for none */
export function moreOf(faults: readonly Pick<ConfigFault, "path">[]): string {
  return moreLine(faults.map((fault) => faultHelp(fault).help));
}

/** The last line of what a command says about errors. @param wanted what `edge help` takes; "" for none */
export function moreLine(wanted: readonly string[]): string {
  const names = [...new Set(wanted)];
  if (names.length === 0) return "";
  return `More: ${names
    .slice(0, MAX_NAMES)
    .map((name) => `edge help ${name}`)
    .join(", ")}\n`;
}

/** So many names a line has. */
const MAX_NAMES = 4;
