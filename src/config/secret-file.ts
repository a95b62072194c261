import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import { MIN_SECRET_CHARS, SECRET_VALUES } from "../core/secret-values.ts";
import { trimmedEnd } from "../core/trimming.ts";
import { quote } from "./config-fault.ts";

/** Largest file of a secret, in bytes. */
const MAX_SECRET_FILE_BYTES = 65_536;

/** The value of a `${file:NAME}`, or why there is none. */
type FoundSecret =
  | {
      readonly ok: true;
      readonly text: string;
      /** What works and is hardly meant, or "". */
      readonly warning: string;
    }
  | { readonly ok: false; readonly message: string };

/** Reads the secret of a file. @param name as in the configuration */
export type SecretReader = (name: string) => FoundSecret;

/** For a text that may name no file: what others than the operator wrote. */
export const NO_SECRET_FILES: SecretReader = () => ({
  ok: false,
  message: "${file:…} is read in config.yaml and routes.yaml alone",
});

/** A file that was there before and is not now. */
export interface LostSecret {
  readonly file: string;
  readonly error: string;
}

/**
 * The secrets that `${file:NAME}` names. One object lives as long as its gateway: a secret whose file is gone keeps the value that it had.
 * docs/configuration.md#secrets
 */
export class SecretFiles {
  /** By absolute path. */
  private readonly last: Map<string, string> = new Map();
  private lost: LostSecret[] = [];

  /** A reader for the files of one folder. @param folder of systemd's credentials; undefined without one */
  reader(baseDir: string, folder: string | undefined): SecretReader {
    return (name) => {
      if (name === "") return failed("names no file, such as ${file:/run/secrets/token}");
      if (name.includes("/")) return this.read(resolve(baseDir, name));
      if (folder === undefined || folder === "")
        return failed(
          `\${file:${name}} needs $CREDENTIALS_DIRECTORY, which is not set: write a path, such as ./${name}`,
        );
      return this.read(resolve(folder, name));
    };
  }

  /** The secrets whose files were gone since the last call. */
  takeLost(): readonly LostSecret[] {
    const { lost } = this;
    this.lost = [];
    return lost;
  }

  private read(file: string): FoundSecret {
    const found = readSecret(file);
    if (found.ok) {
      this.last.set(file, found.text);
      SECRET_VALUES.add(found.text);
      return found;
    }
    const before = this.last.get(file);
    if (!found.isGone || before === undefined) return found;
    const error = `the file of the secret ${quote(file)} is gone: its last value stays in use`;
    if (!this.lost.some((one) => one.file === file)) this.lost.push({ file, error });
    return { ok: true, text: before, warning: error };
  }
}

type ReadSecret =
  | Extract<FoundSecret, { ok: true }>
  | { readonly ok: false; readonly message: string; readonly isGone: boolean };

function readSecret(file: string): ReadSecret {
  let fd: number;
  try {
    // A pipe without a writer would hold this thread.
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as { code?: string };
    const isGone = code === "ENOENT" || code === "ENOTDIR";
    const why = isGone ? "no such file" : code === "EACCES" ? "no permission to read it" : "it cannot be read";
    return failed(`the secret ${quote(file)}: ${why}`, isGone);
  }
  try {
    return judged(file, fd);
  } catch {
    return failed(`the secret ${quote(file)}: it cannot be read`);
  } finally {
    closeSync(fd);
  }
}

function judged(file: string, fd: number): ReadSecret {
  const state = fstatSync(fd);
  if (!state.isFile()) return failed(`the secret ${quote(file)}: it is no regular file`);
  const bytes = Buffer.alloc(MAX_SECRET_FILE_BYTES + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read)
    read = readSync(fd, bytes, length, bytes.length - length, length);
  if (length > MAX_SECRET_FILE_BYTES)
    return failed(`the secret ${quote(file)}: it is larger than ${MAX_SECRET_FILE_BYTES} bytes`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length));
  } catch {
    return failed(`the secret ${quote(file)}: it is no text in UTF-8`);
  }
  const secret = trimmedEnd(text, "\r\n");
  if (secret === "") return failed(`the secret ${quote(file)}: it is empty`);
  if (/[\r\n]/.test(secret)) return failed(`the secret ${quote(file)}: it has several lines, a secret has one`);
  const warnings = [
    ...((state.mode & OTHERS_READ) === 0
      ? []
      : [`every user of this machine can read the secret ${quote(file)}: chmod o-r it`]),
    ...(secret.length < MIN_SECRET_CHARS
      ? [
          `the secret ${quote(file)} has fewer than ${MIN_SECRET_CHARS} characters, so that edge cannot mask it: use a longer one`,
        ]
      : []),
  ];
  return {
    ok: true,
    text: secret,
    warning: warnings.join("; "),
  };
}

function failed(
  message: string,
  isGone = false,
): { readonly ok: false; readonly message: string; readonly isGone: boolean } {
  return { ok: false, message, isGone };
}

const OTHERS_READ = 0o004;
