// docs/compression.md#streams: bodies that come piece by piece, over every protocol, and what ends them early.
import { afterAll, describe, expect, test } from "bun:test";
import { createBrotliDecompress, createGunzip, createZstdDecompress } from "node:zlib";
import * as fc from "fast-check";
import { makeCertificate } from "../harness/certificate.ts";
import { decoded, sampleJson } from "../harness/decoding.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { expectNothingLeft } from "../harness/memory.ts";
import { chunked, RawClient, request } from "../harness/raw-client.ts";
import { type OriginCall, type OriginConnection, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const ENCODINGS = ["gzip", "br", "zstd"] as const;
const JSON_TYPE = "Content-Type: application/json";
const CHUNKED = "Transfer-Encoding: chunked";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const origin = ScriptedOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      compression: {},
      workers: 1,
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [upstream("/", origin)],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(() => stopAll(gateway, origin));

/** The head of an answer, with these lines. */
const headOf = (...lines: readonly string[]) => `HTTP/1.1 ${["200 OK", ...lines, "", ""].join("\r\n")}`;
const accepting = (path: string, encoding: string) => request(`GET ${path}`, [`Accept-Encoding: ${encoding}`]);

/** What can be decoded of a body that has not ended. */
class Decoder {
  text = "";
  private readonly codec: ReturnType<typeof createGunzip>;
  private taken = 0;

  constructor(encoding: string) {
    const make = { gzip: createGunzip, br: createBrotliDecompress, zstd: createZstdDecompress }[encoding]!;
    this.codec = make() as ReturnType<typeof createGunzip>;
    this.codec.on("error", () => {});
    this.codec.on("data", (piece: Buffer) => {
      this.text += piece.toString("utf8");
    });
  }

  /** Takes what is new in all that has come so far. */
  take(all: Buffer): void {
    if (all.length > this.taken) this.codec.write(all.subarray(this.taken));
    this.taken = all.length;
  }

  close(): void {
    this.codec.destroy();
  }
}

/** A script that sends the head of an event stream and hands out its connections, in their order. */
function eventSource(path: string): { next(): Promise<OriginConnection> } {
  const waiting = [Promise.withResolvers<OriginConnection>()];
  origin.on(path, (call: OriginCall) => {
    const connection = call.takeOver();
    connection.send(headOf("Content-Type: text/event-stream", CHUNKED, "Connection: close"));
    waiting.push(Promise.withResolvers());
    waiting.at(-2)!.resolve(connection);
  });
  let taken = 0;
  return { next: () => waiting[taken++]!.promise };
}

const event = (n: number) => `data: event ${n}\n\n`;

describe.each(ENCODINGS)("events in %s arrive while their stream is open", (encoding) => {
  test("over HTTP/1.1", async () => {
    const source = eventSource(`/events-1-${encoding}`);
    const client = await gateway.connect();
    client.send(accepting(`/events-1-${encoding}`, encoding));
    const sender = await source.next();
    const decoder = new Decoder(encoding);
    let body = Buffer.alloc(0);
    for (let n = 0; n < 3; n++) {
      sender.send(chunked(event(n)).subarray(0, -5));
      if (n === 0) {
        const headText = (await client.takeUntil("\r\n\r\n", 4096)).toString("latin1");
        expect(headText).toContain(`Content-Encoding: ${encoding}`);
        expect(headText).not.toContain("Content-Length");
      }
      while (!decoder.text.includes(event(n))) {
        // The decoder takes its time: another chunk is waited for only where one has come.
        if (client.peek().length === 0) {
          await Bun.sleep(1);
          continue;
        }
        const size = Number.parseInt((await client.takeUntil("\r\n", 64)).toString("latin1"), 16);
        body = Buffer.concat([body, await client.take(size)]);
        await client.take(2);
        decoder.take(body);
      }
    }
    decoder.close();
    client.close();
    await eventually(() => expect(sender.ending).not.toBe("open"));
  });

  test("over HTTP/2", async () => {
    const source = eventSource(`/events-2-${encoding}`);
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(head("GET", `/events-2-${encoding}`, [["accept-encoding", encoding]]));
    const sender = await source.next();
    const decoder = new Decoder(encoding);
    for (let n = 0; n < 3; n++) {
      sender.send(chunked(event(n)).subarray(0, -5));
      await eventually(() => {
        decoder.take(client.seen(id).body);
        expect(decoder.text).toContain(event(n));
      });
    }
    expect(client.seen(id).isEnded).toBe(false);
    sender.send("0\r\n\r\n");
    sender.finish();
    const reply = await client.reply(id);
    expect([reply.isEnded, decoded(encoding, reply.body).toString()]).toEqual([true, event(0) + event(1) + event(2)]);
    decoder.close();
    client.close();
  });

  test("over HTTP/3", async () => {
    const source = eventSource(`/events-3-${encoding}`);
    const client = await H3Client.connect(tlsPort);
    const decoder = new Decoder(encoding);
    let all = Buffer.alloc(0);
    const asked = client.ask(
      "GET",
      `/events-3-${encoding}`,
      { "accept-encoding": encoding },
      {
        onPiece: (piece: Uint8Array) => {
          all = Buffer.concat([all, piece]);
          decoder.take(all);
        },
      },
    );
    const sender = await source.next();
    for (let n = 0; n < 3; n++) {
      sender.send(chunked(event(n)).subarray(0, -5));
      await eventually(() => expect(decoder.text).toContain(event(n)));
    }
    sender.send("0\r\n\r\n");
    sender.finish();
    expect(decoded(encoding, (await asked).body).toString()).toBe(event(0) + event(1) + event(2));
    decoder.close();
    client.close();
  });
});

test("another stream that pauses is prompt too, whether its length is known or not", async () => {
  const parts = [sampleJson(2000), sampleJson(3000, 7)];
  for (const [path, lines, framed] of [
    ["/slow-chunks", [CHUNKED], true],
    ["/slow-length", ["Content-Length: 5000"], false],
  ] as const) {
    const gate = Promise.withResolvers<void>();
    origin.on(path, async (call) => {
      call.send(headOf(JSON_TYPE, ...lines));
      call.send(framed ? chunked(parts[0]!).subarray(0, -5) : parts[0]!);
      await gate.promise;
      call.send(framed ? chunked(parts[1]!) : parts[1]!);
    });
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(head("GET", path, [["accept-encoding", "gzip"]]));
    const decoder = new Decoder("gzip");
    await eventually(() => {
      decoder.take(client.seen(id).body);
      expect(decoder.text).toBe(parts[0]!.toString());
    });
    gate.resolve();
    expect(decoded("gzip", (await client.reply(id)).body).equals(Buffer.concat(parts))).toBe(true);
    decoder.close();
    client.close();
  }
});

test("bodies of every size and split are the same after decoding, over every protocol", async () => {
  const h3 = await H3Client.connect(tlsPort);
  const whole = sampleJson(1_048_576, 3);
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 1_048_576 })),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
      fc.constantFrom(...ENCODINGS),
      fc.constantFrom("h1", "h2", "h3"),
      fc.boolean(),
      async (length, cuts, encoding, protocol, isChunked) => {
        const path = `/any-${count++}`;
        const body = whole.subarray(0, length);
        const places = [0, ...cuts.map((cut) => Math.floor(cut * length)).sort((a, b) => a - b), length];
        origin.on(path, async (call) => {
          call.send(headOf(JSON_TYPE, isChunked ? CHUNKED : `Content-Length: ${length}`));
          for (let i = 1; i < places.length; i++) {
            const part = body.subarray(places[i - 1]!, places[i]!);
            if (part.length > 0) call.send(isChunked ? chunked(part, 30_000).subarray(0, -5) : part);
            if (i % 2 === 0) await Bun.sleep(1);
          }
          if (isChunked) call.send("0\r\n\r\n");
        });
        const { coded, bytes } = await fetched(path, encoding, protocol, h3);
        expect(coded).toBe(isChunked || length >= 1024 ? encoding : null);
        expect(decoded(coded, bytes).equals(body)).toBe(true);
      },
    ),
    { numRuns: 120, seed: 20_261_122 },
  );
  h3.close();
  expect(origin.violations).toEqual([]);
});

