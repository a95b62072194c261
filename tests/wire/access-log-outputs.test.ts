import { afterEach, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { existsSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";

// docs/operations.md#access-log
let gateway: Gateway | null = null;
afterEach(async () => {
  await gateway?.stop();
  gateway = null;
});

async function start(accessLog: Record<string, unknown>): Promise<Gateway> {
  const server = { workers: 2, access_log: { enabled: true, ...accessLog } };
  gateway = await startGateway({ config: { server }, routes: [{ type: "respond", path: "/x", body: "x" }] });
  return gateway;
}

async function ask(edge: Gateway, times: number, path = "/x"): Promise<void> {
  for (let i = 0; i < times; i++) expect((await edge.once(request(`GET ${path}?n=${i}`))).status).toBe(200);
}

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line.includes("/x"));
}

test("lines go to a file, events to standard output; a file that was renamed is opened anew on SIGUSR1", async () => {
  const edge = await start({ format: "combined", outputs: [{ file: "./access.log" }] });
  const file = join(edge.folder, "access.log");
  await ask(edge, 3);
  await eventually(() => expect(linesOf(readFileSync(file, "utf8")).length).toBe(3));
  expect(linesOf(readFileSync(file, "utf8"))[0]).toMatch(
    /^127\.0\.0\.1 - - \[\d\d\/\w{3}\/\d{4}:[\d:]{8} \+0000\] "GET \/x HTTP\/1\.1" 200 \d+ "-" "-"$/,
  );
  expect(edge.logs.json.some((line) => line.event === "access")).toBe(false);
  renameSync(file, `${file}.1`);
  edge.signal("SIGUSR1");
  await edge.log("the reopening", (line) => line.event === "log_reopen" && line.outputs === 1);
  await ask(edge, 2);
  await eventually(() => expect(linesOf(readFileSync(file, "utf8")).length).toBe(2));
  expect(linesOf(readFileSync(`${file}.1`, "utf8")).length).toBe(3);
});

test("standard output and a file at the same time; a reload changes outputs without losing a line", async () => {
  const edge = await start({ outputs: ["stdout", { file: "./access.log" }] });
  await ask(edge, 2);
  await edge.log("a line", (line) => line.event === "access");
  await eventually(() => expect(linesOf(readFileSync(join(edge.folder, "access.log"), "utf8")).length).toBe(2));
});

test.each([
  ["gzip", ".gz"],
  ["zstd", ".zst"],
  [false, ""],
])("files are rotated by size, compressed (%s) and removed, and no line is lost", async (compress, suffix) => {
  const rotate = { size: "4KiB", keep: 100, compress };
  const edge = await start({ fields: ["time", "path", "query"], outputs: [{ file: "./logs.log", rotate }] });
  await ask(edge, 150);
  const rotated = () => readdirSync(edge.folder).filter((name) => /^logs-\d{8}T\d{6}(-\d+)?\.log/.test(name));
  const contentOf = (name: string): string => {
    const bytes = readFileSync(join(edge.folder, name));
    return Buffer.from(
      suffix === ".gz" ? gunzipSync(bytes) : suffix === ".zst" ? Bun.zstdDecompressSync(bytes) : bytes,
    ).toString();
  };
  await eventually(() => {
    const names = rotated();
    expect(names.length).toBeGreaterThan(0);
    expect(names.every((name) => name.endsWith(`.log${suffix}`))).toBe(true);
    const lines = [...names.map(contentOf), readFileSync(join(edge.folder, "logs.log"), "utf8")].flatMap(linesOf);
    const numbers = lines.map((line) => Number(JSON.parse(line).query.slice(2))).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 150 }, (_, i) => i));
  });
});

test("no more files are kept than may be", async () => {
  const rotate = { size: "1KiB", keep: 2, compress: false };
  const edge = await start({ outputs: [{ file: "./few.log", rotate }] });
  for (let i = 0; i < 6; i++) {
    await ask(edge, 10);
    await Bun.sleep(150);
  }
  await eventually(() => expect(readdirSync(edge.folder).filter((name) => name.startsWith("few-")).length).toBe(2));
});

test("a file that cannot be written is told of once, counted, and stops nothing", async () => {
  const edge = await start({ outputs: [{ file: "./routes.yaml/access.log" }] });
  await ask(edge, 5);
  const failed = await edge.log("the failure", (line) => line.event === "log_failed");
  expect(String(failed.error)).toMatch(/ENOTDIR|EEXIST/);
  await eventually(async () => expect(await edge.metric("gateway_log_lines_dropped_total")).toBeGreaterThanOrEqual(5));
});

test("syslog over UDP and TCP: RFC 5424, one message a line, also after the server was away", async () => {
  const messages: string[] = [];
  const udp = createSocket("udp4").on("message", (bytes) => messages.push(...linesOf(bytes.toString())));
  await new Promise<void>((resolve) => udp.bind(0, "127.0.0.1", resolve));
  let stream = "";
  const tcp = createServer((socket) => socket.on("data", (bytes) => (stream += bytes.toString())));
  await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
  const { port } = tcp.address() as { port: number };
  const outputs = [{ syslog: `udp://127.0.0.1:${udp.address().port}` }, { syslog: `tcp://127.0.0.1:${port}` }];
  const edge = await start({ format: '{client_ip} "{method} {path}" {status}', outputs });
  await ask(edge, 3);
  const message = /^<134>1 \d{4}-\d\d-\d\dT[\d:.]{12}Z \S+ edge \d+ access - 127\.0\.0\.1 "GET \/x" 200$/;
  await eventually(() => expect(messages.length).toBe(3));
  expect(messages.every((one) => message.test(one))).toBe(true);
  await eventually(() => expect(framesOf(stream).filter((one) => message.test(one)).length).toBe(3));
  udp.close();
  tcp.close();
});

test("a syslog server that is away costs lines, not requests", async () => {
  const edge = await start({ outputs: [{ syslog: "tcp://127.0.0.1:1" }] });
  await ask(edge, 20);
  await edge.log("the failure", (line) => line.event === "log_failed" && line.output === "tcp://127.0.0.1:1");
  await eventually(async () => expect(await edge.metric("gateway_log_lines_dropped_total")).toBeGreaterThan(0));
  expect(existsSync(join(edge.folder, "access.log"))).toBe(false);
});

/** Of the requests that the tests make. RFC 6587 §3.4.1 */
function framesOf(stream: string): string[] {
  const frames: string[] = [];
  for (let at = 0; at < stream.length; ) {
    const space = stream.indexOf(" ", at);
    const length = Number(stream.slice(at, space));
    frames.push(stream.slice(space + 1, space + 1 + length));
    at = space + 1 + length;
  }
  return frames;
}
