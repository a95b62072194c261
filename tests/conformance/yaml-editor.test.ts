// docs/tools.md#edge-schema: what an editor with the YAML language server says of the files, by the schema that their first lines name.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runEdge } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { runProcess } from "../harness/run-process.ts";

const TOP = join(import.meta.dir, "../..");
const HOME = join(TOP, ".bun/yaml-language-server");
const PACKAGE = "yaml-language-server@1.19.2";
const SERVER = join(HOME, "node_modules/yaml-language-server/bin/yaml-language-server");
const isHere = IS_LONG && (await install());

/** Installs the language server once; false where that cannot be done, which is said in one line. */
async function install(): Promise<boolean> {
  if (existsSync(SERVER)) return true;
  mkdirSync(HOME, { recursive: true });
  writeFileSync(join(HOME, "package.json"), '{"private":true}\n');
  const run = await runProcess([process.execPath, "add", "--exact", PACKAGE], { cwd: HOME, timeout: 120_000 });
  if (run.code === 0 && existsSync(SERVER)) return true;
  console.log(`skipped: ${PACKAGE} cannot be had from npm`);
  return false;
}

interface Diagnostic {
  readonly message: string;
  readonly range: { readonly start: { readonly line: number } };
}

/** A client of the language server, which asks what it says of one file after the other. */
class Editor {
  private readonly child = Bun.spawn([process.execPath, SERVER, "--stdio"], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
    env: { ...process.env, BUN_BE_BUN: undefined },
  });
  private readonly waiting = new Map<string, (found: readonly Diagnostic[]) => void>();
  private readonly replies = new Map<number, (result: unknown) => void>();
  private buffered = Buffer.alloc(0);
  private nextId = 1;

  async open(): Promise<void> {
    void this.read();
    await this.ask("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
    this.tell("initialized", {});
    this.tell("workspace/didChangeConfiguration", {
      settings: { yaml: { validate: true, schemaStore: { enable: false } } },
    });
  }

  /** What it says of a file that is opened with this text. */
  async says(path: string, text: string): Promise<readonly Diagnostic[]> {
    const uri = `file://${path}`;
    const found = new Promise<readonly Diagnostic[]>((resolve) => this.waiting.set(uri, resolve));
    this.tell("textDocument/didOpen", { textDocument: { uri, languageId: "yaml", version: 1, text } });
    return found;
  }

  /** The words that it offers at a place. */
  async offers(path: string, line: number, character: number): Promise<readonly string[]> {
    const place = { textDocument: { uri: `file://${path}` }, position: { line, character } };
    const { items } = (await this.ask("textDocument/completion", place)) as { items: readonly { label: string }[] };
    return items.map(({ label }) => label);
  }

  async close(): Promise<void> {
    this.child.kill();
    await this.child.exited;
  }

  private ask(method: string, params: object): Promise<unknown> {
    const id = this.nextId++;
    this.send({ id, method, params });
    return new Promise((resolve) => this.replies.set(id, resolve));
  }

  private tell(method: string, params: object): void {
    this.send({ method, params });
  }

  private send(message: object): void {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    this.child.stdin.flush();
  }

  private async read(): Promise<void> {
    for await (const chunk of this.child.stdout) {
      this.buffered = Buffer.concat([this.buffered, chunk]);
      for (;;) {
        const [head, length = ""] =
          /^Content-Length: (\d+)\r\n(?:.*\r\n)*?\r\n/.exec(this.buffered.toString("latin1")) ?? [];
        if (head === undefined || this.buffered.length < head.length + Number(length)) break;
        const body = this.buffered.subarray(head.length, head.length + Number(length)).toString();
        this.buffered = this.buffered.subarray(head.length + Number(length));
        this.take(JSON.parse(body));
      }
    }
  }

  private take({
    id,
    method,
    params,
    result,
  }: {
    id?: number;
    method?: string;
    params?: Record<string, unknown>;
    result?: unknown;
  }) {
    if (method === "textDocument/publishDiagnostics") {
      this.waiting.get(String(params!.uri))?.(params!.diagnostics as Diagnostic[]);
    } else if (method !== undefined && id !== undefined) {
      // The server asks for settings, or to be told of files.
      this.send({ id, result: method === "workspace/configuration" ? [{ validate: true }, {}, {}, {}, {}] : null });
    } else if (id !== undefined) this.replies.get(id)?.(result);
  }
}

describe.skipIf(!isHere)("the YAML language server", () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-yaml-"));
  const editor = isHere ? new Editor() : null!;
  beforeAll(async () => {
    await editor.open();
    expect((await runEdge(["init"], {}, folder)).code).toBe(0);
  });
  afterAll(async () => {
    await editor.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(["config.yaml", "routes.yaml"])(
    "has nothing against %s, as it is shipped and as edge init writes it",
    async (name) => {
      for (const path of [join(TOP, name), join(folder, name)]) {
        const text = readFileSync(path, "utf8");
        expect([path, await editor.says(path, text)]).toEqual([path, []]);
        // It does read the schema: a mistake in the same file is seen.
        const wrong = name === "config.yaml" ? "server:\n  prot: 80\n" : "- type: static\n  prefix: /x\n  dirr: ./a\n";
        const said = await editor.says(path.replace(name, `wrong-${name}`), `${text.split("\n")[0]}\n${wrong}`);
        expect(said.map(({ message, range }) => `${range.start.line}: ${message}`).join("\n")).toMatch(
          /^\d: .*(prot|dirr)/m,
        );
      }
    },
    60_000,
  );

  test.each([
    ["config.yaml", "server:\n  port: eighty\n", 2],
    ["config.yaml", "server:\n  waf:\n    enabled: true\n    mode: enforced\n", 4],
    ["config.yaml", "server:\n  port: 70000\n", 2],
  ] as const)(
    "marks a mistake in %s: %j",
    async (name, text, line) => {
      const path = join(folder, `mistake-${crypto.randomUUID()}-${name}`);
      const said = await editor.says(path, `# yaml-language-server: $schema=.schema/config.json\n${text}`);
      expect(said.map(({ range }) => range.start.line)).toContain(line);
    },
    30_000,
  );

  test("offers keys", async () => {
    const path = join(folder, "offers.yaml");
    await editor.says(path, "# yaml-language-server: $schema=.schema/config.json\nserver:\n  \n");
    expect(await editor.offers(path, 2, 2)).toEqual(expect.arrayContaining(["port", "waf", "cache", "tls"]));
  }, 30_000);
});