async function fetched(path: string, encoding: string, protocol: string, h3: H3Client) {
  if (protocol === "h3") {
    const { fields, body } = await h3.ask("GET", path, { "accept-encoding": encoding });
    return { coded: (fields["content-encoding"] as string | undefined) ?? null, bytes: body };
  }
  if (protocol === "h2") {
    const client = await H2Client.connect(gateway.port);
    const { fields, body } = await client.request(head("GET", path, [["accept-encoding", encoding]]));
    client.close();
    return { coded: fields.get("content-encoding") ?? null, bytes: body };
  }
  const { fields, body } = await gateway.once(accepting(path, encoding));
  return { coded: fields.get("content-encoding"), bytes: body };
}

test("trailers follow, but for digests of the plain form", async () => {
  origin.on("/trailers", (call) => {
    call.send(headOf(JSON_TYPE, CHUNKED, "Trailer: X-Sum, Digest"));
    call.send(chunked(sampleJson(5000), 700, ["X-Sum: 5", "Digest: sha-256=abc"]));
  });
  const client = await gateway.connect();
  const reply = await client.exchange(
    request("GET /trailers", ["Accept-Encoding: gzip", "TE: trailers", "Connection: TE"]),
  );
  expect([reply.trailers.get("x-sum"), reply.trailers.get("digest")]).toEqual(["5", null]);
  expect(decoded("gzip", reply.body).equals(sampleJson(5000))).toBe(true);
  client.close();
});

