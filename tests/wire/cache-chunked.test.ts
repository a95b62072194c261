// docs/cache.md#bodies-without-a-length: stored when they are complete, where the origin says how long they are fresh.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { sha256 } from "../harness/echo-origin.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import type { OriginCall } from "../harness/scripted-origin.ts";

const cached = await CachedGateway.start({ max_payload_size: 200_000, max_entries: 100 }, { workers: 2 });
afterAll(() => cached.stop());

const PATIENCE_MS = 60_000;
const FRESH = "Cache-Control: max-age=60";

function begin(call: OriginCall, ...lines: readonly string[]): void {
  call.send(`HTTP/1.1 200 OK\r\n${[...lines, "Transfer-Encoding: chunked"].join("\r\n")}\r\n\r\n`);
}

function chunk(call: OriginCall, text: string): void {
  call.send(`${text.length.toString(16)}\r\n${text}\r\n`);
}

function end(call: OriginCall, trailer = ""): void {
  call.send(`0\r\n${trailer}\r\n`);
}

/** Bytes that tell where they stand. */
function pattern(length: number): string {
  let text = "";
  for (let i = 0; text.length < length; i++) text += `${i},`;
  return text.slice(0, length);
}

/** A path that answers in chunks of so many bytes. */
function inChunks(path: string, body: string, step: number, ...lines: readonly string[]): void {
  cached.on(path, async (call) => {
    begin(call, ...lines);
    for (let at = 0; at < body.length; at += step) {
      chunk(call, body.slice(at, at + step));
      if (at % (step * 8) === 0) await Bun.sleep(1);
    }
    end(call);
  });
}

