import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { isUserName } from "../features/auth/basic-settings.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";

/** The command as `edge help passwd` shows it. */
export const passwdCommand = {
  name: "edge passwd",
  page: "authentication.md#passwords",
  summary:
    "Prints a line name:hash for users_file of auth.basic. The password is read from the terminal or standard input. With --api-key: a new key, and a line for keys_file of auth.api_key.",
  operands: { usage: "USER", min: 1, max: 1 },
  flags: [
    {
      name: "algorithm",
      type: "string",
      default: "argon2id",
      choices: ["argon2id", "bcrypt"],
      help: "how the password is hashed; bcrypt for files that other programs read too",
    },
    {
      name: "api-key",
      type: "bool",
      default: false,
      help: "make an API key: the key, once, on standard error, and NAME:sha256:HEX on standard output",
    },
  ],
  notes: [
    "Examples:",
    "  edge passwd alice >> users",
    '  printf %s "$PASSWORD" | edge passwd --algorithm bcrypt alice >> users',
    "  edge passwd --api-key shop >> keys",
    "",
    "Exit codes: 0 the line is printed, 1 there is no password, or the two that were typed differ, 2 wrong usage.",
  ],
} as const;

/** Where the password comes from. */
interface PasswordSource {
  readonly isTerminal: boolean;
  /** Everything of standard input. */
  readAll(): string;
  /** One line that is typed after the prompt, without showing it; null if the typing is given up. */
  ask(prompt: string): Promise<string | null>;
}

/** `edge passwd`: a line of a users file. docs/authentication.md#passwords */
export async function runPasswd(
  args: readonly string[],
  io: CommandIo,
  source: PasswordSource = STANDARD_INPUT,
): Promise<number> {
  const call = startCommand(passwdCommand, args, io);
  if (typeof call === "number") return call;
  const name = call.operands[0]!;
  if (!isUserName(name)) {
    io.err("edge passwd: expected a name without colon and control characters\n");
    return ExitCode.Usage;
  }
  if (call.values["api-key"]) return printKey(name, io);
  const password = source.isTerminal ? await typed(source, io) : source.readAll().replace(/\r?\n$/, "");
  const fault = password === null ? "the two passwords differ" : passwordFault(password, call.values.algorithm);
  if (password === null || fault !== "") {
    io.err(`edge passwd: ${fault}\n`);
    return ExitCode.Failure;
  }
  const algorithm = call.values.algorithm === "bcrypt" ? BCRYPT : ARGON2ID;
  const hash = await Bun.password.hash(password, algorithm);
  // htpasswd and other readers know bcrypt by this name.
  io.out(`${name}:${hash.replace(/^\$2b\$/, "$2y$")}\n`);
  return ExitCode.Done;
}

/** Makes a key. It is shown this once: the line holds its SHA-256, which is enough for 256 random bits. */
function printKey(name: string, io: CommandIo): ExitCode {
  const key = `edge_${randomBytes(32).toString("base64url")}`;
  io.err(`${key}\n`);
  io.out(`${name}:sha256:${createHash("sha256").update(key).digest("hex")}\n`);
  return ExitCode.Done;
}

/** The password, typed twice; null if the two differ. */
async function typed(source: PasswordSource, io: CommandIo): Promise<string | null> {
  const first = await source.ask("Password: ");
  io.err("\n");
  if (first === null || first === "") return "";
  const second = await source.ask("Again: ");
  io.err("\n");
  return first === second ? first : null;
}

function passwordFault(password: string, algorithm: string): string {
  if (password === "") return "there is no password";
  if (/\p{Cc}/u.test(password)) return "the password has control characters, which no browser can send";
  // RFC 7617 sends them as they are; bcrypt itself looks at no more.
  if (algorithm === "bcrypt" && Buffer.byteLength(password) > 72) return "bcrypt takes at most 72 bytes: use argon2id";
  return "";
}

const STANDARD_INPUT: PasswordSource = {
  get isTerminal() {
    return process.stdin.isTTY === true;
  },
  readAll: () => readFileSync(0, "utf8"),
  ask: typedLine,
};

/** Reads a line key by key, so that the terminal does not show it. */
function typedLine(prompt: string): Promise<string | null> {
  process.stderr.write(prompt);
  const { stdin } = process;
  stdin.setRawMode(true);
  stdin.resume();
  let line = "";
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const onData = (keys: Buffer): void => {
    for (const key of keys.toString("utf8")) {
      if (key === "\r" || key === "\n") return end(line);
      if (key === "\u0003" || key === "\u0004") return end(null);
      line = key === "\u007f" || key === "\b" ? line.slice(0, -1) : line + key;
    }
  };
  const end = (result: string | null): void => {
    stdin.off("data", onData);
    stdin.setRawMode(false);
    stdin.pause();
    resolve(result);
  };
  stdin.on("data", onData);
  return promise;
}

const ARGON2ID = { algorithm: "argon2id", memoryCost: 65_536, timeCost: 2 } as const;
const BCRYPT = { algorithm: "bcrypt", cost: 12 } as const;
