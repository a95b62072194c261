// What a function logs or throws when its response is out, and what processes write that it starts, is in the log. docs/functions.md#isolation
import { afterAll, expect, test } from "bun:test";
import { startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";

const LATE = `export default { fetch(request, ctx) {
  ctx.waitUntil((async () => { await Bun.sleep(100); ctx.log.info("late in waitUntil"); throw new Error("thrown in waitUntil"); })());
  setTimeout(() => { ctx.log.info("late in a timer"); console.log("late on the console"); throw new Error("thrown in a timer"); }, 150);
  (async () => { await Bun.sleep(200); throw new Error("thrown by nobody's promise"); })();
  return new Response("at once");
} };`;
const CHILDREN = `import { execSync, spawn } from "node:child_process";
export default { async fetch() {
  Bun.spawnSync(["sh", "-c", "echo one; echo two >&2"], { stdout: "inherit", stderr: "inherit" });
  await Bun.spawn(["sh", "-c", "echo three >&2"]).exited;
  execSync("echo four; echo five >&2", { stdio: "inherit" });
  await new Promise((done) => spawn("sh", ["-c", "echo six"], { stdio: ["ignore", 1, 2] }).on("close", done));
  await Bun.$\`echo seven\`;
  return new Response(Bun.spawnSync(["echo", "its own"]).stdout);
} };`;
const LEFT = `export default { fetch(request, ctx) {
  const { pathname } = new URL(request.url);
  request.signal.addEventListener("abort", () => { ctx.log.info(pathname + " aborted"); throw new Error(pathname + " thrown as it aborted"); });
  const cancel = async () => { console.log(pathname + " on the console"); ctx.log.info(pathname + " cancelled"); throw new Error(pathname + " thrown as it was cancelled"); };
  const first = (c) => c.enqueue(new Uint8Array(10));
  if (pathname === "/left/idle") return new Response(new ReadableStream({ start: first, cancel }));
  if (pathname === "/left/pulled") return new Response(new ReadableStream({ pull: async (c) => { first(c); await Bun.sleep(20); }, cancel }));
  return new Response((async function* () { try { for (;;) { yield "a"; await Bun.sleep(20); } } finally { await cancel(); } })());
} };`;

const gateway = await startGateway({
  args: ["--log-format", "json"],
  routes: ["late", "children", "left"].map((name) => ({
    type: "function",
    prefix: `/${name}`,
    module: `./${name}.ts`,
  })),
  files: { "late.ts": LATE, "children.ts": CHILDREN, "left.ts": LEFT },
});
afterAll(() => gateway.stop());

test("after the response", async () => {
  expect((await gateway.once(request("GET /late"))).text).toBe("at once");
  for (const text of ["late in waitUntil", "late in a timer", "late on the console"])
    await gateway.log(text, ({ event, message }) => event === "function_log" && message === text);
  for (const text of ["thrown in waitUntil", "thrown in a timer", "thrown by nobody's promise"])
    await gateway.log(text, ({ event, error }) => event === "function_failed" && String(error).includes(text));
});

test.each(["idle", "pulled", "generated"])("of a body whose client leaves (%s)", async (kind) => {
  const client = await gateway.connect();
  client.send(request(`GET /left/${kind}`));
  await client.takeUntil("\r\n\r\n", 4096);
  client.close();
  const path = `/left/${kind}`;
  for (const text of [`${path} aborted`, `${path} cancelled`, `${path} on the console`])
    await gateway.log(text, ({ event, message }) => event === "function_log" && message === text);
  for (const text of [`${path} thrown as it aborted`, `${path} thrown as it was cancelled`])
    await gateway.log(text, ({ event, error }) => event === "function_failed" && String(error).includes(text));
});

test("of processes that it starts; nothing comes beside the log", async () => {
  expect((await gateway.once(request("GET /children"))).text).toBe("its own\n");
  for (const text of ["one", "two", "three", "four", "five", "six"])
    await gateway.log(text, ({ event, message }) => event === "function_log" && message === text);
  expect([gateway.logs.stray, gateway.errors.tail()]).toEqual([[], ""]);
});
