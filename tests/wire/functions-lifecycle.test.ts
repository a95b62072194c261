// How long code of functions lives: across reloads, deaths of data workers, leaks, pauses and records that cannot be read. docs/functions.md#reload, #isolation
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, type Gateway, startGateway } from "../harness/gateway.ts";
import { type Field, H2Client } from "../harness/h2-client.ts";
import { longTest } from "../harness/long-lane.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const SOURCE = readFileSync(join(import.meta.dir, "../vectors/functions/lifecycle.ts"), "utf8");
const version = (name: string): string => SOURCE.replaceAll("VERSION", name);
const RETIRE_MS = 1000;

/** What modules have told, in its order. */
let told: string[] = [];
const listener = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(asked) {
    told.push(new URL(asked.url).pathname.slice(1));
    return new Response("");
  },
});
const LISTENER = encodeURIComponent(`http://127.0.0.1:${listener.port}`);
const countOf = (what: string): number => told.filter((one) => one === what).length;

const gateway = await startGateway({
  config: {
    server: { workers: 1, shutdown_timeout: "1s", http2: { extended_connect: true } },
    functions: { memory: "64MiB" },
  },
  routes: ["a", "b"].map((name) => ({ type: "function", prefix: `/${name}`, module: `./${name}.ts`, timeout: "1s" })),
  files: { "a.ts": version("one"), "b.ts": version("one") },
  binary: binaryWithHooks(),
  env: { EDGE_TEST_FUNCTION_RETIRE_MS: String(RETIRE_MS), EDGE_TEST_FUNCTION_IDLE_MS: "500" },
});
afterAll(async () => {
  await stopAll(gateway);
  await listener.stop(true);
});
beforeEach(() => {
  told = [];
});

const ask = (path: string, of: Gateway = gateway): Promise<Reply> => of.once(request(`GET ${path}`));

/** Makes another text of a module the current one, which gives its name. */
async function reloadTo(module: "a" | "b", text: string, name: string): Promise<void> {
  writeFileSync(join(gateway.folder, `${module}.ts`), text);
  gateway.signal("SIGHUP");
  await eventually(async () => expect((await ask(`/${module}/version`)).text).toBe(name));
}
const reloadWith = (module: "a" | "b", name: string): Promise<void> => reloadTo(module, version(name), name);

