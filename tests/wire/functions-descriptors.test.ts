// docs/functions.md#isolation: descriptors that a module leaves open
import { afterAll, expect, test } from "bun:test";
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const LEAKY = `
import fs, { createReadStream, open, openSync } from "node:fs";
import { open as openHandle } from "node:fs/promises";
const kept = [];
const ways = {
  sync: async () => openSync("/etc/passwd"),
  whole: async () => fs.openSync("/etc/passwd"),
  callback: () => new Promise((done, fail) => open("/etc/passwd", "r", (error, fd) => (error ? fail(error) : done(fd)))),
  handle: async () => kept.push(await openHandle("/etc/passwd")),
  named: async () => kept.push(await fs.promises.open("/etc/passwd")),
  stream: () => new Promise((done, fail) => { const s = createReadStream("/etc/passwd"); kept.push(s); s.once("open", done); s.once("error", fail); }),
};
export default { async fetch(request) {
  const way = new URL(request.url).pathname.split("/").at(-1);
  if (way === "exit") process.exit(0);
  if (way === "closed") { for (let i = 0; i < 1000; i++) { fs.closeSync(openSync("/etc/passwd")); await (await openHandle("/etc/passwd")).close(); } return new Response("closed"); }
  let opened = 0;
  try { for (; opened < 400; opened++) await ways[way](); } catch (error) { return new Response(opened + " " + error.code); }
  return new Response(opened + " all");
} };
`;
const gateway = await startGateway({
  config: { server: { workers: 1 }, functions: { workers: 1 } },
  routes: [
    { type: "function", prefix: "/leak", module: "./leak.ts", timeout: "5s" },
    { type: "respond", prefix: "/other", body: "untouched" },
  ],
  files: { "leak.ts": LEAKY },
});
afterAll(() => stopAll(gateway));

const ask = (path: string): Promise<Reply> => gateway.once(request(`GET ${path}`));

/** Descriptors of the process that refer to the file which the module opens. */
function left(): number {
  const folder = `/proc/${gateway.pid}/fd`;
  const targets = readdirSync(folder).map((fd) => {
    try {
      return readlinkSync(join(folder, fd));
    } catch {
      return "";
    }
  });
  return targets.filter((target) => target === "/etc/passwd").length;
}

test("are as many as a thread may have at most, and are closed when it has ended", async () => {
  for (const way of ["sync", "whole", "callback", "handle", "named", "stream"]) {
    await eventually(async () => expect((await ask("/leak/closed")).text).toBe("closed"));
    expect([way, (await ask(`/leak/${way}`)).text]).toEqual([way, "256 EMFILE"]);
    expect((await ask("/other/x")).status).toBe(200);
    expect(left()).toBe(256);
    await ask("/leak/exit");
    await eventually(() => expect(left()).toBe(0));
  }
}, 60_000);

test("are closed after a reload", async () => {
  await eventually(async () => expect((await ask("/leak/closed")).text).toBe("closed"));
  await ask("/leak/sync");
  writeFileSync(join(gateway.folder, "leak.ts"), `${LEAKY}\n// another version\n`);
  process.kill(gateway.pid, "SIGHUP");
  await eventually(() => expect(left()).toBe(0));
}, 60_000);
