import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Server } from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import { ReflectionService } from "@grpc/reflection";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { GrpcShop, SHOP_FILE } from "../harness/grpc-shop.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// Where no descriptor set is named: the upstream is asked by reflection, and else the fields go as JSON.
const definition = loadFileDescriptorSetFromBuffer(readFileSync(SHOP_FILE));
// The package serves both versions at once; servers have one or the other.
const versions = new ReflectionService(definition) as unknown as Record<
  "v1" | "v1Alpha",
  { addToServer(to: Server): void }
>;
const reflection = (version: "v1" | "v1Alpha") => ({
  prepare: (server: Server) => versions[version].addToServer(server),
});

/** A gRPC server that knows JSON alone, and no reflection unless `everywhere`: then it answers every path alike. */
class JsonServer {
  readonly seen: { path: string; type: string; body: unknown }[] = [];
  answers: string[] = ['{"id":"from-json","big":12345678901234567890}'];
  status = "0";
  private constructor(
    private readonly server: Http2Server,
    readonly url: string,
  ) {}

  static async start(everywhere: boolean): Promise<JsonServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const made = new JsonServer(server, `http://127.0.0.1:${(server.address() as { port: number }).port}`);
    server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      const parts: Buffer[] = [];
      stream.on("error", () => {});
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", () => {
        const path = String(headers[":path"]);
        if (!everywhere && path.includes("Reflection")) {
          stream.respond(
            { ":status": 200, "content-type": "application/grpc", "grpc-status": "12" },
            { endStream: true },
          );
          return;
        }
        const body = Buffer.concat(parts);
        if (!path.includes("Reflection")) {
          made.seen.push({
            path,
            type: String(headers["content-type"]),
            body: JSON.parse(body.subarray(5).toString()),
          });
        }
        stream.respond({ ":status": 200, "content-type": "application/grpc+json" }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": made.status }));
        for (const answer of made.answers) {
          const frame = Buffer.alloc(5);
          frame.writeUInt32BE(Buffer.byteLength(answer), 1);
          stream.write(Buffer.concat([frame, Buffer.from(answer)]));
        }
        stream.end();
      });
    });
    return made;
  }

  stop(): void {
    this.server.close();
  }
}

const newer = await GrpcShop.start(reflection("v1"));
const older = await GrpcShop.start(reflection("v1Alpha"));
const plain = await JsonServer.start(false);
const dumb = await JsonServer.start(true);
const changingPort = freePort();
const route = (http_method: string, http_path: string, method: string, upstream_url: string, more: object = {}) => ({
  http_method,
  http_path,
  grpc_method: `/shop.Shop/${method}`,
  upstream_url,
  ...more,
});
const gateway = await startGateway({
  config: {
    transcoder: {
      enabled: true,
      routes: [
        route("GET", "/v1/:id", "GetItem", newer.url),
        route("GET", "/v1-watch/:count", "Watch", newer.url),
        route("GET", "/v1-missing/:id", "Missing", newer.url),
        route("GET", "/v1-misfit/:nope", "GetItem", newer.url),
        route("POST", "/v1-upload", "Upload", newer.url),
        route("GET", "/old/:id", "GetItem", older.url),
        route("POST", "/json/:id", "Any", plain.url, { field_mappings: { id: "user.id" } }),
        route("POST", "/dumb/:id", "Any", dumb.url),
        route("GET", "/changing/:id", "GetItem", `http://127.0.0.1:${changingPort}`),
      ],
    },
  },
});
afterAll(() => stopAll(gateway, newer, older, plain, dumb));

