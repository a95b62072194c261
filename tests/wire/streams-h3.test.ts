// Streams of the transcoder and gRPC-Web over HTTP/3.
import { afterAll, expect, test } from "bun:test";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { CHAT, CHAT_FILE, GrpcChat } from "../harness/grpc-chat.ts";
import { H3Client } from "../harness/h3-client.ts";
import { grpcFrame } from "../harness/raw-grpc-server.ts";
import { stopAll } from "../harness/teardown.ts";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const chat = await GrpcChat.start();
const talk = {
  http_method: "POST",
  http_path: "/talk",
  grpc_method: "/chat.Chat/Talk",
  upstream_url: chat.url,
  descriptor_set: CHAT_FILE,
};
const gateway = await startGateway({
  config: {
    server: {
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      waf: { enabled: true, mode: "enforce" },
    },
    transcoder: { enabled: true, routes: [talk] },
  },
  routes: [upstream("/chat.Chat", { url: chat.url.replace("http:", "h2c:") }, { strip_prefix: false, grpc_web: true })],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(() => stopAll(gateway, chat));

const NDJSON = { "content-type": "application/x-ndjson", accept: "application/x-ndjson" };

test("both sides speak by turns, and a client that gives up cancels the call", async () => {
  const client = await H3Client.connect(port);
  const turns = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let heard = 0;
  async function* pieces() {
    yield Buffer.from('{"text":"one"}\n');
    await turns[0]!.promise;
    yield Buffer.from('{"text":"two"}\n');
    await turns[1]!.promise;
  }
  const reply = await client.ask("POST", "/talk", NDJSON, {
    pieces: pieces(),
    onPiece: () => turns[heard++]?.resolve(),
  });
  expect([reply.status, reply.body.toString()]).toEqual([200, '{"text":"one"}\n{"text":"two"}\n']);
  const abandoned = async function* () {
    yield Buffer.from('{"text":"deaf"}\n');
    await eventually(() => expect(chat.last.lines.length).toBe(1));
  };
  const calls = chat.calls.length;
  await client.ask("POST", "/talk", NDJSON, { pieces: abandoned(), abandons: true }).catch(() => {});
  expect(chat.calls.length).toBe(calls + 1);
  await eventually(() => expect(chat.last.isCancelled).toBe(true));
  client.close();
});

test("gRPC-Web in both forms", async () => {
  const { input } = CHAT.registry.getService("chat.Chat")!.methods.find((one) => one.name === "Say")!;
  const frame = grpcFrame(toBinary(input, fromJson(input, { text: "abc" })));
  const client = await H3Client.connect(port);
  for (const form of ["", "-text"]) {
    const sent = form === "" ? frame : Buffer.from(frame.toString("base64"));
    const type = `application/grpc-web${form}+proto`;
    const reply = await client.ask("POST", "/chat.Chat/Say", { "content-type": type }, { pieces: [sent] });
    const parts = reply.body.toString("latin1").match(/[^=]+={0,2}/g) ?? [];
    const body = form === "" ? reply.body : Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
    expect([reply.status, reply.fields["content-type"]]).toEqual([200, type]);
    expect(body.subarray(0, frame.length).equals(frame)).toBe(true);
    expect(body.subarray(frame.length + 5).toString()).toStartWith("grpc-status: 0\r\n");
  }
  client.close();
});
