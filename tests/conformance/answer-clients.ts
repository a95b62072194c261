import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What one client made of one answer. */
export interface ClientView {
  readonly n: number;
  /** 0 where the client would not take the answer. */
  readonly status: number;
  readonly error: string;
  /** Whether the answer broke off, as the client sees it. */
  readonly cut: boolean;
  /** SHA-256 of the whole body; "" of one that broke off. */
  readonly body: string;
  /** `name: value`, names in lower case. */
  readonly fields: readonly string[];
  /** Whether the request behind it, on the same connection where that was kept, got its own answer. */
  readonly canary: boolean;
}

/** A real client as a process. */
export interface AnswerClient {
  readonly name: string;
  /** Asks for `count` answers from number `first` on. */
  ask(port: number, first: number, count: number): Promise<ClientView[]>;
}

/** The clients whose runtime is there; one line for each of the others. */
export function answerClients(): { clients: AnswerClient[]; absent: string[] } {
  const clients: AnswerClient[] = [];
  const absent: string[] = [];
  const take = (name: string, command: string, args: () => string[] | null) => {
    const found = Bun.which(command) === null ? null : args();
    if (found === null) absent.push(`${name}: left out, there is no ${command} that works`);
    else clients.push({ name, ask: (port, first, count) => run(name, found, [port, first, count]) });
  };
  take("node", "node", () => ["node", join(FOLDER, "node.mjs")]);
  take("python", "python3", () => ["python3", join(FOLDER, "python.py")]);
  take("go", "go", buildGo);
  return { clients, absent };
}

const FOLDER = join(import.meta.dir, "answer-clients");
const RUN_LIMIT_MS = 100_000;

async function run(name: string, command: readonly string[], args: readonly number[]): Promise<ClientView[]> {
  const child = Bun.spawn([...command, ...args.map(String)], { stdout: "pipe", stderr: "pipe", timeout: RUN_LIMIT_MS });
  const [out, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`the ${name} client failed: ${complaint.slice(0, 2000)}`);
  return out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as ClientView);
}

/** Nothing is fetched: neither another toolchain nor a package. */
function buildGo(): string[] | null {
  const dir = mkdtempSync(join(tmpdir(), "edge-answer-client-"));
  process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
  const env = { ...process.env, GOTOOLCHAIN: "local", GOPROXY: "off", GOFLAGS: "-mod=mod" };
  const file = join(dir, "client");
  const { success } = Bun.spawnSync(["go", "build", "-o", file, join(FOLDER, "go", "main.go")], { env });
  return success ? [file] : null;
}
