// Scripts behind clients of HTTP/1.1, 2 and 3: what they are told and what they answer is the same. docs/php.md#bodies-and-responses
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type FastCgiCall, FastCgiOrigin } from "../harness/fastcgi-origin.ts";
import { record, responseOf, STDERR, STDOUT } from "../harness/fastcgi-records.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { Code, END_HEADERS, END_STREAM, encode, H2Client, head, Type, uint32 } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { chunked, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-fastcgi-clients-"));
const root = join(folder, "site");
mkdirSync(root);
writeFileSync(join(root, "index.php"), "<?php");

const certificate = await makeCertificate([{ type: "dns", value: "gw.test" }]);
const h3Port = freePort();
const origin = FastCgiOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      waf: { enabled: false },
      tls: { port: h3Port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    {
      type: "upstream",
      prefix: "/",
      target: origin.url,
      fastcgi: { root },
      retries: { attempts: 0 },
      circuit_breaker: { enabled: false },
    },
  ],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(async () => {
  await stopAll(gateway, origin);
  rmSync(folder, { recursive: true, force: true });
});

type FieldsOf = Readonly<Record<string, string>>;

/** What a client has received, whatever it speaks. */
interface Answer {
  readonly status: number;
  readonly body: Buffer;
  /** All lines of a field. */
  all(name: string): readonly string[];
}

/** What is sent beside the head of a request. */
interface Sending {
  readonly body?: Buffer;
  /** Whether the head says how long the body is. */
  readonly hasLength?: boolean;
  readonly trailers?: FieldsOf;
}

interface Client {
  ask(method: string, path: string, fields?: FieldsOf, sending?: Sending): Promise<Answer>;
  /** Sends a request, or the beginning of one with a body, and leaves once `isTime`. */
  leave(path: string, isTime: () => void, part?: Buffer): Promise<void>;
}

const linesOf = (fields: FieldsOf): string[] => Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
/** In the head of a request whose body is not sent to its end. */
const ANNOUNCED = 900_000;

const overHttp1: Client = {
  async ask(method, path, fields = {}, { body, hasLength = true, trailers = {} } = {}) {
    const start = `${method} ${path}`;
    const inChunks = [...linesOf(fields), "Transfer-Encoding: chunked"];
    const bytes = hasLength
      ? request(start, linesOf(fields), body)
      : Buffer.concat([request(start, inChunks), chunked(body!, 4096, linesOf(trailers))]);
    const reply = await gateway.once(bytes, method);
    return { status: reply.status, body: reply.body, all: (name) => reply.fields.all(name) };
  },
  async leave(path, isTime, part) {
    const client = await gateway.connect();
    client.send(
      part === undefined ? request(`GET ${path}`) : request(`POST ${path}`, [`Content-Length: ${ANNOUNCED}`]),
    );
    if (part !== undefined) client.send(part);
    await eventually(isTime);
    client.reset();
  },
};

const MAX_FRAME = 16_384;

/** Sends a body as far as windows allow. */
async function sendData(client: H2Client, id: number, body: Buffer, isEnd: boolean): Promise<void> {
  const room = (streamId: number, first: number): number =>
    client.frames
      .filter((frame) => frame.type === Type.windowUpdate && frame.streamId === streamId)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), first);
  for (let at = 0; at < body.length; at += MAX_FRAME) {
    const end = Math.min(body.length, at + MAX_FRAME);
    // 65,535 is what both begin with; the gateway's settings give streams more.
    await client.until("a window", () => (room(0, 65_535) >= end && room(id, 262_144) >= end ? true : undefined));
    client.data(id, body.subarray(at, end), isEnd && end === body.length);
  }
}

const overHttp2: Client = {
  async ask(method, path, fields = {}, { body, hasLength = true, trailers } = {}) {
    const client = await H2Client.connect(gateway.port);
    const length: FieldsOf = body !== undefined && hasLength ? { "content-length": String(body.length) } : {};
    const id = client.headers(head(method, path, Object.entries({ ...fields, ...length })), body === undefined);
    if (body !== undefined) await sendData(client, id, body, trailers === undefined);
    if (trailers !== undefined) {
      client.frame(Type.headers, END_HEADERS | END_STREAM, id, encode(Object.entries(trailers)));
    }
    const reply = await client.reply(id);
    client.close();
    if (reply.reset >= 0) throw new Error(`reset with ${reply.reset}`);
    const all = (name: string) => reply.lines.filter(([own]) => own === name).map(([, value]) => value);
    return { status: reply.status, body: reply.body, all };
  },
  async leave(path, isTime, part) {
    const client = await H2Client.connect(gateway.port);
    const length = part === undefined ? [] : [["content-length", String(ANNOUNCED)] as const];
    const id = client.headers(head(part === undefined ? "GET" : "POST", path, length), part === undefined);
    if (part !== undefined) await sendData(client, id, part, false);
    await eventually(isTime);
    client.frame(Type.reset, 0, id, uint32(Code.cancel));
    // The connection goes on.
    const other = await client.request(head("GET", "/health"));
    expect(other.status).toBe(200);
    client.close();
  },
};

