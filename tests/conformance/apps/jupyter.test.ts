import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import type { Gateway } from "../../harness/gateway.ts";
import { request } from "../../harness/raw-client.ts";
import { startRecipe } from "../../harness/recipe.ts";
import { Application, PYTHON } from "./application.ts";

if (PYTHON === null) console.log("skipped: a notebook server needs jupyter-server (scripts/install-peers, from PyPI)");

const TOKEN = "token-of-this-test";
const MIB = 1_048_576;
/** A page of an own domain, as the browser of a reader names it. */
const HOST = "notebook.example.com";

describe.skipIf(PYTHON === null)("a notebook server", () => {
  let server: Application;
  let gateway: Gateway;

  beforeAll(async () => {
    server = await Application.start({
      path: "/api",
      command: (port, folder) => [
        ...[PYTHON!, "-m", "jupyter_server", "--ip=127.0.0.1", `--port=${port}`, "--ServerApp.port_retries=0"],
        ...["--ServerApp.allow_remote_access=True", "--ServerApp.trust_xheaders=True", "--allow-root", "--no-browser"],
        ...[`--IdentityProvider.token=${TOKEN}`, `--ServerApp.root_dir=${folder}`],
      ],
    });
    gateway = await startRecipe("recipes.md", "Notebook server", { "http://127.0.0.1:8888": server.url });
  }, 90_000);
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  }, 30_000);

  const call = (method: string, path: string, body?: unknown) =>
    fetch(`http://127.0.0.1:${gateway.port}${path}`, {
      method,
      headers: { Authorization: `token ${TOKEN}`, Host: HOST, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      redirect: "manual",
    });

  test("runs code in a kernel over a WebSocket, and shows what it prints at once", async () => {
    const kernel = (await (await call("POST", "/api/kernels", {})).json()) as { id: string };
    const socket = new KernelSocket(gateway.port, kernel.id);
    await socket.opened;
    expect(await socket.run("1+1")).toMatchObject({ result: "2" });
    const slow = await socket.run("import time\nfor i in range(4):\n    print(i, flush=True)\n    time.sleep(0.4)");
    expect(slow.printed.join("")).toBe("0\n1\n2\n3\n");
    expect(slow.printedAt.at(-1)! - slow.printedAt[0]!).toBeGreaterThan(800);
    const hostile = "open('/etc/passwd').read()[:4] + \"<script>alert(1)</script>' OR 1=1 --\"";
    expect(await socket.run(hostile)).toMatchObject({ result: expect.stringContaining("root<script>") });
    socket.close();
    expect((await call("DELETE", `/api/kernels/${kernel.id}`)).status).toBe(204);
  }, 60_000);

  test("saves a notebook, whatever code is in it", async () => {
    const source =
      '!cat /etc/passwd; ls\ndb.execute("SELECT name FROM users WHERE id = 1 OR 1=1 --\'")\n<script>alert(1)</script>';
    const cell = { cell_type: "code", execution_count: null, id: "a1", metadata: {}, outputs: [], source };
    const content = { cells: [cell], metadata: {}, nbformat: 4, nbformat_minor: 5 };
    const saved = await call("PUT", "/api/contents/work.ipynb", { type: "notebook", format: "json", content });
    expect([saved.status, await saved.text()]).toEqual([201, expect.stringContaining("work.ipynb")]);
    const back = (await (await call("GET", "/api/contents/work.ipynb")).json()) as { content: typeof content };
    expect(back.content.cells[0]!.source).toBe(source);
  });

  test("takes a large upload, in the pieces of the page and in one", async () => {
    const whole = randomBytes(24 * MIB);
    const pieces = Array.from({ length: 24 }, (_, i) => whole.subarray(i * MIB, (i + 1) * MIB));
    for (const [index, piece] of pieces.entries()) {
      const chunk = index === pieces.length - 1 ? -1 : index + 1;
      const part = {
        type: "file",
        format: "base64",
        name: "data.bin",
        path: "data.bin",
        chunk,
        content: piece.toString("base64"),
      };
      expect((await call("PUT", "/api/contents/data.bin", part)).status).toBeLessThan(300);
    }
    const once = { type: "file", format: "base64", content: whole.toString("base64") };
    expect((await call("PUT", "/api/contents/once.bin", once)).status).toBe(201);
    for (const name of ["data.bin", "once.bin"]) {
      const file = await (await call("GET", `/files/${name}`)).bytes();
      expect([name, sha256(file)]).toEqual([name, sha256(whole)]);
    }
  }, 60_000);

  test("is protected where no code is expected, and asks who is there", async () => {
    const attack = await gateway.once(
      request("GET /api/status?q=%3Cscript%3Ealert(1)%3C/script%3E", [`Authorization: token ${TOKEN}`]),
    );
    expect(attack.status).toBe(403);
    const stranger = await gateway.once(request("GET /api/kernels"));
    expect(stranger.status).toBe(403);
    const page = await fetch(`http://127.0.0.1:${gateway.port}/files/x`, {
      redirect: "manual",
      headers: { Host: HOST },
    });
    expect([page.status, page.headers.get("location")]).toEqual([302, "/login?next=%2Ffiles%2Fx"]);
  });
});

interface CellRun {
  result: string;
  printed: string[];
  printedAt: number[];
}

/** The channels of a kernel, as the page opens them. */
class KernelSocket {
  readonly opened: Promise<void>;
  private readonly socket: WebSocket;
  private count = 0;

  constructor(port: number, kernel: string) {
    const headers = { Host: HOST, Origin: `http://${HOST}`, Authorization: `token ${TOKEN}` };
    this.socket = new WebSocket(`ws://127.0.0.1:${port}/api/kernels/${kernel}/channels?session_id=s1`, {
      headers,
    } as never);
    this.opened = new Promise((resolve, reject) => {
      this.socket.onopen = () => resolve();
      this.socket.onerror = (event) => reject(new Error((event as ErrorEvent).message));
    });
  }

  /** Runs a cell to its end. */
  run(code: string): Promise<CellRun> {
    const id = `m${++this.count}`;
    const run: CellRun = { result: "", printed: [], printedAt: [] };
    const header = { msg_id: id, msg_type: "execute_request", session: "s1", username: "", version: "5.3", date: "" };
    const content = { code, silent: false, store_history: true, user_expressions: {}, allow_stdin: false };
    return new Promise((resolve, reject) => {
      this.socket.onclose = () => reject(new Error("the channels closed"));
      this.socket.onmessage = ({ data }) => {
        const message = JSON.parse(String(data));
        if (message.parent_header?.msg_id !== id) return;
        if (message.msg_type === "stream") {
          run.printed.push(message.content.text);
          run.printedAt.push(performance.now());
        }
        if (message.msg_type === "execute_result") run.result = message.content.data["text/plain"];
        if (message.msg_type === "error") reject(new Error(message.content.evalue));
        if (message.msg_type === "status" && message.content.execution_state === "idle") resolve(run);
      };
      const empty = { parent_header: {}, metadata: {}, buffers: [] };
      this.socket.send(JSON.stringify({ header, content, channel: "shell", ...empty }));
    });
  }

  close(): void {
    this.socket.onclose = null;
    this.socket.close();
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
