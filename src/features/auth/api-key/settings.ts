import { TEXT } from "../../../config/form.ts";
import { headerNameKind, isToken } from "../../../config/http-syntax.ts";
import { pairs, piece, type Spot, Wrong, written } from "../../../config/piece.ts";
import { block, type ConfigOf, isFaultyAt, type Rows, type Values } from "../../../config/row.ts";
import { fileName, textLike, word } from "../../../config/scalars.ts";
import { messageOf } from "../../../core/error-text.ts";
import { MASK } from "../../../core/secret-name.ts";
import { readList } from "../../../memory/list-file.ts";
import { isUserName } from "../basic-settings.ts";
import { RESERVED_FIELDS } from "../reserved-fields.ts";
import { keyHash, keyHashFault, MAX_SLOW_KEYS, readKeyFile } from "./key-file.ts";

/** A key of the configuration itself. */
export interface OwnKey {
  readonly name: string;
  readonly hash: string;
}

const rows = {
  keys_file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./keys",
    doc: "lines of NAME:sha256:HEX from edge passwd --api-key; edge reloads the file if you replace it",
  },
  keys: {
    type: written(pairs(keyText(), "name: hash"), (keys) => keys),
    field: "",
    example: { shop: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" },
    doc: "or the keys here, each name with its hash",
  },
  header: { type: headerNameKind(), default: "X-API-Key", doc: "the header field that holds the key" },
  query: {
    type: textLike(/^[\w.~-]{1,64}$/, "the name of a parameter such as api_key"),
    absent: "",
    example: "api_key",
    doc: "the query parameter that may hold the key; edge never passes it on",
  },
  headers: {
    type: written(pairs(word("name"), "field: name"), (all) => all),
    field: "",
    example: { "X-User": "name" },
    doc: "fields with the name of the key for your upstream; clients cannot send them",
  },
} as const satisfies Rows;

/** `auth.api_key`: keys of programs. docs/authentication.md#api-keys */
export const apiKey = block(rows, {
  check: checkKeys,
  finish(_, { keys_file, keys, headers }, { path, log, files }) {
    const at = [...path, "keys_file"];
    const keysFile = files.file(at, keys_file);
    if (keysFile !== "" && !log.isFaulty(at)) noteKeyFile(keysFile, { path: at, log });
    const own = keys.flatMap(([name, hash]): OwnKey[] => (hash === MASK ? [] : [{ name, hash: keyHash(hash) }]));
    return { keysFile, ownKeys: own, ownNames: keys.map(([name]) => name), fields: headers.map(([name]) => name) };
  },
  list: ({ keysFile, ownNames, fields }, lines) => ({
    ...(keysFile === "" ? {} : { keys_file: keysFile }),
    ...(ownNames.length === 0 ? {} : { keys: Object.fromEntries(ownNames.map((name) => [name, MASK])) }),
    ...lines,
    ...(fields.length === 0 ? {} : { headers: Object.fromEntries(fields.map((name) => [name, "name"])) }),
  }),
});

export type ApiKeyConfig = ConfigOf<typeof apiKey>;

function checkKeys({ keys_file, keys, header, headers }: Values<typeof rows>, spot: Spot): void {
  const { log, path } = spot;
  if (keys_file === "" && keys.length === 0 && !isFaultyAt(spot, "keys") && !isFaultyAt(spot, "keys_file"))
    log.fault(path, 'needs keys_file or keys; "edge passwd --api-key NAME" makes a key and a line for either', true);
  for (const [name, hash] of keys) {
    if (hash === MASK)
      log.warn([...path, "keys", name], "is what edge check --print shows of a hash: the key is refused");
    if (!isUserName(name))
      log.fault([...path, "keys", name], "expected a name without colon and control characters", true);
  }
  if (keys.filter(([, hash]) => hash.startsWith("$")).length > MAX_SLOW_KEYS)
    log.fault([...path, "keys"], `at most ${MAX_SLOW_KEYS} keys may be argon2id: a random key is as safe as sha256`);
  if (header.toLowerCase() !== "authorization" && RESERVED_FIELDS.has(header.toLowerCase()))
    log.fault([...path, "header"], "this field is the gateway's own, or says how a message is read");
  for (const [name] of headers) {
    const at = [...path, "headers", name];
    if (!isToken(name)) log.fault(at, "expected the name of a header field, such as X-User", true);
    else if (RESERVED_FIELDS.has(name.toLowerCase()))
      log.fault(at, "this field is the gateway's own, or says how a message is read", true);
  }
}

/** A broken line may be a key that should not come in any more: it is a fault. */
function noteKeyFile(file: string, { path, log }: Pick<Spot, "path" | "log">): void {
  try {
    const { faults, entries } = readList("keys", file, readKeyFile);
    for (const { line, message } of faults) log.fault(path, `line ${line}: ${message}`);
    if (entries === 0 && faults.length === 0) log.warn(path, "has no keys: every request with a key gets 401");
  } catch (error) {
    log.fault(path, `cannot be used: ${messageOf(error)}`);
  }
}

/** A hash, never repeated in a fault. */
function keyText() {
  return piece<string>((value) => {
    const text = typeof value === "string" ? value.trim() : "";
    const fault = text === MASK ? "" : keyHashFault(text);
    return fault === "" ? text : new Wrong(fault);
  }, TEXT);
}
