import { MAX_QUOTED } from "./config-fault.ts";
import { NO_SECRET_FILES, type SecretReader } from "./secret-file.ts";

/** The environment as a plain map; `process.env` fits. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `used` are the variables and files that were put in, with their values. */
type Expansion =
  | {
      readonly ok: true;
      readonly text: string;
      readonly used: readonly (readonly [string, string])[];
      /** What works and is hardly meant. */
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly message: string };

/**
 * Puts environment variables and secrets into a text: `${NAME}` must be set, `${NAME:-default}` falls back when it is unset or
 * empty, `${file:NAME}` is the content of a file, `$${` stands for a plain `${`. Gives the new text or a fault text. Defaults stay
 * as they are: nothing inside them expands again. docs/configuration.md#values
 */
export function expandVariables(
  text: string,
  environment: Environment,
  secrets: SecretReader = NO_SECRET_FILES,
): Expansion {
  const used: [string, string][] = [];
  const warnings: string[] = [];
  let out = "";
  let from = 0;
  for (;;) {
    const start = text.indexOf("${", from);
    if (start < 0) return { ok: true, text: out + text.slice(from), used, warnings };
    if (start > from && text[start - 1] === "$") {
      out += `${text.slice(from, start - 1)}\${`;
      from = start + 2;
      continue;
    }
    const end = text.indexOf("}", start);
    if (end < 0) return { ok: false, message: `"\${" without a closing "}" (write "$\${" for a plain "\${")` };
    const inner = text.slice(start + 2, end);
    if (inner.startsWith(FILE)) {
      const found = secrets(inner.slice(FILE.length).trim());
      if (!found.ok) return found;
      if (found.warning !== "") warnings.push(found.warning);
      used.push([inner, found.text]);
      out += text.slice(from, start) + found.text;
      from = end + 1;
      continue;
    }
    const parts = VARIABLE.exec(inner);
    if (parts === null) {
      const found = JSON.stringify(text.slice(start, end + 1));
      return { ok: false, message: `expected \${NAME}, \${NAME:-default} or \${file:PATH}, found ${found}` };
    }
    const name = parts[1]!;
    const set = environment[name];
    const value = parts[2] !== undefined && (set === undefined || set === "") ? parts[2] : set;
    if (value === undefined) {
      return {
        ok: false,
        message: `the environment variable ${name} is not set (set it, or write \${${name}:-default})`,
      };
    }
    if (value === set) used.push([name, value]);
    out += text.slice(from, start) + value;
    from = end + 1;
  }
}

/** A message without the values of variables: `${NAME}` is in their place, also if a value was cut short. */
export function hideValues(message: string, values: ReadonlyMap<string, string>): string {
  let shown = message;
  for (const [name, value] of values) {
    for (const text of [value, JSON.stringify(value).slice(1, -1)]) {
      if (text.length < MIN_HIDDEN) continue;
      shown = shown.replaceAll(text, `\${${name}}`);
      for (let length = Math.min(text.length, MAX_QUOTED); length >= MIN_HIDDEN && shown.includes("…"); length--) {
        shown = shown.replaceAll(`${text.slice(0, length)}…`, `\${${name}}`);
      }
    }
  }
  return shown;
}

/** What is shorter is no secret, and would be found in every message. */
const MIN_HIDDEN = 3;
const FILE = "file:";
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
