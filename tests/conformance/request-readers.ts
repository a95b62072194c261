import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runProcess } from "../harness/run-process.ts";

/** A request as a reader took it. */
export interface ReadMessage {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  /** `name: value`, names in lower case, without those that frame the message. */
  readonly fields: readonly string[];
  /** SHA-256 of the body. */
  readonly body: string;
  readonly trailers: readonly string[];
}

/** What a reader made of the bytes of a connection. */
export interface Reading {
  readonly messages: readonly ReadMessage[];
  /** Whether it refused what follows these messages. */
  readonly isRefused: boolean;
}

/** A parser of another project, as a process. */
export interface RequestReader {
  readonly name: string;
  /** Reads connections from a file: each is its length in four bytes, then its bytes. */
  read(file: string): Promise<Reading[]>;
}

const FOLDER = join(import.meta.dir, "request-readers");
const RUN_MS = 300_000;

/** The parsers that are there: llhttp of Node, net/http of Go, h11 of Python; one line for each of the others. */
export async function requestReaders(): Promise<{ readers: RequestReader[]; absent: string[] }> {
  const readers: RequestReader[] = [];
  const absent: string[] = [];
  const take = (name: string, command: readonly string[] | null): void => {
    if (command === null) absent.push(`${name}: left out, it is not installed`);
    else readers.push({ name, read: (file) => read(name, [...command, file]) });
  };
  take("llhttp", Bun.which("node") === null ? null : ["node", join(FOLDER, "node.mjs")]);
  take("net/http", await buildGo());
  take("h11", await pythonCommand());
  return { readers, absent };
}

async function read(name: string, command: string[]): Promise<Reading[]> {
  const { code, stdout, stderr } = await runProcess(command, { timeout: RUN_MS });
  if (code !== 0) throw new Error(`${name}: ${stderr.slice(0, 2000)}`);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Reading);
}

/** The Python of scripts/install-peers, or the machine's. */
async function pythonCommand(): Promise<string[] | null> {
  for (const python of [resolve(FOLDER, "..", "..", "..", ".bun", "h11", "bin", "python"), Bun.which("python3")]) {
    if (python === null || !existsSync(python)) continue;
    const { code } = await runProcess([python, "-c", "import h11"], { timeout: RUN_MS });
    if (code === 0) return [python, join(FOLDER, "python.py")];
  }
  return null;
}

/** Nothing is fetched: neither another toolchain nor a package. */
async function buildGo(): Promise<string[] | null> {
  if (Bun.which("go") === null) return null;
  const folder = mkdtempSync(join(tmpdir(), "edge-request-reader-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const env = { ...process.env, GOTOOLCHAIN: "local", GOPROXY: "off", GOFLAGS: "-mod=mod" };
  const file = join(folder, "reader");
  const build = ["go", "build", "-o", file, join(FOLDER, "go", "main.go")];
  const { code } = await runProcess(build, { env, timeout: RUN_MS });
  return code === 0 ? [file] : null;
}