const overHttp3: Client = {
  async ask(method, path, fields = {}, { body, hasLength = true, trailers } = {}) {
    const client = await H3Client.connect(h3Port, "gw.test");
    const length: FieldsOf = body !== undefined && hasLength ? { "content-length": String(body.length) } : {};
    const sending = body === undefined ? {} : { pieces: [body], ...(trailers === undefined ? {} : { trailers }) };
    const reply = await client.ask(method, path, { ...fields, ...length }, sending).finally(() => client.close());
    return { status: reply.status, body: reply.body, all: (name) => [reply.fields[name] ?? []].flat() };
  },
  async leave(path, isTime, part) {
    const client = await H3Client.connect(h3Port, "gw.test");
    if (part === undefined) {
      await client.begin(path);
      await eventually(isTime);
      client.leave();
      return;
    }
    async function* pieces() {
      yield part!;
      await eventually(isTime);
    }
    const fields = { "content-length": String(ANNOUNCED) };
    await client.ask("POST", path, fields, { pieces: pieces(), abandons: true }).catch(() => {});
    client.close();
  },
};

const CLIENTS: Readonly<Record<string, Client>> = {
  "HTTP/1.1": overHttp1,
  "HTTP/2.0": overHttp2,
  "HTTP/3.0": overHttp3,
};
const TEXT = "Content-Type: text/plain\r\n";
const body = Buffer.alloc(1_000_003);
for (let i = 0; i < body.length; i++) body[i] = (i * 31 + (i >> 9)) & 255;

