import { readFileSync } from "node:fs";
import type { KeyPath } from "../../config/config-fault.ts";
import { TEXT } from "../../config/form.ts";
import { pairs, piece, type Spot, Wrong, written } from "../../config/piece.ts";
import { block, isFaultyAt, type Rows, type Values } from "../../config/row.ts";
import { fileName, textLike } from "../../config/scalars.ts";
import { MASK } from "../../core/secret-name.ts";

/** Largest file of users that is read. */
const MAX_USERS_FILE_BYTES = 4_194_304;

/** A user who may come in, as a line of a users file says. */
interface UserConfig {
  /** UTF-8, without a colon. */
  readonly name: string;
  /** bcrypt (`$2y$…`) or argon2 (`$argon2id$…`). */
  readonly hash: string;
}

const basicRows = {
  users_file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./users",
    doc: "lines of name:hash, as htpasswd -B and edge passwd write them; read again on reload",
  },
  users: {
    type: written(pairs(passwordHash(), "name: hash"), (users) => users),
    field: "",
    example: { alice: "$2y$10$EBOqD2jX7qdlirb.F7pwBe2yDake26gpiTCuY04uyn.YdYxKoE.B2" },
    doc: "or the users here, each with its hash",
  },
  realm: {
    type: textLike(/^[\x20\x21\x23-\x5b\x5d-\x7e]{1,64}$/, "a name of at most 64 characters, without quotes"),
    default: "Restricted",
    doc: "the text in the browser's password dialog",
  },
} as const satisfies Rows;

/** `auth.basic`: names and passwords. docs/authentication.md#passwords */
export const basic = block(basicRows, {
  check: checkBasic,
  finish: (_, { users_file, users }, { path, log, files }) => {
    const usersFile = files.file([...path, "users_file"], users_file);
    const isReadable = usersFile !== "" && !log.isFaulty([...path, "users_file"]);
    const own = users.map(([name, hash]): UserConfig => ({ name, hash })).filter(({ hash }) => hash !== MASK);
    const ofFile = isReadable ? readUsers(usersFile, { path: [...path, "users_file"], log, files }) : [];
    return { usersFile, ownUsers: users.map(([name]) => name), users: [...own, ...ofFile] };
  },
  list: ({ usersFile, ownUsers }, lines) => ({
    ...(usersFile === "" ? {} : { users_file: usersFile }),
    ...(ownUsers.length === 0 ? {} : { users: Object.fromEntries(ownUsers.map((name) => [name, MASK])) }),
    ...lines,
  }),
});

function checkBasic({ users_file, users }: Values<typeof basicRows>, spot: Spot): void {
  const { log, path } = spot;
  if (users_file === "" && users.length === 0 && !isFaultyAt(spot, "users") && !isFaultyAt(spot, "users_file")) {
    log.fault(path, 'needs users_file or users; "edge passwd NAME" writes a line for either', true);
  }
  for (const [name, hash] of users) {
    if (hash === MASK)
      log.warn([...path, "users", name], "is what edge check --print shows of a hash: the user is refused");
    if (!isUserName(name))
      log.fault([...path, "users", name], "expected a name without colon and control characters", true);
  }
}

/** The users of a file in the format of htpasswd. Empty lines and all that begin with `#` are passed over. */
function readUsers(file: string, { path, log }: Spot): readonly UserConfig[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    log.fault(path, "cannot be read");
    return [];
  }
  if (text.length > MAX_USERS_FILE_BYTES) {
    log.fault(path, `has ${text.length} bytes: at most ${MAX_USERS_FILE_BYTES} are read`);
    return [];
  }
  const users: UserConfig[] = [];
  const lines = new Map<string, number>();
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const at = line.indexOf(":");
    const name = line.slice(0, Math.max(0, at));
    // Further fields, which some programs append, say nothing to us.
    const hash = line
      .slice(at + 1)
      .split(":")[0]!
      .trim();
    const fault = at < 0 || !isUserName(name) ? "expected name:hash" : hashFault(hash);
    const earlier = lines.get(name);
    if (fault !== "") noteLine(path, log, i, fault);
    else if (earlier !== undefined) noteLine(path, log, i, `the same name as line ${earlier}: remove one`);
    lines.set(name, i + 1);
    users.push({ name, hash });
  }
  if (users.length === 0) log.warn(path, "has no users: no request with a password comes in");
  return users;
}

function noteLine(path: KeyPath, log: Spot["log"], index: number, fault: string): void {
  log.fault(path, `line ${index + 1}: ${fault}`);
}

/** Whether a users file can hold the name. RFC 7617 §2 */
export function isUserName(name: string): boolean {
  return name !== "" && !/[:\p{Cc}]/u.test(name);
}

/** A hash, never repeated in a fault. */
function passwordHash() {
  return piece<string>((value) => {
    const fault = typeof value === "string" ? hashFault(value.trim()) : "expected a hash as text";
    return fault === "" ? String(value).trim() : new Wrong(fault);
  }, TEXT);
}

/** Why a text is no hash that can be verified, with the cure, or "". The text is not repeated. */
export function hashFault(hash: string): string {
  // As a configuration is printed.
  if (hash === MASK) return "";
  if (/^\$2[aby]\$(0[4-9]|1[0-9])\$[./A-Za-z0-9]{53}$/.test(hash)) return "";
  if (
    /^\$argon2(id|i|d)\$v=19\$m=\d{1,7},t=\d{1,3},p=\d{1,2}\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,86}$/.test(hash)
  ) {
    return Number(/m=(\d+)/.exec(hash)![1]) <= MAX_ARGON2_KIB ? "" : "an argon2 hash of at most 256 MiB is verified";
  }
  const old = OLD_HASHES.find(([what]) => what.test(hash));
  const cure = 'make a new one with "edge passwd NAME" or htpasswd -B';
  return old === undefined
    ? `expected a bcrypt or argon2id hash: ${cure}`
    : `${old[1]} is too weak to be used: ${cure}`;
}

const MAX_ARGON2_KIB = 262_144;
const OLD_HASHES: readonly (readonly [RegExp, string])[] = [
  [/^\$apr1\$|^\$1\$/, "MD5"],
  [/^\{SHA\}/, "SHA-1"],
  [/^[./A-Za-z0-9]{13}$/, "crypt"],
];
