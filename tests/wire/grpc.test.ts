import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type requestCallback,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { method, same } from "../harness/grpc-echo.ts";

// gRPC through the gateway: gRPC's own implementation for Node at both ends.

let server: Server;
let gateway: Gateway;
let client: Client;

beforeAll(async () => {
  server = new Server({ "grpc.max_receive_message_length": -1 });
  server.addService(
    { Unary: method("Unary", false), Fail: method("Fail", false), Chat: method("Chat", true) } as never,
    {
      Unary: (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => reply(null, call.request),
      Fail: (_call: unknown, reply: sendUnaryData<Buffer>) => {
        const metadata = new Metadata();
        metadata.set("x-detail", "gone");
        reply({ code: status.NOT_FOUND, details: "no such thing", metadata });
      },
      Chat: (call: ServerDuplexStream<Buffer, Buffer>) => {
        call.on("data", (message: Buffer) => call.write(message));
        call.on("end", () => call.end());
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    const done = (error: Error | null, bound: number): void => (error === null ? resolve(bound) : reject(error));
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), done);
  });
  gateway = await startGateway({
    routes: [upstream("/test.Echo", { url: `h2c://127.0.0.1:${port}` }, { strip_prefix: false })],
  });
  client = new Client(`127.0.0.1:${gateway.port}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  });
});
afterAll(async () => {
  client.close();
  await gateway.stop();
  server.forceShutdown();
});

function unary(name: string, message: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done: requestCallback<Buffer> = (error, reply) => (error === null ? resolve(reply!) : reject(error));
    client.makeUnaryRequest(`/test.Echo/${name}`, same, same, message, done);
  });
}

describe("gRPC", () => {
  test("unary calls, small and of 3 MB", async () => {
    expect((await unary("Unary", Buffer.from("hello"))).toString()).toBe("hello");
    const large = Buffer.alloc(3_000_000, "large");
    expect((await unary("Unary", large)).equals(large)).toBe(true);
  });

  test("statuses, their messages and their metadata", async () => {
    const error = (await unary("Fail", Buffer.from("x")).catch((e) => e)) as {
      code: number;
      details: string;
      metadata: Metadata;
    };
    expect([error.code, error.details, error.metadata.get("x-detail")]).toEqual([
      status.NOT_FOUND,
      "no such thing",
      ["gone"],
    ]);
  });

  test("a hundred calls at once", async () => {
    const texts = Array.from({ length: 100 }, (_, i) => `call ${i}`);
    const replies = await Promise.all(texts.map((text) => unary("Unary", Buffer.from(text))));
    expect(replies.map(String)).toEqual(texts);
  });

  test("a stream both ways, message by message", async () => {
    const call: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest("/test.Echo/Chat", same, same);
    const heard: string[] = [];
    const ended = new Promise<number>((resolve) => call.on("status", ({ code }) => resolve(code)));
    const turns = new Promise<void>((resolve) => {
      call.on("data", (message: Buffer) => {
        heard.push(message.toString());
        if (heard.length < 20) call.write(Buffer.from(`turn ${heard.length}`));
        else resolve();
      });
    });
    call.write(Buffer.from("turn 0"));
    await turns;
    call.end();
    expect(await ended).toBe(status.OK);
    expect(heard).toEqual(Array.from({ length: 20 }, (_, i) => `turn ${i}`));
  });

  test("a deadline ends the call at both ends", async () => {
    const call = client.makeBidiStreamRequest("/test.Echo/Chat", same, same, { deadline: Date.now() + 200 });
    const code = await new Promise<number>((resolve) => {
      call.on("status", ({ code }) => resolve(code));
      call.on("error", () => {});
    });
    expect(code).toBe(status.DEADLINE_EXCEEDED);
    expect((await unary("Unary", Buffer.from("again"))).toString()).toBe("again");
  });
});
