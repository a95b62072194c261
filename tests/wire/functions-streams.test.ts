// docs/functions.md#modules
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const MODULES = join(import.meta.dir, "../vectors/functions");
const source = (name: string): string => readFileSync(join(MODULES, name), "utf8");
const gateway = await startGateway({
  config: { server: { workers: 1 } },
  routes: [{ type: "function", prefix: "/f", module: "./answers.ts", max_body_bytes: "unlimited" }],
  files: { "answers.ts": source("answers.ts"), "greeting.ts": source("greeting.ts") },
});
afterAll(() => stopAll(gateway));

const MIB = 1024 * 1024;
const text = async (path: string): Promise<string> => (await gateway.once(request(`GET ${path}`))).text;

describe("streams", () => {
  test("events come one by one", async () => {
    const reply = await gateway.once(request("GET /f/events"));
    expect([reply.text, reply.fields.get("content-type")]).toEqual([
      "data: 1\n\ndata: 2\n\ndata: 3\n\n",
      "text/event-stream",
    ]);
  });

  test("a client that does not read holds the function back; one that leaves ends it", async () => {
    const before = Number(await text("/f/aborted"));
    const client = await gateway.connect();
    client.send(request("GET /f/endless"));
    await client.takeUntil("\r\n\r\n", 65_536);
    client.hold();
    const { resident } = gateway.memory() ?? { resident: 0 };
    // What other requests do meanwhile takes its time, and an endless stream without bounds would fill memory.
    for (let i = 0; i < 50; i++) expect(await text("/f/hello")).toBe("hello");
    expect((gateway.memory()?.resident ?? 0) - resident).toBeLessThan(64 * MIB);
    client.reset();
    await eventually(async () => expect(Number(await text("/f/aborted"))).toBe(before + 1));
  });

  test("a body of many windows goes through both ways", async () => {
    const size = 32 * MIB;
    const down = await fetch(`http://127.0.0.1:${gateway.port}/f/big?${size / MIB}`);
    expect(await bytesOf(down)).toBe(size);
    expect(await bytesOf(await send(gateway, "/f/echo", size))).toBe(size);
  });
});

// docs/functions.md#limits
describe("memory", () => {
  const origin = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    fetch: ({ url }) => new Response(bodyOf(Number(new URL(url).search.slice(1)))),
  });
  const module = `export default {
    async fetch(request, ctx) {
      const { pathname, search } = new URL(request.url);
      if (pathname === "/t/echo") return new Response(request.body);
      if (pathname === "/t/upstream") return ctx.upstream();
      const fetched = await fetch("${origin.url.href}" + search);
      return new Response(fetched.body);
    },
  };`;
  const size = (IS_LONG ? 1024 : 32) * MIB;
  afterAll(() => origin.stop(true));

  test.each(["echo", "upstream", "fetch"])(
    "a body of any length goes through a function with less than 32 MB more: %s",
    async (path) => {
      const own = await startGateway({
        config: { server: { workers: 1 } },
        routes: [
          { type: "function", prefix: "/t", module: "./t.ts", target: origin.url.origin, max_body_bytes: "unlimited" },
        ],
        files: { "t.ts": module },
      });
      try {
        const through = async (bytes: number): Promise<void> => {
          const sent = path === "echo" ? bytes : 0;
          expect(await bytesOf(await send(own, `/t/${path}?${bytes}`, sent))).toBe(bytes);
        };
        // What the code of it takes once is not what bodies take.
        await through(32 * MIB);
        own.forgetPeak();
        const before = own.memory()?.resident ?? 0;
        await through(size);
        expect((own.memory()?.peak ?? 0) - before).toBeLessThan(32_000_000);
      } finally {
        await own.stop();
      }
    },
    120_000,
  );
});

function bodyOf(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (left === 0) return controller.close();
    left -= MIB;
    controller.enqueue(new Uint8Array(MIB));
  };
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}

/** @param bytes of the request's body; 0 for a request without one */
function send({ port }: { readonly port: number }, path: string, bytes: number): Promise<Response> {
  const init = bytes === 0 ? {} : { method: "POST", body: bodyOf(bytes), duplex: "half" };
  return fetch(`http://127.0.0.1:${port}${path}`, init as RequestInit);
}

async function bytesOf(response: Response): Promise<number> {
  let bytes = 0;
  for await (const piece of response.body!) bytes += piece.length;
  return bytes;
}

describe("ctx.upgrade()", () => {
  test("gives a WebSocket: texts, bytes, long ones, and a close with its code", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/f/socket`);
    socket.binaryType = "arraybuffer";
    const got: unknown[] = [];
    const wanted = Promise.withResolvers<void>();
    socket.onmessage = ({ data }) => {
      got.push(typeof data === "string" ? data : new Uint8Array(data).length);
      if (got.length === 4) socket.send("bye");
    };
    socket.onopen = () => {
      socket.send("one");
      socket.send(new Uint8Array(3));
      socket.send("ü".repeat(100_000));
      socket.send(new Uint8Array(700_000));
    };
    const closed = new Promise<CloseEvent>((resolve) => {
      socket.onclose = (event) => {
        wanted.resolve();
        resolve(event);
      };
    });
    await wanted.promise;
    expect(got).toEqual(["one", 3, "ü".repeat(100_000), 700_000]);
    const { code, reason } = await closed;
    expect([code, reason]).toEqual([4000, "as wanted"]);
  });

  test("is refused for what is no handshake", async () => {
    expect((await gateway.once(request("GET /f/socket"))).status).toBe(500);
    const halves = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
    expect((await gateway.once(request("GET /f/socket", halves))).status).toBe(500);
    expect(await text("/f/hello")).toBe("hello");
  });
});
