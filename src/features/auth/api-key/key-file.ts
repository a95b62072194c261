import { type ListContent, ListFaults, MAX_LIST_LINES } from "../../../memory/list-file.ts";
import { TextTableBuilder } from "../../../memory/text-table.ts";
import { hashFault, isUserName } from "../basic-settings.ts";
import { fieldBytes } from "../claims.ts";

/** Keys that are kept as argon2: a wrong key costs a check of each. */
export const MAX_SLOW_KEYS = 16;
/** The mark of an entry whose hash is slow to check. */
export const SLOW = 1;
const LINES_PER_STEP = 2000;
const PREFIX = "sha256:";

/** Why a text is no hash of a key, with the cure, or "". The text is not repeated. */
export function keyHashFault(hash: string): string {
  if (hash.startsWith(PREFIX)) {
    return /^sha256:[0-9a-f]{64}$/i.test(hash) ? "" : "expected 64 hexadecimal digits behind sha256:";
  }
  if (hash.startsWith("$argon2id$")) return hashFault(hash);
  return 'expected sha256: with 64 hexadecimal digits, or argon2id: "edge passwd --api-key NAME" makes a key and its line';
}

/** A hash as the table has it. */
export function keyHash(hash: string): string {
  return hash.startsWith(PREFIX) ? hash.toLowerCase() : hash;
}

/** Makes a table of a file of keys, lines of `NAME:HASH`: hash to name. docs/authentication.md#api-keys */
export function* readKeyFile(text: string): Generator<undefined, ListContent, undefined> {
  const table = new TextTableBuilder();
  const faults = new ListFaults();
  let slow = 0;
  for (const [i, written] of text.split("\n").entries()) {
    if (i % LINES_PER_STEP === LINES_PER_STEP - 1) yield undefined;
    const line = written.trim();
    if (line === "" || line.startsWith("#")) continue;
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon));
    const hash = keyHash(line.slice(colon + 1).trim());
    const isSlow = hash.startsWith("$");
    const fault = colon < 0 || !isUserName(name) ? "expected NAME:sha256:HEX" : keyHashFault(hash);
    if (fault !== "") faults.add(i + 1, fault);
    else if (isSlow && ++slow > MAX_SLOW_KEYS)
      faults.add(i + 1, `at most ${MAX_SLOW_KEYS} keys may be argon2id: a random key is as safe as sha256`);
    else if (i >= MAX_LIST_LINES) faults.add(i + 1, `a file of keys has at most ${MAX_LIST_LINES} lines`);
    else if (table.add(hash, fieldBytes(name), isSlow ? SLOW : 0) >= 0)
      faults.add(i + 1, "the same key as an earlier line: remove one");
  }
  return { table: yield* table.finish(), entries: table.size, faults: faults.kept, faultCount: faults.count };
}