describe.each(Object.keys(CLIENTS))("over %s", (version) => {
  const client = CLIENTS[version]!;
  /** The path of one test, for whose calls it stands. */
  const at = (name: string): string => `/${version.replace("/", "-")}/${name}`;
  const callAt = (name: string): FastCgiCall => origin.callsFor(at(name)).at(-1)!;

  async function echoes(call: FastCgiCall): Promise<void> {
    call.respond(`${TEXT}\r\n${sha256(await call.body())}`);
  }

  test("a body with a length arrives whole, and the script is told what was asked", async () => {
    origin.on(at("upload"), echoes);
    const fields = { "content-type": "application/x-test", "x-a": "1" };
    const reply = await client.ask("POST", `${at("upload")}?a=1&b=%2f`, fields, { body });
    expect([reply.status, reply.body.toString()]).toEqual([200, sha256(body)]);
    const { params } = callAt("upload");
    expect(Object.fromEntries(params)).toMatchObject({
      REQUEST_METHOD: "POST",
      REQUEST_URI: `${at("upload")}?a=1&b=%2f`,
      QUERY_STRING: "a=1&b=%2f",
      SERVER_PROTOCOL: version,
      SERVER_NAME: "gw.test",
      CONTENT_LENGTH: String(body.length),
      CONTENT_TYPE: "application/x-test",
      REMOTE_ADDR: "127.0.0.1",
      REQUEST_SCHEME: version === "HTTP/3.0" ? "https" : "http",
      SCRIPT_FILENAME: `${root}/index.php`,
      HTTP_X_A: "1",
    });
    expect(params.get("HTTP_HOST")).toStartWith("gw.test");
    expect([...params.keys()].filter((name) => !/^[A-Z][A-Z0-9_]*$/.test(name))).toEqual([]);
  });

  test("a body without a length gets one, and its trailers are fields as before any origin", async () => {
    origin.on(at("chunks"), echoes);
    const sending = { body: body.subarray(0, 300_000), hasLength: false, trailers: { "x-trailer": "1" } };
    const reply = await client.ask("POST", at("chunks"), {}, sending);
    expect([reply.status, reply.body.toString()]).toEqual([200, sha256(sending.body)]);
    const { params } = callAt("chunks");
    expect([params.get("CONTENT_LENGTH"), params.get("HTTP_X_TRAILER")]).toEqual(["300000", "1"]);
    const framing = ["TRAILER", "TE", "TRANSFER_ENCODING", "CONNECTION"].filter((name) => params.has(`HTTP_${name}`));
    expect(framing).toEqual([]);
  });

  test.skipIf(version === "HTTP/1.1")("trailers after a body with a length are left out", async () => {
    origin.on(at("late"), echoes);
    const sending = { body: body.subarray(0, 50_000), trailers: { "x-trailer": "1" } };
    const reply = await client.ask("POST", at("late"), {}, sending);
    expect([reply.status, reply.body.toString()]).toEqual([200, sha256(sending.body)]);
    expect(callAt("late").params.has("HTTP_X_TRAILER")).toBe(false);
  });

  test("a megabyte comes through whole, whatever is said beside it", async () => {
    origin.on(at("download"), (call) => {
      call.send(record(STDERR, "a note"), responseOf(Buffer.concat([Buffer.from(`${TEXT}\r\n`), body]), 60_000));
      call.connection.finish();
    });
    const reply = await client.ask("GET", at("download"));
    expect([reply.status, sha256(reply.body)]).toEqual([200, sha256(body)]);
  });

  test("to HEAD, and with a status that has no body, nothing comes of what the script puts out", async () => {
    origin.on(at("head"), (call) => call.respond(`${TEXT}Content-Length: 5\r\n\r\nhello`));
    origin.on(at("same"), (call) => call.respond('Status: 304 Not Modified\r\nETag: "v"\r\n\r\nhello'));
    origin.on(at("none"), (call) => call.respond("Status: 204 No Content\r\nContent-Length: 5\r\n\r\nhello"));
    const asked = await client.ask("HEAD", at("head"));
    expect([asked.status, asked.all("content-length"), asked.body.length]).toEqual([200, ["5"], 0]);
    const same = await client.ask("GET", at("same"), { "if-none-match": '"v"' });
    expect([same.status, same.all("etag"), same.body.length]).toEqual([304, ['"v"'], 0]);
    expect(callAt("same").params.get("HTTP_IF_NONE_MATCH")).toBe('"v"');
    const none = await client.ask("GET", at("none"));
    expect([none.status, none.all("content-length"), none.body.length]).toEqual([204, [], 0]);
  });

  test("states, redirects and cookies are those of the script", async () => {
    origin.on(at("gone"), (call) => call.respond(`Status: 410 Gone\r\n${TEXT}\r\ngone`));
    origin.on(at("moved"), (call) =>
      call.respond("Location: /elsewhere\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n"),
    );
    const gone = await client.ask("GET", at("gone"));
    expect([gone.status, gone.all("status"), gone.body.toString()]).toEqual([410, [], "gone"]);
    const moved = await client.ask("GET", at("moved"), { cookie: "k=v" });
    expect([moved.status, moved.all("location"), moved.all("set-cookie")]).toEqual([
      302,
      ["/elsewhere"],
      ["a=1", "b=2"],
    ]);
    expect(callAt("moved").params.get("HTTP_COOKIE")).toBe("k=v");
  });

  test("a script says nothing of the connection, and sends no file of the server", async () => {
    writeFileSync(join(folder, "secret.txt"), "secret");
    const lines = `Connection: X-Own, close\r\nX-Own: 1\r\nKeep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\nUpgrade: h2c\r\nX-Sendfile: ${folder}/secret.txt\r\nX-Accel-Redirect: /health\r\n${TEXT}`;
    origin.on(at("words"), (call) => call.respond(`${lines}\r\n5\r\nhello\r\n0\r\n\r\n`));
    const reply = await client.ask("GET", at("words"));
    expect([reply.status, reply.body.toString()]).toEqual([200, "5\r\nhello\r\n0\r\n\r\n"]);
    for (const name of ["keep-alive", "upgrade", "trailer"]) expect([name, reply.all(name)]).toEqual([name, []]);
    if (version !== "HTTP/1.1") {
      for (const name of ["connection", "transfer-encoding"]) expect([name, reply.all(name)]).toEqual([name, []]);
    }
  });

  test("a script whose client leaves its response is told", async () => {
    origin.on(at("left"), (call) => call.send(record(STDOUT, `${TEXT}\r\nfirst`)));
    await client.leave(at("left"), () => expect(callAt("left")).toBeDefined());
    await eventually(() => expect([callAt("left").isAborted, callAt("left").connection.ending]).toEqual([true, "fin"]));
  });

  test("a script whose client leaves its own body gets no end of it", async () => {
    origin.on(at("half"), () => {});
    const part = body.subarray(0, 100_000);
    await client.leave(at("half"), () => expect(callAt("half").bodyBytes).toBe(part.length), part);
    await eventually(() => expect(callAt("half").connection.ending).not.toBe("open"));
    expect([callAt("half").isAborted, callAt("half").bodyBytes]).toEqual([true, part.length]);
  });

  test("a response that is cut is no whole one", async () => {
    origin.on(at("cut"), async (call) => {
      call.send(record(STDOUT, `${TEXT}\r\nhalf`));
      await Bun.sleep(30);
      call.connection.finish();
    });
    const outcome = await client.ask("GET", at("cut")).then(
      ({ status }) => status,
      () => "cut",
    );
    expect(["cut", 502]).toContain(outcome);
  });
});

test("crumbs of a cookie are one variable", async () => {
  origin.on("/crumbs", (call) => call.respond(`${TEXT}\r\n`));
  const client = await H2Client.connect(gateway.port);
  const crumbs = [["cookie", "a=1"] as const, ["cookie", "b=2"] as const];
  expect((await client.request(head("GET", "/crumbs", crumbs))).status).toBe(200);
  expect(origin.callsFor("/crumbs")[0]!.params.get("HTTP_COOKIE")).toBe("a=1; b=2");
  client.close();
});
