// docs/security.md#shared-resources-and-their-bounds: what clients send in the smallest pieces, and do not read, ends no thread that others use
import { afterAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { chunked, json, type RawClient, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const MIB = 1024 * 1024;
/** Bytes of a body, one in each chunk: more than a window. */
const BODY_BYTES = 300_000;
const CLIENTS = 12;

const MODULE = `
let go;
let waiting = 0;
const released = new Promise((resolve) => (go = resolve));
export default {
  async fetch(request, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/f/waiting") return Response.json(waiting);
    if (pathname === "/f/go") go();
    if (pathname === "/f/late") {
      waiting++;
      await released;
      return new Response(String((await request.arrayBuffer()).byteLength));
    }
    if (pathname === "/f/through") {
      waiting++;
      return ctx.upstream();
    }
    if (pathname === "/f/socket") {
      const { socket, response } = ctx.upgrade(request);
      socket.onmessage = ({ data }) => socket.send(data);
      return response;
    }
    return new Response("here");
  },
};`;
const origin = ScriptedOrigin.start();
const releases: (() => void)[] = [];
origin.on("/through", async (call) => {
  await new Promise<void>((resolve) => releases.push(resolve));
  call.reply("200 OK", [], String((await call.body()).bytes.length));
});
const gateway = await startGateway({
  config: { server: { workers: 1 }, functions: { memory: "64MiB" } },
  routes: [{ type: "function", prefix: "/f", module: "./f.ts", target: origin.url, timeout: "60s" }],
  files: { "f.ts": MODULE },
});
afterAll(() => stopAll(gateway, origin));

const ended = (): unknown[] => gateway.logs.json.filter(({ event }) => event === "function_thread_ended");
const get = (path: string) => gateway.once(request(`GET ${path}`));

async function upload(path: string): Promise<RawClient> {
  const client = await gateway.connect();
  client.send(request(`POST ${path}`, ["Transfer-Encoding: chunked"]));
  client.send(chunked(Buffer.alloc(BODY_BYTES, "a"), 1));
  return client;
}

test("bodies of one-byte chunks wait for a function that reads late", async () => {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => upload("/f/late")));
  await eventually(async () => expect(json<number>(await get("/f/waiting"))).toBe(CLIENTS));
  // A thread's memory is looked at once in a while.
  await Bun.sleep(3000);
  await get("/f/go");
  for (const client of clients) {
    expect((await client.reply("POST", 30_000)).text).toBe(String(BODY_BYTES));
    client.close();
  }
  expect(ended()).toEqual([]);
}, 60_000);

test("bodies of one-byte chunks wait for an origin that reads late", async () => {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => upload("/f/through")));
  await origin.until("all requests", () => (releases.length === CLIENTS ? true : undefined), 20_000);
  await Bun.sleep(3000);
  for (const release of releases) release();
  for (const client of clients) {
    expect((await client.reply("POST", 30_000)).text).toBe(String(BODY_BYTES));
    client.close();
  }
  expect(ended()).toEqual([]);
}, 60_000);

const HANDSHAKE = request("GET /f/socket", [
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
]);
const FRAMES: readonly (readonly [what: string, frame: Buffer])[] = [
  ["pings", Buffer.of(0x89, 0x80, 0, 0, 0, 0)],
  ["messages of one byte that are echoed", Buffer.of(0x81, 0x81, 0, 0, 0, 0, 97)],
];

test.each(FRAMES)(
  "a WebSocket that is not read is not answered without end: %s",
  async (_what, frame) => {
    const before = gateway.memory()?.resident ?? 0;
    gateway.forgetPeak();
    const client = connect(gateway.port, "127.0.0.1").pause();
    client.on("error", () => {});
    client.write(HANDSHAKE);
    await Bun.sleep(300);
    const taken = await pushed(client, Buffer.concat(Array<Buffer>(10_000).fill(frame)), 64 * MIB);
    expect(taken).toBeLessThan(64 * MIB);
    expect((await get("/f/x")).text).toBe("here");
    expect(ended()).toEqual([]);
    expect((gateway.memory()?.peak ?? 0) - before).toBeLessThan(128 * MIB);
    client.destroy();
  },
  60_000,
);

/** Sends until the other side takes nothing for a while. @returns the bytes that it has taken, about */
async function pushed(client: Socket, block: Buffer, most: number): Promise<number> {
  for (let bytes = 0; bytes < most; bytes += block.length) {
    if (client.destroyed) return most;
    if (client.write(block)) continue;
    const drained = new Promise<boolean>((resolve) => client.once("drain", () => resolve(true)));
    if (!(await Promise.race([drained, Bun.sleep(3000).then(() => false)]))) return bytes;
  }
  return most;
}

test("responses in chunks of one byte that hooks look at take what their bytes do", async () => {
  const small = ScriptedOrigin.start();
  const length = 900_000;
  small.otherwise((call) => call.send(Buffer.concat([HEAD, chunked(Buffer.alloc(length, "a"), 1)])));
  const hooked = await startGateway({
    config: { server: { workers: 1 } },
    routes: [{ type: "upstream", prefix: "/", target: small.url, hooks: { module: "./h.ts", bodies: true } }],
    files: { "h.ts": "export default { onRequest() {}, onResponse() {} };" },
  });
  try {
    const ask = (): Promise<number> => receivedBytes(hooked.port);
    expect(await ask()).toBeGreaterThan(length);
    hooked.forgetPeak();
    const before = hooked.memory()?.resident ?? 0;
    for (const bytes of await Promise.all(Array.from({ length: 5 }, ask))) expect(bytes).toBeGreaterThan(length);
    expect((hooked.memory()?.peak ?? 0) - before).toBeLessThan(128 * MIB);
  } finally {
    await stopAll(hooked, small);
  }
}, 60_000);

const HEAD: Buffer = Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");

/** How much comes of a response, head and framing included, until the gateway closes. */
function receivedBytes(port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let bytes = 0;
  connect(port, "127.0.0.1")
    .on("data", (chunk) => {
      bytes += chunk.length;
    })
    .on("close", () => resolve(bytes))
    .on("error", reject)
    .write(request("GET /", ["Connection: close"]));
  return promise;
}
