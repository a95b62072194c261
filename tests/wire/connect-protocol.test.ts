import { afterAll, describe, expect, test } from "bun:test";
import { createServer as createH1 } from "node:http";
import { createServer as createH2 } from "node:http2";
import { create, type DescMethod, fromJson, type Message, toBinary, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { compressionGzip, connectNodeAdapter, createConnectTransport } from "@connectrpc/connect-node";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { CHAT, type Line } from "../harness/grpc-chat.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// The Connect protocol through ordinary routes: connect-node at both ends, over HTTP/1.1 and HTTP/2.

const service = CHAT.registry.getService("chat.Chat")!;
const line = CHAT.registry.getMessage("chat.Line")!;
const summary = CHAT.registry.getMessage("chat.Summary")!;
const methodOf = (name: string): DescMethod => service.methods.find((one) => one.name === name)!;

interface Seen {
  readonly header: Headers;
  readonly timeoutMs: number | undefined;
  readonly method: string;
}
interface Context {
  readonly requestHeader: Headers;
  readonly responseHeader: Headers;
  readonly responseTrailer: Headers;
  readonly requestMethod: string;
  readonly signal: AbortSignal;
  timeoutMs(): number | undefined;
}
const seen: Seen[] = [];
let aborted = 0;

const note = (context: Context): void => {
  seen.push({ header: context.requestHeader, timeoutMs: context.timeoutMs(), method: context.requestMethod });
  context.responseHeader.set("x-head", "h");
  context.responseTrailer.set("x-trailer", "t");
  context.signal.addEventListener("abort", () => aborted++);
};
const adapter = connectNodeAdapter({
  routes: (router) => {
    router.service(service, {
      say: (message: Line, context: Context) => {
        note(context);
        if (message.text === "fail") throw new ConnectError("no, ü", Code.FailedPrecondition, { "x-why": "because" });
        return message as never;
      },
      async gather(lines: AsyncIterable<Line>, context: Context) {
        note(context);
        let count = 0;
        for await (const _line of lines) count++;
        return create(summary, { lines: count } as never) as never;
      },
      async *talk(lines: AsyncIterable<Line>, context: Context) {
        note(context);
        for await (const one of lines) {
          if (one.text === "fail") throw new ConnectError("no, ü", Code.FailedPrecondition);
          yield one as never;
        }
      },
      async *tell(order: { count: number; endless: boolean }, context: Context) {
        note(context);
        for (let i = 1; (order.endless || i <= order.count) && !context.signal.aborted; i++) {
          yield create(line, { number: BigInt(i) } as never) as never;
          if (order.endless) await Bun.sleep(5);
        }
      },
    } as never);
  },
});
const h1 = createH1(adapter as never);
const h2 = createH2(adapter as never);
const portOf = (server: { address(): unknown }): number => (server.address() as { port: number }).port;
await Promise.all([h1, h2].map((one) => new Promise<void>((resolve) => one.listen(0, "127.0.0.1", resolve))));
const routes = [
  upstream("/one", { url: `http://127.0.0.1:${portOf(h1)}` }),
  upstream("/two", { url: `h2c://127.0.0.1:${portOf(h2)}` }),
];
const waf = { enabled: true, mode: "enforce" };
const gateway = await startGateway({ config: { server: { waf } }, routes });
afterAll(() => stopAll(gateway, { stop: () => void h1.close() }, { stop: () => void h2.close() }));

type Options = Partial<Parameters<typeof createConnectTransport>[0]>;
const transportOf = (httpVersion: "1.1" | "2", path: string, more: Options = {}): Transport =>
  createConnectTransport({ httpVersion, baseUrl: `http://127.0.0.1:${gateway.port}${path}`, ...more } as never);

const message = (name: string, json: object): Message => fromJson(methodOf(name).input, json as never);
const jsonOf = (name: string, reply: unknown) => toJson(methodOf(name).output, reply as Message);

async function say(transport: Transport, json: object, timeoutMs?: number) {
  const method = methodOf("Say") as never;
  const reply = await transport.unary(method, undefined, timeoutMs, { "x-token": "t" }, message("Say", json) as never);
  return { message: jsonOf("Say", reply.message), header: reply.header, trailer: reply.trailer };
}

/** Calls a method with these messages, each sent when it is asked for. */
function stream(transport: Transport, name: string, input: AsyncIterable<Message>, signal?: AbortSignal) {
  return transport.stream(methodOf(name) as never, signal, undefined, undefined, input as never);
}

async function* each(name: string, ...values: object[]) {
  for (const value of values) yield message(name, value);
}

async function caught(work: Promise<unknown>): Promise<ConnectError> {
  return ConnectError.from(
    await work.then(
      () => new Error("it went well"),
      (e: unknown) => e,
    ),
  );
}

async function all(name: string, replies: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const one of replies) found.push(jsonOf(name, one));
  return found;
}

const GZIP = { acceptCompression: [compressionGzip], sendCompression: compressionGzip, compressMinBytes: 10 };
const WAYS = [
  ["1.1", "/one"],
  ["1.1", "/two"],
  ["2", "/one"],
  ["2", "/two"],
] as const;

