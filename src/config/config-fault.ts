import { withoutCredentials } from "../core/secret-name.ts";

/** One thing wrong in the configuration (or, as a warning, one thing that is hardly meant). docs/configuration.md#mistakes */
export interface ConfigFault {
  /** As the operator would name it, relative if the operator wrote it so. */
  readonly file: string;
  /** From 1; 0 when the fault is about the file as a whole. */
  readonly line: number;
  /** From 1; 0 with `line` 0. */
  readonly col: number;
  /** Such as `server.tls.port` or `routes[2].target`; "" for a fault of the YAML text itself. */
  readonly path: string;
  /** The expected and the found value, and the cure, in plain words. */
  readonly message: string;
}

/** A path into a file's values, list places counting from 0. */
export type KeyPath = readonly (string | number)[];

/** A fault as one line for the operator: `file:line:col: key.path: the expectation (did you mean …?)`. */
export function formatFault(fault: ConfigFault): string {
  const place = fault.line === 0 ? fault.file : `${fault.file}:${fault.line}:${fault.col}`;
  return fault.path === "" ? `${place}: ${fault.message}` : `${place}: ${fault.path}: ${fault.message}`;
}

/** Writes a key path as `server.tls.certificates[0].cert_file`; in a file that is a list, as `routes[0].target`. */
export function formatKeyPath(path: KeyPath): string {
  let text = typeof path[0] === "number" ? "routes" : "";
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`;
    else text += text === "" ? keyText(key) : `.${keyText(key)}`;
  }
  return text;
}

/**
 * Puts faults in reading order (file by file as first met, then line and column), leaves exact repetitions out, and
 * cuts the list at `limit`, saying how many are not shown.
 */
export function sortFaults(faults: readonly ConfigFault[], limit: number): ConfigFault[] {
  const files = [...new Set(faults.map((fault) => fault.file))];
  const seen = new Set<string>();
  const sorted = faults
    .filter((fault) => {
      const line = formatFault(fault);
      return !seen.has(line) && seen.add(line) !== undefined;
    })
    .sort((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.col - b.col);
  if (sorted.length <= limit) return sorted;
  const last = sorted[limit]!;
  const message = `${sorted.length - limit} more faults follow; fix these first`;
  return [...sorted.slice(0, limit), { file: last.file, line: 0, col: 0, path: "", message }];
}

/** A value as a fault text quotes it: in quotes, cut short, control characters escaped, credentials of a URL masked. */
export function quote(value: string): string {
  const shown = withoutCredentials(value);
  return JSON.stringify(shown.length > MAX_QUOTED ? `${shown.slice(0, MAX_QUOTED)}…` : shown);
}

function keyText(key: string): string {
  return /^[\w.*<-]{1,64}$/.test(key) ? key : quote(key);
}

/** So many characters of a value a fault text quotes. */
export const MAX_QUOTED = 60;

/** Where a setting is in its file; line and column count from 1, and are 0 for a setting that no file holds. */
export interface ConfigPosition {
  readonly file: string;
  readonly line: number;
  readonly col: number;
}
