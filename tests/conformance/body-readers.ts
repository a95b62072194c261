import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PROJECT = join(import.meta.dir, "..", "..");
const SOURCES = join(import.meta.dir, "body-readers");
/** Where scripts/install-peers puts the packages of the readers. */
const PACKAGES = join(PROJECT, ".bun", "body-readers");
const PYTHON = join(PROJECT, ".bun", "flask", "bin", "python");

/** A server of a real framework that says what it makes of the body of a request. */
export interface BodyReader {
  readonly name: string;
  readonly url: string;
  /** Paths, each with parsers of its own. */
  readonly paths: readonly string[];
  stop(): void;
}

/** Starts all readers that can be had here; of each other one a line says what it needs. */
export async function startBodyReaders(): Promise<BodyReader[]> {
  const readers = [await startExpress(), await startFlask(), await startGo()];
  return readers.filter((reader) => reader !== null);
}

function startExpress(): Promise<BodyReader> | null {
  const node = Bun.which("node");
  if (node === null || !existsSync(join(PACKAGES, "node_modules", "express"))) {
    console.log("skipped: express needs node and its packages (scripts/install-peers, from npm)");
    return null;
  }
  const paths = ["default", "json", "form", "simple", "text", "multer", "formidable"];
  return start("express", [node, join(SOURCES, "express.cjs"), PACKAGES], paths);
}

function startFlask(): Promise<BodyReader> | null {
  if (!existsSync(PYTHON)) {
    console.log("skipped: Flask is not here (scripts/install-peers, from PyPI)");
    return null;
  }
  return start("flask", [PYTHON, join(SOURCES, "flask-reader.py")], ["form", "json", "quoted", "xml"]);
}

async function startGo(): Promise<BodyReader | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go === undefined) {
    console.log("skipped: net/http needs go (Debian: apt install golang)");
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), "edge-go-reader-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const binary = join(folder, "reader");
  const env = { ...process.env, GOTOOLCHAIN: "local" };
  const build = Bun.spawn([go, "build", "-o", binary, "."], { cwd: join(SOURCES, "go"), env, timeout: BUILD_MS });
  if ((await build.exited) === 0) return start("go", [binary], ["form", "json", "gzip", "xml"]);
  console.log("skipped: the reader in Go cannot be built");
  return null;
}

async function start(name: string, command: string[], paths: readonly string[]): Promise<BodyReader> {
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  const { value } = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(value).trim());
  if (!(port > 0)) throw new Error(`${name} did not say its port`);
  return { name, url: `http://127.0.0.1:${port}`, paths, stop: () => child.kill("SIGKILL") };
}

const BUILD_MS = 120_000;