test("a client of HTTP/1.0 gets a stream until the connection closes", async () => {
  origin.on("/old", (call) => call.send(headOf(JSON_TYPE, CHUNKED) + chunked(sampleJson(5000)).toString("latin1")));
  const reply = await gateway.once(request("GET /old HTTP/1.0", ["Accept-Encoding: gzip"]));
  expect([reply.framing, decoded("gzip", reply.body).equals(sampleJson(5000))]).toEqual(["close", true]);
});

describe("an origin that ends in the middle", () => {
  test.each(ENCODINGS)("cuts a stream in %s: no client takes it for a whole one", async (encoding) => {
    origin.on("/cut", async (call) => {
      const connection = call.takeOver();
      connection.send(headOf(JSON_TYPE, CHUNKED));
      connection.send(chunked(sampleJson(400_000), 50_000).subarray(0, 200_000));
      await Bun.sleep(100);
      connection.finish();
    });
    const client = await gateway.connect();
    client.send(accepting("/cut", encoding));
    await expect(client.reply()).rejects.toThrow();
    const h2 = await H2Client.connect(gateway.port);
    const reply = await h2.request(head("GET", "/cut", [["accept-encoding", encoding]]));
    expect(reply.reset).toBeGreaterThanOrEqual(0);
    h2.close();
  });

  test("before anything has left is a 502", async () => {
    origin.on("/cut-short", async (call) => {
      const connection = call.takeOver();
      connection.send(headOf(JSON_TYPE, "Content-Length: 5000"));
      connection.send(sampleJson(3000));
      await Bun.sleep(50);
      connection.finish();
    });
    const reply = await gateway.once(accepting("/cut-short", "gzip"));
    expect([reply.status, reply.fields.get("content-encoding")]).toEqual([502, null]);
  });
});

test("a client that reads nothing stops the origin", async () => {
  const piece = Buffer.alloc(65_536);
  let sent = 0;
  let stop = false;
  origin.on("/endless", async (call) => {
    const connection = call.takeOver();
    connection.send(headOf("Content-Type: text/plain", CHUNKED));
    while (!stop && !connection.isClosed && connection.ending === "open") {
      crypto.getRandomValues(piece);
      connection.send(chunked(piece, 65_536).subarray(0, -5));
      sent += piece.length;
      await connection.flushed();
    }
    connection.close();
  });
  const client = await RawClient.connect(gateway.port);
  client.hold();
  client.send(accepting("/endless", "zstd"));
  let before = -1;
  await eventually(async () => {
    before = sent;
    await Bun.sleep(500);
    expect(sent).toBe(before);
  });
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThan(64 * 1024 * 1024);
  stop = true;
  client.reset();
});

test("clients that leave free their codecs", async () => {
  const source = eventSource("/left");
  const round = async () => {
    for (let i = 0; i < 25; i++) {
      const clients = await Promise.all(
        ENCODINGS.map(async (encoding) => {
          const client = await gateway.connect();
          client.send(accepting("/left", encoding));
          return client;
        }),
      );
      for (const client of clients) {
        const sender = await source.next();
        sender.send(chunked(event(1)).subarray(0, -5));
        await client.takeUntil("\r\n\r\n", 4096);
      }
      for (const client of clients) client.reset();
    }
  };
  await expectNothingLeft(gateway, async () => {
    for (let i = 0; i < 4; i++) await round();
  });
  // Room is given back: nothing was sent plain for want of it.
  expect(await gateway.metric("gateway_compression_skipped_total")).toBe(0);
});

test("beyond the room for codecs streams go out plain, and room comes back", async () => {
  const source = eventSource("/many");
  const client = await H2Client.connect(gateway.port);
  const other = await H2Client.connect(gateway.port);
  const ask = (on: H2Client) => on.headers(head("GET", "/many", [["accept-encoding", "zstd"]]));
  const ids = Array.from({ length: 200 }, (_, i) => ({ on: i % 2 === 0 ? client : other, id: 0 }));
  for (const stream of ids) {
    stream.id = ask(stream.on);
    (await source.next()).send(chunked(event(1)).subarray(0, -5));
  }
  await eventually(() => expect(ids.every(({ on, id }) => on.seen(id).body.length > 0)).toBe(true));
  const encodings = ids.map(({ on, id }) => on.seen(id).fields.get("content-encoding") ?? null);
  const plain = ids[encodings.lastIndexOf(null)]!;
  expect([encodings[0], encodings.includes(null), plain.on.seen(plain.id).text]).toEqual(["zstd", true, event(1)]);
  expect(plain.on.seen(plain.id).fields.get("vary")).toBe("Accept-Encoding");
  const skipped = encodings.filter((encoding) => encoding === null).length;
  expect(await gateway.metric("gateway_compression_skipped_total")).toBe(skipped);
  client.close();
  other.close();
  await eventually(async () => {
    const next = await H2Client.connect(gateway.port);
    const id = ask(next);
    (await source.next()).send(chunked(event(1)).subarray(0, -5));
    await next.until("the head", () => (next.seen(id).status > 0 ? true : undefined));
    const { fields } = next.seen(id);
    next.close();
    expect(fields.get("content-encoding")).toBe("zstd");
  });
});
