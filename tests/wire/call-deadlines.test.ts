import { afterAll, describe, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { type Field, H2Client, head, type StreamReply } from "../harness/h2-client.ts";
import { request } from "../harness/raw-client.ts";
import { GRPC_HEAD, grpcFrame, h2Frame, type RawCall, RawGrpcServer, RST_STREAM } from "../harness/raw-grpc-server.ts";
import { stopAll } from "../harness/teardown.ts";

// A deadline that is over is DEADLINE_EXCEEDED to clients of gRPC, gRPC-Web and Connect, whoever notices it: 504 means UNAVAILABLE to them.

const CANCEL = Buffer.from([0, 0, 0, 8]);
const resets = (call: RawCall) => call.socket.write(h2Frame(RST_STREAM, 0, call.stream, CANCEL));
let act: (call: RawCall) => void = () => {};
const server = await RawGrpcServer.start((call) => act(call));
const origin = { url: server.url.replace("http:", "h2c:") };
const breaker = { failure_threshold: 2, open_duration: "60s" };
const gateway = await startGateway({
  routes: [
    upstream("/late", origin, { strip_prefix: false, timeouts: { total: "100ms" } }),
    upstream("/plain", origin, { strip_prefix: false, circuit_breaker: breaker }),
    upstream("/web", origin, { strip_prefix: false, grpc_web: true, timeouts: { total: "5s" } }),
    upstream("/web-late", origin, { strip_prefix: false, grpc_web: true, timeouts: { total: "100ms" } }),
  ],
});
afterAll(() => stopAll(gateway, server));

const type = (name: string): string => `Content-Type: application/${name}`;
const WEB_TRAILERS = "grpc-status: 4\r\ngrpc-message: deadline exceeded\r\n";
const WEB_FRAME = Buffer.concat([Buffer.from([0x80, 0, 0, 0, WEB_TRAILERS.length]), Buffer.from(WEB_TRAILERS)]);
const CONNECT_ERROR = '{"code":"deadline_exceeded","message":"deadline exceeded"}';
const CONNECT_END = `{"error":${CONNECT_ERROR}}`;
const CONNECT_FRAME = Buffer.concat([Buffer.from([2, 0, 0, 0, CONNECT_END.length]), Buffer.from(CONNECT_END)]);

describe("a server that says nothing within timeouts.total", () => {
  test.each([
    ["gRPC-Web", "/web-late/x", [type("grpc-web+proto")], 200, "application/grpc-web+proto", WEB_FRAME],
    ["gRPC-Web that passes", "/late/x", [type("grpc-web")], 200, "application/grpc-web+proto", WEB_FRAME],
    [
      "gRPC-Web as text",
      "/web-late/x",
      [type("grpc-web-text")],
      200,
      "application/grpc-web-text+proto",
      Buffer.from(WEB_FRAME.toString("base64")),
    ],
    [
      "Connect",
      "/late/x",
      [type("json"), "Connect-Protocol-Version: 1"],
      504,
      "application/json",
      Buffer.from(CONNECT_ERROR),
    ],
    ["a stream of Connect", "/late/x", [type("connect+json")], 200, "application/connect+json", CONNECT_FRAME],
  ] as const)("over HTTP/1.1, to %s", async (_, path, lines, status, answered, body) => {
    act = () => {};
    const reply = await gateway.once(request(`POST ${path}`, lines, ""));
    expect([reply.status, reply.fields.get("content-type")]).toEqual([status, answered]);
    expect(reply.body.toString("latin1")).toBe(body.toString("latin1"));
  });

  test("over HTTP/2, to gRPC", async () => {
    act = () => {};
    const { status, fields, text } = await grpc("/late/x");
    const told = [status, fields.get("content-type"), fields.get("grpc-status"), text];
    expect(told).toEqual([200, "application/grpc", "4", ""]);
  });

  test("anything else gets 504, and the log has the fault of all", async () => {
    act = () => {};
    const reply = await gateway.once(request("POST /late/y", ["Content-Type: application/json"], "{}"));
    expect(reply.status).toBe(504);
    const ofCall = await gateway.log("the call", (line) => line.event === "access" && line.path === "/late/x");
    expect(ofCall.fault).toBe("upstream_timeout");
  });
});

describe("a server that resets a call at the deadline of its client", () => {
  const after = (ms: number, first: (call: RawCall) => void = () => {}) => {
    act = (call) => {
      first(call);
      setTimeout(() => resets(call), ms);
    };
  };
  const HALF = "Grpc-Timeout: 50m";

  test("gRPC-Web before the first message, and after one", async () => {
    after(60);
    const early = await gateway.once(request("POST /web/x", [type("grpc-web+proto"), HALF], grpcFrame("a")));
    expect(early.body.equals(WEB_FRAME)).toBe(true);
    after(60, (call) => {
      call.head(GRPC_HEAD);
      call.data(grpcFrame("one"));
    });
    const late = await gateway.once(request("POST /web/x", [type("grpc-web+proto"), HALF], grpcFrame("a")));
    expect(late.body.subarray(8 + 5).toString()).toContain("grpc-status: 4\r\n");
    after(0);
    const soon = await gateway.once(
      request("POST /web/x", [type("grpc-web+proto"), "Grpc-Timeout: 5S"], grpcFrame("a")),
    );
    expect(soon.status).toBe(502);
  });

  test("gRPC, and Connect", async () => {
    after(60);
    expect((await grpc("/plain/x", [["grpc-timeout", "50m"]])).fields.get("grpc-status")).toBe("4");
    const lines = [type("json"), "Connect-Protocol-Version: 1", "Connect-Timeout-Ms: 50"];
    const reply = await gateway.once(request("POST /plain/x", lines, "{}"));
    expect([reply.status, reply.text]).toEqual([504, CONNECT_ERROR]);
  });

  test("no client opens a breaker by deadlines that cannot be kept", async () => {
    after(5);
    for (let i = 0; i < 6; i++)
      expect((await grpc("/plain/x", [["grpc-timeout", "1n"]])).fields.get("grpc-status")).toBe("4");
    act = (call) => {
      call.head(GRPC_HEAD);
      call.trailers({ "grpc-status": "0" });
    };
    expect((await grpc("/plain/x")).trailers.get("grpc-status")).toBe("0");
    expect(await gateway.metric("gateway_circuit_breaker_trips_total")).toBe(0);
  });
});

async function grpc(path: string, more: readonly Field[] = []): Promise<StreamReply> {
  const client = await H2Client.connect(gateway.port);
  const fields: Field[] = [["content-type", "application/grpc"], ["te", "trailers"], ...more];
  const id = client.headers(head("POST", path, fields), false);
  client.data(id, grpcFrame("x"), true);
  const reply = await client.reply(id);
  client.close();
  return reply;
}