/** A gate that a script waits at. */
function gate(): { readonly open: () => void; readonly passed: Promise<void> } {
  let open: () => void = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

describe("a body in chunks", () => {
  test.each([1, 7, 250, 256, 257, 4000, 16_384, 50_000, 200_000])(
    "of %i bytes comes whole from the cache",
    async (size) => {
      const body = pattern(size);
      inChunks(`/size-${size}`, body, Math.max(1, Math.ceil(size / 13)), FRESH, 'ETag: "v"');
      const first = await cached.get(`/size-${size}`);
      expect(first.text === body).toBe(true);
      expect(first.fields.get("x-cache")).toBe("MISS");
      const hit = await cached.get(`/size-${size}`);
      expect(hit.text === body).toBe(true);
      expect([
        hit.fields.get("x-cache"),
        hit.fields.get("content-length"),
        hit.fields.has("transfer-encoding"),
      ]).toEqual(["HIT", String(size), false]);
      const part = await cached.get(`/size-${size}`, ["Range: bytes=-1"]);
      expect([part.status, part.text]).toEqual([206, body.slice(-1)]);
      expect(cached.seen(`/size-${size}`)).toBe(1);
    },
  );

  test.each([
    ["s-maxage", "Cache-Control: s-maxage=60"],
    ["Expires", `Expires: ${new Date(Date.now() + 60_000).toUTCString()}`],
  ])("is stored with %s", async (name, line) => {
    inChunks(`/fresh-${name}`, "fresh", 2, line);
    expect(await cached.isStored(`/fresh-${name}`)).toBe(true);
  });

  test.each([
    ["nothing that says how long it is fresh", []],
    ["no-store", ["Cache-Control: no-store, max-age=60"]],
    ["the type of an event stream", [FRESH, "Content-Type: text/event-stream"]],
    ["the type of an endless replacement", [FRESH, "Content-Type: multipart/x-mixed-replace; boundary=x"]],
    ["X-Accel-Buffering: no", [FRESH, "X-Accel-Buffering: no"]],
  ] as const)("is not stored with %s", async (name, lines) => {
    const path = `/not-${name.replace(/\W+/g, "-")}`;
    inChunks(path, "stream", 3, ...lines);
    for (let i = 1; i <= 2; i++) {
      expect((await cached.get(path)).fields.get("x-cache")).toBe("MISS");
      expect(cached.seen(path)).toBe(i);
    }
  });

  test("is not stored where the end of the connection ends it, whatever it says", async () => {
    let count = 0;
    cached.on("/until-close", (call) => call.sendAndFinish(`HTTP/1.1 200 OK\r\n${FRESH}\r\n\r\nanswer ${++count}`));
    expect(await cached.isStored("/until-close")).toBe(false);
  });

  test("is not stored where it is empty, or cut", async () => {
    inChunks("/empty", "", 1, FRESH);
    for (let i = 1; i <= 2; i++) {
      expect((await cached.get("/empty")).text).toBe("");
      expect(cached.seen("/empty")).toBe(i);
    }
    let isCut = true;
    cached.on("/cut", async (call) => {
      begin(call, FRESH);
      chunk(call, "half");
      await Bun.sleep(50);
      if (isCut) call.connection.close();
      else {
        chunk(call, "whole");
        end(call);
      }
      isCut = false;
    });
    await cached.get("/cut").catch(() => null);
    expect((await cached.get("/cut")).text).toBe("halfwhole");
    const hit = await cached.get("/cut");
    expect([hit.text, hit.fields.get("x-cache")]).toEqual(["halfwhole", "HIT"]);
  });

  test("keeps its trailers for the client it was fetched for", async () => {
    cached.on("/trailers", (call) => {
      begin(call, FRESH, "Trailer: X-Sum");
      chunk(call, "summed");
      end(call, "X-Sum: 6\r\n");
    });
    const first = await cached.get("/trailers", ["TE: trailers"]);
    expect([first.text, first.fields.get("x-cache")]).toEqual(["summed", "MISS"]);
    const hit = await cached.get("/trailers");
    expect([hit.text, hit.fields.get("x-cache"), hit.fields.has("trailer")]).toEqual(["summed", "HIT", false]);
  });

  test("reaches its first client as fast as the origin sends it", async () => {
    const second = gate();
    cached.on("/prompt", async (call) => {
      begin(call, FRESH);
      chunk(call, "first");
      await second.passed;
      chunk(call, "second");
      end(call);
    });
    const client = await RawClient.connect(cached.gateway.port);
    client.send(request("GET /prompt"));
    expect((await client.takeUntil("first", 4096)).toString()).toContain("200 OK");
    second.open();
    expect((await client.takeUntil("0\r\n\r\n", 4096)).toString()).toContain("second");
    client.close();
    expect((await cached.get("/prompt")).text).toBe("firstsecond");
    expect(cached.seen("/prompt")).toBe(1);
  });
});

test(
  "200 misses of one key, over two workers, cost the origin one request",
  async () => {
    const go = gate();
    cached.on("/many", async (call) => {
      begin(call, FRESH);
      chunk(call, "one ");
      await go.passed;
      chunk(call, "for all");
      end(call);
    });
    const clients = await Promise.all(Array.from({ length: 200 }, () => RawClient.connect(cached.gateway.port)));
    const replies = clients.map((client) => {
      client.send(request("GET /many"));
      return client.reply("GET", PATIENCE_MS);
    });
    const h2 = await H2Client.connect(cached.gateway.port);
    const fields: (readonly [string, string])[] = head("GET", "/many").map(([name, value]) =>
      name === ":authority" ? [name, "gw.test"] : [name, value],
    );
    const streams = Array.from({ length: 20 }, () => h2.request(fields));
    await Bun.sleep(500);
    expect(cached.seen("/many")).toBe(1);
    go.open();
    const texts = new Set((await Promise.all([...replies, ...streams])).map((reply) => reply.text));
    expect([...texts]).toEqual(["one for all"]);
    expect(cached.seen("/many")).toBe(1);
    for (const client of [...clients, h2]) client.close();
  },
  PATIENCE_MS,
);

describe("a body that grows beyond max_payload_size", () => {
  test("reaches its client whole, and those who wait go on by themselves", async () => {
    const body = pattern(1_500_000);
    const beyond = gate();
    cached.on("/large", async (call) => {
      begin(call, FRESH);
      chunk(call, body.slice(0, 150_000));
      if (cached.seen("/large") === 1) await beyond.passed;
      chunk(call, body.slice(150_000, 700_000));
      await Bun.sleep(1);
      chunk(call, body.slice(700_000));
      end(call);
    });
    const all = Array.from({ length: 8 }, () => cached.get("/large"));
    await Bun.sleep(300);
    expect(cached.seen("/large")).toBe(1);
    beyond.open();
    for (const reply of await Promise.all(all)) expect(sha256(reply.body)).toBe(sha256(Buffer.from(body)));
    expect(cached.seen("/large")).toBe(8);
    expect((await cached.get("/large")).fields.get("x-cache")).toBe("MISS");
  });

  test("over HTTP/2 with a window that stays closed for a while", async () => {
    const body = pattern(600_000);
    inChunks("/large-h2", body, 30_000, FRESH);
    const client = await H2Client.connect(cached.gateway.port, [], false);
    const id = client.headers(head("GET", "/large-h2"));
    await client.until("the first window", () => (client.seen(id).body.byteLength >= 65_535 ? true : undefined));
    await Bun.sleep(200);
    const window = Buffer.alloc(4);
    window.writeUInt32BE(2_000_000);
    client.frame(8, 0, 0, window);
    client.frame(8, 0, id, window);
    expect(Buffer.from((await client.reply(id)).body).toString() === body).toBe(true);
    client.close();
  });

  test("leaves no memory behind, whether its client stays or goes", async () => {
    const body = pattern(400_000);
    inChunks("/left", body, 20_000, FRESH);
    const used = async (): Promise<number> => {
      const text = (await cached.get("/metrics")).text;
      return Number(/^gateway_cache_bytes (\d+)$/m.exec(text)?.[1]);
    };
    const before = await used();
    for (let i = 0; i < 10; i++) {
      await cached.get("/left");
      const client = await RawClient.connect(cached.gateway.port);
      client.send(request("GET /left"));
      await client.take(100);
      client.reset();
    }
    await Bun.sleep(200);
    expect(await used()).toBeLessThanOrEqual(before);
  });
});

test(
  "a body that never ends delays one wait long those who ask for it, and the next ones not at all",
  async () => {
    cached.on("/endless", async (call) => {
      begin(call, FRESH);
      for (let i = 0; !call.connection.isClosed && call.connection.ending === "open"; i++) {
        chunk(call, `${i}`);
        await Bun.sleep(100);
      }
    });
    const begun = async (): Promise<{ client: RawClient; afterMs: number }> => {
      const since = performance.now();
      const client = await RawClient.connect(cached.gateway.port);
      client.send(request("GET /endless"));
      await client.takeUntil("\r\n\r\n", 4096, PATIENCE_MS);
      return { client, afterMs: performance.now() - since };
    };
    const first = await begun();
    expect(first.afterMs).toBeLessThan(5000);
    // Both workers learn it: which one a client comes to is left to chance.
    const waited = await Promise.all(Array.from({ length: 12 }, begun));
    expect(Math.max(...waited.map(({ afterMs }) => afterMs))).toBeLessThan(20_000);
    const next = await Promise.all(Array.from({ length: 6 }, begun));
    for (const { afterMs } of next) expect(afterMs).toBeLessThan(5000);
    for (const { client } of [first, ...waited, ...next]) client.reset();
  },
  PATIENCE_MS,
);
