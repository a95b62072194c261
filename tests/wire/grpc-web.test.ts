import { afterAll, describe, expect, test } from "bun:test";
import { type DescMethod, fromJson, type Message, toBinary, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { eventually } from "../harness/eventually.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { CHAT, GrpcChat } from "../harness/grpc-chat.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { request } from "../harness/raw-client.ts";
import {
  END_HEADERS,
  END_STREAM,
  GRPC_HEAD,
  grpcFrame,
  HEADERS,
  h2Fields,
  h2Frame,
  type RawCall,
  RawGrpcServer,
} from "../harness/raw-grpc-server.ts";
import { stopAll } from "../harness/teardown.ts";

// gRPC-Web before gRPC's own implementation for Node; the client is connect-web's, and frames by hand.

const chat = await GrpcChat.start();
let act: (call: RawCall) => void = () => {};
const scripted = await RawGrpcServer.start((call) => act(call));
const h2c = (url: string) => ({ url: url.replace("http:", "h2c:") });
const web = { strip_prefix: false, grpc_web: true };
const routes = [
  upstream("/chat.Chat", h2c(chat.url), { ...web, timeouts: { total: "5s" } }),
  upstream("/raw", h2c(scripted.url), { ...web, timeouts: { idle: "300ms" } }),
  upstream("/untouched", h2c(scripted.url), { strip_prefix: false }),
];
const cors = { enabled: true, allowed_origins: ["https://app.test"], allowed_headers: ["Content-Type", "X-Grpc-Web"] };
const gateway = await startGateway({ config: { server: { cors } }, routes });
const guarded = await startGateway({ config: { server: { waf: { enabled: true, mode: "enforce" } } }, routes });
afterAll(() => stopAll(gateway, guarded, chat, scripted));

const service = CHAT.registry.getService("chat.Chat")!;
const methodOf = (name: string): DescMethod => service.methods.find((one) => one.name === name)!;
const message = (name: string, json: object): Message => fromJson(methodOf(name).input, json as never);
const jsonOf = (name: string, reply: Message) => toJson(methodOf(name).output, reply);

async function say(transport: Transport, json: object): Promise<unknown> {
  const reply = await transport.unary(
    methodOf("Say") as never,
    undefined,
    undefined,
    undefined,
    message("Say", json) as never,
  );
  return jsonOf("Say", reply.message as Message);
}

async function tell(transport: Transport, json: object, options: { signal?: AbortSignal; timeoutMs?: number } = {}) {
  const messages = (async function* () {
    yield message("Tell", json);
  })();
  return transport.stream(
    methodOf("Tell") as never,
    options.signal,
    options.timeoutMs,
    { "x-token": "t" },
    messages as never,
  );
}

async function caught(work: Promise<unknown>): Promise<ConnectError> {
  const error = await work.then(
    () => new Error("it went well"),
    (e: unknown) => e,
  );
  return ConnectError.from(error);
}

describe.each([
  ["without a firewall", gateway],
  ["with a firewall", guarded],
] as const)("connect-web %s", (_, { port }) => {
  const transport = createGrpcWebTransport({ baseUrl: `http://127.0.0.1:${port}` });

  test("one message each way", async () => {
    expect(await say(transport, { text: "héllo", number: "7" })).toEqual({ text: "héllo", number: "7" });
    const blob = Buffer.alloc(500_000, 3).toString("base64");
    expect(await say(transport, { blob })).toEqual({ blob });
  });

  test("a failure before the first message", async () => {
    const error = await caught(say(transport, { text: "fail" }));
    expect([error.code, error.rawMessage, error.metadata.get("x-why")]).toEqual([9, "no, ü", "because"]);
  });

  test("a stream, its metadata, and its failure after messages", async () => {
    const reply = await tell(transport, { count: 3, code: 5, message: "no more" });
    const numbers: unknown[] = [];
    const error = await caught(
      (async () => {
        for await (const line of reply.message) numbers.push(jsonOf("Tell", line as Message));
      })(),
    );
    expect(numbers).toEqual([{ number: "1" }, { number: "2" }, { number: "3" }]);
    expect([reply.header.get("x-room"), error.code, error.rawMessage]).toEqual(["open", Code.NotFound, "no more"]);
    expect(chat.last.metadata["x-token"]).toBe("t");
  });

  test("messages leave as they come, and a page that leaves cancels the call", async () => {
    const leave = new AbortController();
    const reply = await tell(transport, { endless: true }, { signal: leave.signal });
    let count = 0;
    const error = await caught(
      (async () => {
        for await (const _line of reply.message) if (++count === 3) leave.abort();
      })(),
    );
    expect([error.code, count]).toEqual([Code.Canceled, 3]);
    await eventually(() => expect(chat.last.isCancelled).toBe(true));
  });

  test("deadlines reach the server", async () => {
    const reply = await tell(transport, { endless: true }, { timeoutMs: 300 });
    const error = await caught(
      (async () => {
        for await (const _line of reply.message);
      })(),
    );
    expect(error.code).toBe(Code.DeadlineExceeded);
    await eventually(() => expect(chat.last.isCancelled).toBe(true));
  });
});

const line = (json: object): Buffer => grpcFrame(toBinary(methodOf("Say").input, message("Say", json)));
const TEXT = ["Content-Type: application/grpc-web-text"];

/** The messages and trailers of a body. */
function framesOf(body: Buffer): { messages: Buffer[]; trailers: string } {
  const messages: Buffer[] = [];
  let trailers = "";
  for (let at = 0; at < body.length; ) {
    const content = body.subarray(at + 5, at + 5 + body.readUInt32BE(at + 1));
    if (body[at] === 0x80) trailers = content.toString();
    else messages.push(content);
    at += 5 + content.length;
  }
  return { messages, trailers };
}

/** A body in base64, of which each piece is padded by itself. */
function decoded(text: string): Buffer {
  return Buffer.concat((text.match(/[^=]+={0,2}/g) ?? []).map((part) => Buffer.from(part, "base64")));
}

describe("the text form", () => {
  test.each([
    ["in one piece", (bytes: Buffer) => bytes.toString("base64")],
    [
      "of pieces that are padded each",
      (bytes: Buffer) => bytes.subarray(0, 4).toString("base64") + bytes.subarray(4).toString("base64"),
    ],
  ] as const)("%s", async (_, encode) => {
    const frame = line({ text: "abc", number: "5" });
    for (const one of [gateway, guarded]) {
      const reply = await one.once(request("POST /chat.Chat/Say", TEXT, encode(frame)));
      expect([reply.status, reply.fields.get("content-type")]).toEqual([200, "application/grpc-web-text+proto"]);
      const { messages, trailers } = framesOf(decoded(reply.text));
      expect([messages, trailers]).toEqual([[frame.subarray(5)], "grpc-status: 0\r\ngrpc-message: OK\r\n"]);
    }
  });

  test("a body of many frames, over HTTP/2", async () => {
    const frame = line({ blob: Buffer.alloc(30_000, 9).toString("base64") });
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(
      head("POST", "/chat.Chat/Say", [["content-type", "application/grpc-web-text+proto"]]),
      false,
    );
    const text = frame.toString("base64");
    for (let at = 0; at < text.length; at += 9999) client.data(id, text.slice(at, at + 9999));
    client.data(id, "", true);
    const reply = await client.reply(id);
    expect(framesOf(decoded(reply.text)).messages[0]!.equals(frame.subarray(5))).toBe(true);
    client.close();
  });

  test("each may ask for the other's form of a response", async () => {
    const frame = line({ text: "a" });
    const accept = ["Accept: application/grpc-web+proto"];
    const binary = await gateway.once(request("POST /chat.Chat/Say", [...TEXT, ...accept], frame.toString("base64")));
    expect(framesOf(binary.body).messages).toEqual([frame.subarray(5)]);
    const lines = ["Content-Type: application/grpc-web+proto", "Accept: application/grpc-web-text"];
    const text = await gateway.once(request("POST /chat.Chat/Say", lines, frame));
    expect(framesOf(decoded(text.text)).messages).toEqual([frame.subarray(5)]);
  });

  test.each(["AAA", "A===", "AA==A", "A A=", "%%%%"])("what is no base64 is refused: %s", async (body) => {
    expect((await gateway.once(request("POST /chat.Chat/Say", TEXT, body))).status).toBe(400);
  });
});

const BINARY = ["Content-Type: application/grpc-web+proto"];
const call = () => gateway.once(request("POST /raw/call", BINARY, line({ text: "a" })));

describe("responses", () => {
  test("of a head alone have their status in the body, where a page can read it", async () => {
    act = (one) => one.head({ ...GRPC_HEAD, "grpc-status": "7", "grpc-message": "no", "x-more": "m" }, 5);
    const reply = await call();
    expect([reply.status, reply.fields.get("grpc-status"), reply.fields.get("x-more")]).toEqual([200, null, "m"]);
    expect(framesOf(reply.body)).toEqual({ messages: [], trailers: "grpc-status: 7\r\ngrpc-message: no\r\n" });
  });

  test.each([
    ["before", { "grpc-status": "5", "grpc-message": "no", "content-type": "application/grpc", "x-next": "kept" }],
    ["after", { "content-type": "application/grpc", "grpc-status": "5", "grpc-message": "no", "x-next": "kept" }],
    ["around", { "grpc-status": "5", "content-type": "application/grpc", "x-next": "kept", "grpc-message": "no" }],
  ])("of a head alone keep their fields with the status %s the type", async (_, fields) => {
    act = (one) => one.head({ ":status": "200", ...fields, "x-last": "l" }, 5);
    const reply = await call();
    const all = ["content-type", "x-next", "x-last", "grpc-status"].map((name) => reply.fields.get(name));
    expect(all).toEqual(["application/grpc-web+proto", "kept", "l", null]);
    expect(framesOf(reply.body).trailers).toBe("grpc-status: 5\r\ngrpc-message: no\r\n");
  });

  test("with two statuses have one: that of the trailers, and of two there the first", async () => {
    act = (one) => {
      one.head({ ...GRPC_HEAD, "grpc-status": "0", "grpc-message": "head" });
      one.data(grpcFrame("x"));
      one.trailers({ "x-a": "1", "grpc-status": "5", "grpc-message": "trailers" });
    };
    expect(framesOf((await call()).body).trailers).toBe("x-a: 1\r\ngrpc-status: 5\r\ngrpc-message: trailers\r\n");
    act = (one) => {
      const fields = { "grpc-status": "5", "grpc-message": "first" };
      const two = Buffer.concat([h2Fields(fields), h2Fields({ "grpc-status": "0", "x-a": "1" })]);
      one.head();
      one.data(grpcFrame("x"));
      one.socket.write(h2Frame(HEADERS, END_HEADERS | END_STREAM, one.stream, two));
    };
    expect(framesOf((await call()).body).trailers).toBe("grpc-status: 5\r\ngrpc-message: first\r\nx-a: 1\r\n");
  });

  test("without a status get one", async () => {
    act = (one) => {
      one.head();
      one.data(grpcFrame("x"), 1);
    };
    expect(framesOf((await call()).body).trailers).toStartWith("grpc-status: 2\r\n");
  });

  test("that break off between messages say so, within one they are cut", async () => {
    act = (one) => {
      one.head();
      one.data(grpcFrame("x"));
    };
    const silent = framesOf((await call()).body);
    expect([silent.messages.length, silent.trailers]).toEqual([
      1,
      "grpc-status: 4\r\ngrpc-message: upstream_timeout\r\n",
    ]);
    act = (one) => {
      one.head();
      one.data(grpcFrame("xyz", 9));
    };
    expect(call()).rejects.toThrow();
    act = (one) => {
      one.head();
      one.data(grpcFrame("x"));
      setTimeout(() => one.socket.destroy(), 50);
    };
    expect(framesOf((await call()).body).trailers).toStartWith("grpc-status: 14\r\n");
  });

  test("that are none of gRPC come as they are", async () => {
    act = (one) => {
      one.head({ ":status": "404", "content-type": "text/plain" });
      one.data(Buffer.from("gone"), 1);
    };
    const reply = await call();
    expect([reply.status, reply.fields.get("content-type"), reply.text]).toEqual([404, "text/plain", "gone"]);
  });

  test("carry CORS, and preflights are answered", async () => {
    const origin = "Origin: https://app.test";
    const preflight = await gateway.once(
      request("OPTIONS /chat.Chat/Say", [
        origin,
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: x-grpc-web",
      ]),
    );
    expect(preflight.fields.get("access-control-allow-headers")).toContain("X-Grpc-Web");
    const reply = await gateway.once(request("POST /chat.Chat/Say", [...BINARY, origin], line({ text: "a" })));
    expect(reply.fields.get("access-control-allow-origin")).toBe("https://app.test");
  });
});

test("a route that does not ask for it passes gRPC-Web on as it is, and one that does passes on gRPC", async () => {
  const seen: string[] = [];
  act = (one) => {
    seen.push("called");
    one.head({ ":status": "200", "content-type": "application/grpc-web" });
    one.data(Buffer.from("as it is"), 1);
  };
  const reply = await gateway.once(request("POST /untouched/call", BINARY, line({ text: "a" })));
  expect([seen, reply.fields.get("content-type"), reply.text]).toEqual([
    ["called"],
    "application/grpc-web",
    "as it is",
  ]);
  const client = await H2Client.connect(gateway.port);
  const plain = await client.request(
    head("POST", "/chat.Chat/Say", [
      ["content-type", "application/grpc"],
      ["te", "trailers"],
    ]),
    line({ text: "a" }),
  );
  expect([plain.fields.get("content-type"), plain.trailers.get("grpc-status")]).toEqual([
    "application/grpc+proto",
    "0",
  ]);
  client.close();
});

test("attacks in messages are found, in both forms", async () => {
  const attack = line({ text: "' UNION SELECT password FROM users--" });
  expect((await guarded.once(request("POST /chat.Chat/Say", BINARY, attack))).status).toBe(403);
  expect((await guarded.once(request("POST /chat.Chat/Say", TEXT, attack.toString("base64")))).status).toBe(403);
});

test("targets must speak HTTP/2", async () => {
  const run = await runEdge(["check"], {
    routes: [upstream("/", { url: "http://127.0.0.1:9" }, { grpc_web: true })],
  } as never);
  expect(run.code).not.toBe(0);
  expect(run.stderr + run.stdout).toContain("grpc_web: needs targets that speak gRPC, by HTTP/2");
});
