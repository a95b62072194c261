import { MASK } from "./secret-name.ts";

/** Values that are remembered; beyond, the oldest is forgotten. Secrets that are replaced every minute make no more. */
const MAX_SECRET_VALUES = 4096;
/** Shorter values are no secrets: every text would have them. */
export const MIN_SECRET_CHARS = 3;

/**
 * The values of secrets that came from files, for all output of the process: no command, response or line of the log holds one.
 * docs/security.md#logs-and-secrets
 */
class SecretValues {
  /** Each spelling of each value, the longest first: one may be in another. */
  private spellings: readonly string[] = [];
  private readonly values: Set<string> = new Set();

  /** Remembers a value. */
  add(value: string): void {
    if (value.length < MIN_SECRET_CHARS || this.values.has(value)) return;
    if (this.values.size >= MAX_SECRET_VALUES) this.values.delete(this.values.values().next().value!);
    this.values.add(value);
    const all = new Set([...this.values].flatMap(spellingsOf));
    this.spellings = [...all].sort((a, b) => b.length - a.length);
  }

  /** The text with a mask in the place of each value. */
  masked(text: string): string {
    let shown = text;
    for (const spelling of this.spellings) if (shown.includes(spelling)) shown = shown.replaceAll(spelling, MASK);
    return shown;
  }
}

/** As it is, in a text of JSON or YAML, and in a URL. */
function spellingsOf(value: string): readonly string[] {
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
    encodeURI(value.toWellFormed()),
  ];
}

/** Those of this thread. */
export const SECRET_VALUES: SecretValues = new SecretValues();