describe("reflection", () => {
  test.each(["/v1", "/old"])("serves %s", async (prefix) => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => gateway.once(request(`GET ${prefix}/${i}?page_size=3&filter.years=1`))),
    );
    for (const [i, reply] of replies.entries()) {
      expect([reply.status, json(reply)]).toMatchObject([200, { id: String(i), serial: "9007199254740993" }]);
    }
    expect(JSON.parse(json<{ request: string }>(replies[0]!).request)).toMatchObject({ filter: { years: [1] } });
  });

  test("knows streams, and what a method does not have", async () => {
    expect((await gateway.once(request("GET /v1-watch/2"))).text).toBe('[{"id":"1"},{"id":"2"}]');
    expect((await gateway.once(request("GET /v1/1?nope=1"))).status).toBe(400);
    const missing = await gateway.once(request("GET /v1-missing/1"));
    expect([missing.status, json(missing)]).toMatchObject([501, { code: 12 }]);
    const misfit = await gateway.once(request("GET /v1-misfit/1"));
    expect([misfit.status, json(misfit)]).toMatchObject([500, { code: 13 }]);
    const upload = await gateway.once(
      request("POST /v1-upload", ["Content-Type: application/json"], '[{"id":"1"},{}]'),
    );
    expect([upload.status, json(upload)]).toMatchObject([200, { serial: "2" }]);
  });

  test("is tried again when the upstream comes up, and when it has become another", async () => {
    expect((await gateway.once(request("GET /changing/1"))).status).toBe(502);
    const first = await GrpcShop.start({ port: changingPort, ...reflection("v1") });
    await eventually(async () => expect((await gateway.once(request("GET /changing/1"))).status).toBe(200));
    first.stop();
    const second = await GrpcShop.start({ port: changingPort, ...reflection("v1Alpha") });
    await eventually(async () => expect((await gateway.once(request("GET /changing/1"))).status).toBe(200));
    second.stop();
  }, 60_000);
});

describe("without a schema", () => {
  const post = (path: string, body: string) =>
    gateway.once(request(`POST ${path}`, ["Content-Type: application/json"], body));

  test("the merged fields go as JSON, and the answer comes back as it is", async () => {
    const reply = await post(
      "/json/4%2F2?user.name=q&tag=a&tag=b&x=query&__proto__.p=1",
      '{"x":"body","n":1.5,"user":{"id":"b","age":3}}',
    );
    expect([reply.status, reply.text]).toEqual([200, '{"id":"from-json","big":12345678901234567890}']);
    expect(plain.seen.at(-1)).toEqual({
      path: "/shop.Shop/Any",
      type: "application/grpc+json",
      body: JSON.parse(
        '{"x":"body","n":1.5,"user":{"id":"4/2","age":3,"name":"q"},"tag":["a","b"],"__proto__":{"p":"1"}}',
      ),
    });
  });

  test("several messages are a list, none is {}, and what is no JSON is 502", async () => {
    plain.answers = ['{"a":1}', '{"a":2}'];
    expect((await post("/json/1", "{}")).text).toBe('[{"a":1},{"a":2}]');
    plain.answers = [];
    expect((await post("/json/1", "{}")).text).toBe("{}");
    plain.answers = ["<html>"];
    expect((await post("/json/1", "{}")).status).toBe(502);
    plain.answers = ['{"ok":true}'];
    expect((await post("/json/1", "[1]")).status).toBe(400);
    expect((await post("/json/1", "{}")).text).toBe('{"ok":true}');
  });

  test("a record is one line, however the upstream writes its JSON", async () => {
    plain.answers = ['{\n  "a": 1,\r\n\r\n  "b": "x\\ny"\n}', "{\n}"];
    const records = async (accept: string) => {
      const lines = ["Content-Type: application/json", `Accept: ${accept}`];
      return (await gateway.once(request("POST /json/1", lines, "{}"))).text;
    };
    const [first, second] = ['{   "a": 1,   "b": "x\\ny" }', "{ }"];
    expect(await records("application/x-ndjson")).toBe(`${first}\n${second}\n`);
    expect(await records("text/event-stream")).toBe(`data: ${first}\n\ndata: ${second}\n\n`);
    plain.answers = ['{"ok":true}'];
  });

  test("a server that answers everything alike has no reflection either", async () => {
    expect((await post("/dumb/7", '{"a":1}')).status).toBe(200);
    expect(dumb.seen).toEqual([{ path: "/shop.Shop/Any", type: "application/grpc+json", body: { a: 1, id: "7" } }]);
    for (const [code, status] of [
      ["5", 404],
      ["16", 401],
      ["12", 501],
    ] as const) {
      dumb.status = code;
      dumb.answers = [];
      expect((await post("/dumb/7", "{}")).status).toBe(status);
    }
  });
});