describe("across a reload", () => {
  test("work of waitUntil, and what that begins, goes on to its end on the old code", async () => {
    await reloadWith("a", "before");
    expect((await ask(`/a/wait?${LISTENER}`)).text).toBe("begun");
    await reloadWith("a", "after");
    await eventually(() => expect(told).toEqual(["first-before", "second-before"]));
  });

  test("old code that never ends is ended after its time", async () => {
    await reloadWith("b", "old");
    expect((await ask(`/b/forever?${LISTENER}`)).text).toBe("begun");
    await reloadWith("b", "new");
    const before = countOf("alive-old");
    await eventually(() => expect(countOf("alive-old")).toBeGreaterThan(before));
    await gateway.log(
      "function_thread_ended",
      ({ module, restarted }) => String(module).endsWith("b.ts") && !restarted,
    );
    // What was under way when the thread ended may still arrive.
    await Bun.sleep(100);
    const after = countOf("alive-old");
    await Bun.sleep(300);
    expect(countOf("alive-old")).toBe(after);
    expect((await ask("/b/version")).text).toBe("new");
  });

  test("a WebSocket stays with the old code, and is closed with it", async () => {
    await reloadWith("a", "held");
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/a/socket`);
    const got: string[] = [];
    const closed = new Promise<number>((resolve) => {
      socket.onclose = ({ code }) => resolve(code);
    });
    socket.onmessage = ({ data }) => void got.push(String(data));
    await new Promise<void>((resolve) => {
      socket.onopen = () => resolve();
    });
    await reloadWith("a", "newer");
    socket.send("x");
    await eventually(() => expect(got).toEqual(["held x"]));
    expect(await closed).toBe(1006);
  });
});

longTest("old code that has taken long to load again does not serve beside the new", async () => {
  const source = (name: string, pause: number): string =>
    `await Bun.sleep(${pause});
export default { async fetch({ url }) {
  if (url.endsWith("exit")) process.exit(1);
  await Bun.sleep(50);
  return new Response("${name}");
} };\n`;
  await reloadTo("b", source("slow to load", 1500), "slow to load");
  expect((await ask("/b/exit")).status).toBe(502);
  // The thread that takes its place has begun to load.
  await Bun.sleep(200);
  await reloadTo("b", source("two", 0), "two");
  await Bun.sleep(1800);
  const replies = await Promise.all(Array.from({ length: 6 }, () => ask("/b/version")));
  expect(replies.map(({ text }) => text)).toEqual(Array.from({ length: 6 }, () => "two"));
});

describe("a data worker that dies", () => {
  const crash = async (): Promise<void> => {
    await ask("/__test/crash").catch(() => {});
    await eventually(async () => expect((await ask("/a/version")).status).toBe(200));
  };

  test("ends its calls in the thread, and the next one has all of it", async () => {
    const cancelled = ask(`/a/aborts?${LISTENER}`).catch(() => null);
    await eventually(() => expect(told).toEqual(["begun"]));
    await crash();
    await cancelled;
    await eventually(() => expect(told).toEqual(["begun", "aborted"]));
    expect((await ask("/a/slow")).text).toBe("slow");
  });

  test("what its thread had begun before says nothing about calls of the next one", async () => {
    await reloadWith("b", "looping");
    for (let i = 0; i < 50; i++) expect((await ask("/b/version")).status).toBe(200);
    await crash();
    const looping = ask("/b/loop");
    await Bun.sleep(100);
    // These wait behind the loop, and go to the next thread.
    const waiting = await Promise.all(Array.from({ length: 5 }, () => ask("/b/version")));
    expect((await looping).status).toBe(504);
    expect(waiting.map(({ status }) => status)).not.toContain(502);
  });
});

test("a leak over many requests: the thread is replaced, and no request fails", async () => {
  await reloadWith("a", "leaking");
  const counts: number[] = [];
  for (let i = 0; i < 3000 && !counts.some((count, at) => count < (counts[at - 1] ?? 0)); i++) {
    const replies = await Promise.all([1, 2, 3].map(() => ask("/a/keep")));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    counts.push(Math.max(...replies.map(({ text }) => Number(text))));
    // A leak over hours, in short: each step leaves time for the next thread to load.
    await Bun.sleep(10);
  }
  expect(counts.at(-1)).toBeLessThan(Math.max(...counts));
  await gateway.log(
    "function_thread_ended",
    ({ module, reason }) => String(module).endsWith("a.ts") && reason === "memory",
  );
});

test("a leak in one module does not end the thread of another that works for long", async () => {
  const source =
    'export default { fetch() { for (const end = Date.now() + 700; Date.now() < end; ); return new Response("worked"); } };\n';
  const leak =
    'const all = [];\nexport default { fetch({ url }) { if (url.endsWith("version")) return new Response("leaks"); for (;;) all.push(new Uint8Array(1e6).fill(1)); } };\n';
  writeFileSync(join(gateway.folder, "b.ts"), leak);
  await reloadTo("a", `${source}// again`, "worked");
  await eventually(async () => expect((await ask("/b/version")).text).toBe("leaks"));
  const worked = ask("/a/version");
  expect([502, 504]).toContain((await ask("/b/leak")).status);
  expect((await worked).text).toBe("worked");
  await reloadWith("b", "healed");
  await reloadWith("a", "rested");
});

test.each([["RID"], [[2, "a text"]], [null]])(
  "a module that writes records of its own (%j) loses its thread, and no other route notices",
  async (forged) => {
    const reply = await ask(`/b/forges?${encodeURIComponent(JSON.stringify(forged))}`);
    expect(reply.status).toBe(502);
    expect((await ask("/a/version")).status).toBe(200);
    await eventually(async () => expect((await ask("/b/version")).status).toBe(200));
  },
);

test("a response that stands still is ended", async () => {
  const client = await gateway.connect();
  client.send(request("GET /a/stalls"));
  await client.takeUntil("one", 65_536);
  expect(await client.ended()).not.toBe("open");
  await gateway.log("function_failed", ({ what }) => what === "its response has made no progress");
  expect((await ask("/a/version")).status).toBe(200);
});

describe("a WebSocket over HTTP/2", () => {
  const fields = (path: string): Field[] => [
    [":method", "CONNECT"],
    [":protocol", "websocket"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "gw.test"],
    ["sec-websocket-version", "13"],
  ];
  /** A frame of a client: masked with zeros. RFC 6455 §5.2 */
  const frame = (opcode: number, payload: Buffer): Buffer =>
    Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), payload]);

  test("speaks with a function: messages both ways, and a close with its code", async () => {
    const { text: name } = await ask("/a/version");
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(fields("/a/socket"), false);
    client.data(id, frame(1, Buffer.from("hello")));
    const expected = Buffer.from(`${name} hello`);
    await client.until("the echo", () => (client.seen(id).body.length >= expected.length + 2 ? true : undefined));
    const seen = client.seen(id);
    expect([seen.status, seen.fields.has("sec-websocket-accept")]).toEqual([200, false]);
    expect(seen.body.subarray(0, 2)).toEqual(Buffer.from([0x81, expected.length]));
    expect(seen.body.subarray(2)).toEqual(expected);
    client.data(id, frame(1, Buffer.from("bye")));
    const closing = Buffer.concat([Buffer.from([0x88, 11, 4000 >> 8, 4000 & 255]), Buffer.from("as wanted")]);
    await client.until("the close", () => (client.seen(id).body.includes(closing) ? true : undefined));
    client.data(id, frame(8, Buffer.from([4000 >> 8, 4000 & 255])));
    expect((await client.reply(id)).isEnded).toBe(true);
    client.close();
  });

  test("is refused where the function does not accept it, and the connection goes on", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(fields("/a/version"), false);
    expect((await client.reply(id)).status).toBe(502);
    const other = client.headers(fields("/a/socket"), false);
    client.data(other, frame(1, Buffer.from("x")));
    await client.until("the echo", () => (client.seen(other).body.length > 0 ? true : undefined));
    client.close();
  });
});