describe.each(WAYS)("HTTP/%s to %s", (version, path) => {
  test.each([
    ["proto", {}],
    ["json", { useBinaryFormat: false }],
    ["compressed", GZIP],
    ["GET", { useHttpGet: true }],
  ] as const)("unary: %s", async (_, options) => {
    const transport = transportOf(version, path, options as Options);
    const text = "a text that is worth its compression ".repeat(20);
    const { message: reply, header, trailer } = await say(transport, { text, number: "9007199254740993" }, 20_000);
    expect(reply).toEqual({ text, number: "9007199254740993" });
    expect([header.get("x-head"), trailer.get("x-trailer")]).toEqual(["h", "t"]);
    const { header: sent, timeoutMs } = seen.at(-1)!;
    expect([sent.get("x-token"), (timeoutMs ?? 0) > 10_000]).toEqual(["t", true]);
    const error = await caught(say(transport, { text: "fail" }));
    expect([error.code, error.rawMessage, error.metadata.get("x-why")]).toEqual([9, "no, ü", "because"]);
  });

  test.each([
    ["proto", {}],
    ["json", { useBinaryFormat: false }],
    ["compressed", GZIP],
  ] as const)("streams: %s", async (_, options) => {
    const transport = transportOf(version, path, options as Options);
    const told = await stream(transport, "Tell", each("Tell", { count: 3 }));
    expect(await all("Tell", told.message)).toEqual([{ number: "1" }, { number: "2" }, { number: "3" }]);
    expect([told.header.get("x-head"), told.trailer.get("x-trailer")]).toEqual(["h", "t"]);
    const text = "a text that is worth its compression";
    const gathered = await stream(transport, "Gather", each("Gather", { text }, { text }, { text: "c" }));
    expect(await all("Gather", gathered.message)).toEqual([{ lines: 3 }]);
  });

  test("a client that leaves cancels the call", async () => {
    const leave = new AbortController();
    const before = aborted;
    const told = await stream(transportOf(version, path), "Tell", each("Tell", { endless: true }), leave.signal);
    let count = 0;
    await caught(
      (async () => {
        for await (const _line of told.message) if (++count === 3) leave.abort();
      })(),
    );
    await eventually(() => expect(aborted).toBeGreaterThan(before));
  });
});

test("both directions at once, by turns, over HTTP/2 to HTTP/2", async () => {
  const transport = transportOf("2", "/two");
  const turns = [Promise.withResolvers<object>(), Promise.withResolvers<object>(), Promise.withResolvers<object>()];
  const input = (async function* () {
    for (const turn of turns) yield message("Talk", await turn.promise);
  })();
  turns[0]!.resolve({ text: "1" });
  const reply = await stream(transport, "Talk", input);
  const got: unknown[] = [];
  const error = await caught(
    (async () => {
      for await (const one of reply.message) {
        got.push(jsonOf("Talk", one));
        turns[got.length]!.resolve({ text: got.length === 2 ? "fail" : "2" });
      }
    })(),
  );
  expect([got, error.code]).toEqual([[{ text: "1" }, { text: "2" }], Code.FailedPrecondition]);
});

test("frames pass byte for byte, the end of the stream among them", async () => {
  const envelope = (bytes: Uint8Array): Buffer => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([head, bytes]);
  };
  const body = envelope(toBinary(methodOf("Tell").input, message("Tell", { count: 2 })));
  const lines = ["Content-Type: application/connect+proto", "Connect-Protocol-Version: 1"];
  const direct = await fetch(`http://127.0.0.1:${portOf(h1)}/chat.Chat/Tell`, {
    method: "POST",
    headers: { "content-type": "application/connect+proto", "connect-protocol-version": "1" },
    body,
  });
  const reply = await gateway.once(request("POST /one/chat.Chat/Tell", lines, body));
  expect(reply.body.equals(Buffer.from(await direct.arrayBuffer()))).toBe(true);
  expect(reply.fields.get("content-type")).toBe("application/connect+proto");
});

describe("the firewall", () => {
  test.each(WAYS)("finds nothing in harmless messages with bytes of any kind: HTTP/%s to %s", async (version, path) => {
    const transport = transportOf(version, path);
    for (let i = 0; i < 40; i++) {
      const blob = Buffer.from(Array.from({ length: 2000 }, (_, k) => (k * k * 31 + i * 97 + (k >> 3)) & 255));
      expect((await say(transport, { text: "a picture", blob: blob.toString("base64") })).message).toBeDefined();
    }
    const lines = Array.from({ length: 20 }, (_, k) => ({ blob: Buffer.alloc(500, k * 13).toString("base64") }));
    const gathered = await stream(transport, "Gather", each("Gather", ...lines));
    expect(await all("Gather", gathered.message)).toEqual([{ lines: 20 }]);
  });

  test.each([
    ["proto", {}],
    ["json", { useBinaryFormat: false }],
    ["compressed", GZIP],
    ["GET", { useHttpGet: true }],
  ] as const)("finds attacks: %s", async (_, options) => {
    const attack = { text: "' UNION SELECT password FROM users--" };
    for (const [version, path] of WAYS) {
      const transport = transportOf(version, path, options as Options);
      expect((await caught(say(transport, attack))).code).toBe(Code.PermissionDenied);
      if (_ === "GET") continue;
      const error = await caught(
        (async () => all("Gather", (await stream(transport, "Gather", each("Gather", attack))).message))(),
      );
      expect(error.rawMessage).not.toBe("it went well");
    }
  });
});
