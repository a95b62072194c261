import { afterAll, describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, readlinkSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { type RawClient, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

/** More than the kernel takes for a client that does not read. */
const content = Buffer.alloc(24 * 1024 * 1024 + 777);
for (let i = 0; i + 4 <= content.length; i += 4) content.writeUInt32LE((i * 2654435761) % 2 ** 32, i);
const gateway = await startGateway({
  routes: [{ type: "static", prefix: "/s", dir: "site" }],
  files: { "site/big.bin": content, "site/100k.bin": content.subarray(0, 102_400), "site/small.txt": "small" },
});
/** The same with sinks between the files and their clients. */
const everything = await startGateway({
  config: {
    server: { cache: { enabled: true, cookies: "bypass" }, compression: { enabled: true }, waf: { enabled: true } },
  },
  routes: [{ type: "static", prefix: "/s", dir: "site" }],
  files: { "site/100k.bin": content.subarray(0, 102_400), "site/long.txt": "a line of text\n".repeat(20_000) },
});
afterAll(() => stopAll(gateway, everything));

const at = (name: string) => join(gateway.folder, "site", name);

/** Begins to download a file that is made for it, and reads no more than its head. */
async function beginDownload(name: string): Promise<{ client: RawClient; length: number }> {
  writeFileSync(at(name), content);
  const client = await gateway.connect();
  client.narrow();
  client.send(request(`GET /s/${name}`));
  const head = (await client.takeUntil("\r\n\r\n", 1024 * 1024)).toString("latin1");
  client.hold();
  expect(head).toStartWith("HTTP/1.1 200 ");
  return { client, length: Number(/content-length: (\d+)/i.exec(head)![1]) };
}

/** What is left of the body, until it is complete or the connection ends. */
async function readOn(client: RawClient, length: number): Promise<Buffer> {
  client.release();
  await client.until("the end", () => client.unread >= length || client.ending !== "open" || undefined);
  return client.take(client.unread);
}

/** Files of the site that the gateway has open. */
function openFiles(name: string): number {
  const folder = `/proc/${gateway.pid}/fd`;
  return readdirSync(folder).filter((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`).includes(`/site/${name}`);
    } catch {
      // It has been closed meanwhile.
      return false;
    }
  }).length;
}

describe("a large file in clear text", () => {
  test("is whole, in parts, and follows other responses of its connection", async () => {
    const client = await gateway.connect();
    const parts = [
      [0, 69_999],
      [102_000, 102_399],
      [70_000, 101_999],
    ] as const;
    const asked = parts.map(([from, to]) => request("GET /s/100k.bin", [`Range: bytes=${from}-${to}`]));
    client.send(
      Buffer.concat([request("GET /s/small.txt"), ...asked, request("GET /s/big.bin"), request("HEAD /s/big.bin")]),
    );
    expect((await client.reply()).text).toBe("small");
    for (const [from, to] of parts) {
      const part = await client.reply();
      expect([part.status, part.body.equals(content.subarray(from, to + 1))]).toEqual([206, true]);
    }
    expect((await client.reply()).body.equals(content)).toBe(true);
    expect((await client.reply("HEAD")).fields.get("content-length")).toBe(String(content.length));
    client.close();
  });

  test("begins in the packet of its head", async () => {
    for (let i = 0; i < 5; i++) {
      const client = await gateway.connect();
      client.send(request("GET /s/100k.bin"));
      await client.until("bytes", () => client.unread || undefined);
      expect(client.unread).toBeGreaterThan(4096);
      client.close();
    }
  });

  test("is the same with a cache and compression, from the first response to a hit", async () => {
    const client = await everything.connect();
    const text = Buffer.from("a line of text\n".repeat(20_000));
    for (let i = 0; i < 4; i++) {
      const whole = await client.exchange(request("GET /s/100k.bin"));
      expect(whole.fields.get("x-cache")).toBe(i === 0 ? "MISS" : "HIT");
      expect(whole.body.equals(content.subarray(0, 102_400))).toBe(true);
      const part = await client.exchange(request("GET /s/100k.bin", ["Range: bytes=90000-99999"]));
      expect([part.status, part.body.equals(content.subarray(90_000, 100_000))]).toEqual([206, true]);
      expect((await client.exchange(request("GET /s/long.txt"))).body.equals(text)).toBe(true);
      const packed = await client.exchange(request("GET /s/long.txt", ["Accept-Encoding: gzip"]));
      expect([packed.fields.get("content-encoding"), gunzipSync(packed.body).equals(text)]).toEqual(["gzip", true]);
    }
    client.close();
  });

  test("goes to a client of HTTP/1.0 and ends its connection", async () => {
    const client = await gateway.connect();
    client.send(request("GET /s/100k.bin HTTP/1.0"));
    const rest = await client.takeRest();
    expect(rest.subarray(rest.indexOf("\r\n\r\n") + 4).equals(content.subarray(0, 102_400))).toBe(true);
  });

  test("holds nobody up while a client does not read it", async () => {
    const held = await Promise.all(["slow-1.bin", "slow-2.bin"].map(beginDownload));
    for (let i = 0; i < 20; i++) expect((await gateway.once(request("GET /s/100k.bin"))).body.length).toBe(102_400);
    for (const { client, length } of held) expect((await readOn(client, length)).equals(content)).toBe(true);
    for (const { client } of held) client.close();
  });
});

describe.skipIf(process.platform !== "linux")("descriptors of a large file", () => {
  test("are closed when its clients have left, and one serves many", async () => {
    const held = await Promise.all(Array.from({ length: 8 }, () => beginDownload("left.bin")));
    expect(openFiles("left.bin")).toBeGreaterThan(0);
    for (const { client } of held.splice(4)) client.reset();
    for (const { client } of held) client.close();
    await eventually(() => expect(openFiles("left.bin")).toBe(0));
    for (let i = 0; i < 50; i++) await gateway.once(request("GET /s/100k.bin"));
    // Two workers, each with one.
    expect(openFiles("100k.bin")).toBeLessThanOrEqual(2);
    await eventually(() => expect(openFiles("100k.bin")).toBe(0));
  });
});

describe("a large file that changes while it is sent", () => {
  test("shrinks: the connection is cut, and what came is of the file", async () => {
    const { client, length } = await beginDownload("shrinks.bin");
    // The kernel may have promised pages of the file by now; behind the new end it fills up the last with zeros.
    truncateSync(at("shrinks.bin"), 8 * 1024 * 1024);
    const body = await readOn(client, length);
    expect(body.length).toBeLessThan(length);
    expect(body.equals(content.subarray(0, body.length))).toBe(true);
    client.close();
  });

  test("grows: nothing comes beyond its announced length", async () => {
    const { client, length } = await beginDownload("grows.bin");
    appendFileSync(at("grows.bin"), Buffer.alloc(100_000, "x"));
    const body = await readOn(client, length);
    expect(body.length).toBeLessThanOrEqual(length);
    expect(body.equals(content.subarray(0, body.length))).toBe(true);
    client.close();
  });

  test("is replaced: the old one comes whole, and the next response is the new one", async () => {
    const { client, length } = await beginDownload("replaced.bin");
    writeFileSync(at("new.bin"), Buffer.alloc(200_000, "n"));
    renameSync(at("new.bin"), at("replaced.bin"));
    expect((await readOn(client, length)).equals(content)).toBe(true);
    const next = await client.exchange(request("GET /s/replaced.bin"));
    expect([next.status, next.body.equals(Buffer.alloc(200_000, "n"))]).toEqual([200, true]);
    client.close();
  });
});
