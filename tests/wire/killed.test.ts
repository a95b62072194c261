// A process that is killed leaves files that no process uses: the next one in its folder starts without a wait. docs/operations.md
import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import readline from "node:readline";
import { Readable } from "node:stream";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort } from "../harness/gateway.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";

test("its sockets, its cache and its locks are in the way of no other", async () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-killed-"));
  const port = freePort();
  writeFileSync(
    join(folder, "config.yaml"),
    [
      `server: { host: 127.0.0.1, port: ${port}, workers: 2, cache: { enabled: true, cookies: bypass, disk: { path: ./cache } } }`,
      "internal_api: { socket: ./edge.sock }",
      "...\n",
    ].join("\n"),
  );
  writeFileSync(join(folder, "routes.yaml"), 'routes: [{ type: respond, prefix: /x, body: "hi" }]\n...\n');
  const events: string[] = [];
  for (let round = 0; round < 3; round++) {
    const child = Bun.spawn([EDGE_BINARY, "serve", "--log-format", "json"], {
      cwd: folder,
      stdout: "pipe",
      stderr: "pipe",
    });
    await eventually(async () => expect((await exchangeOnce(port, request("GET /x/y"))).text).toBe("hi"));
    expect(existsSync(join(folder, "edge.sock"))).toBe(true);
    const { code, stdout } = await runProcess([EDGE_BINARY, "status"], { cwd: folder, timeout: 20_000 });
    expect([code, stdout]).toEqual([0, expect.stringContaining("edge.sock")]);
    const said = linesOf(child.stdout);
    for (let event = ""; event !== "listening"; events.push(event)) event = await said();
    child.kill("SIGKILL");
    await child.exited;
    for (let event = await said(); event !== ""; event = await said()) events.push(event);
  }
  expect(events.filter((event) => event === "listening").length).toBe(3);
  expect(events.filter((event) => /failed|exception|died/.test(event))).toEqual([]);
  rmSync(folder, { recursive: true });
}, 60_000);

/** Gives the event of each line, one after another; "" at the end. */
function linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): () => Promise<string> {
  const lines = readline.createInterface({ input: Readable.fromWeb(stream as never) })[Symbol.asyncIterator]();
  return async () => {
    const { value, done = false } = await lines.next();
    return done ? "" : (JSON.parse(String(value)) as { event: string }).event;
  };
}
