import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { RawClient } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// A head that is refused is still a request: HEAD gets no body, and metrics and log say what was asked.

const gateway = await startGateway();
afterAll(() => stopAll(gateway));

const logged = (path: string) =>
  gateway.log(`the access to ${path}`, (line) => line.event === "access" && line.path === path);

describe("a HEAD whose head is refused gets no body", () => {
  test.each([
    ["400: a NUL in the target", "HEAD /a\0b HTTP/1.1\r\nHost: a\r\n\r\n", 400],
    ["400: a path that is none", "HEAD a b HTTP/1.1\r\nHost: a\r\n\r\n", 400],
    ["400: a space before the colon", "HEAD / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n", 400],
    ["414", `HEAD /${"a".repeat(9000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414],
    ["431", `HEAD / HTTP/1.1\r\nHost: a\r\nA: ${"a".repeat(9000)}\r\n\r\n`, 431],
    ["505", "HEAD / HTTP/3.0\r\nHost: a\r\n\r\n", 505],
  ])("over HTTP/1.1, %s", async (_, bytes, status) => {
    const client = await RawClient.connect(gateway.port);
    client.send(Buffer.from(bytes, "latin1"));
    const reply = await client.reply("HEAD");
    expect([reply.status, Number(reply.fields.get("content-length")) > 0]).toEqual([status, true]);
    expect((await client.takeRest()).toString("latin1")).toBe("");
    client.close();
  });

  test.each([
    ["400: a field about the connection", ["transfer-encoding", "chunked"], 400],
    ["400: a control character", ["x-a", "a\nb"], 400],
    ["431", ["x-a", "a".repeat(9000)], 431],
  ] as const)("over HTTP/2, %s", async (_, field, status) => {
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head("HEAD", "/head-of-http2?q", [field]));
    expect([reply.status, reply.text]).toEqual([status, ""]);
    client.close();
  });
});

describe("what was asked is known", () => {
  test("over HTTP/2", async () => {
    const client = await H2Client.connect(gateway.port);
    await client.request(head("POST", "/told/of?q=1", [["connection", "x"]]), "body");
    client.close();
    expect(await logged("/told/of")).toMatchObject({ method: "POST", status: 400, protocol: "HTTP/2.0" });
    expect((await logged("/told/of")).host).toBeString();
  });

  test("over HTTP/1.1", async () => {
    await gateway.once("PUT /told/too?q=1 HTTP/9.1\r\nHost: a\r\n\r\n");
    expect(await logged("/told/too")).toMatchObject({ method: "PUT", status: 505 });
    const count = async () => {
      return gateway.metric("gateway_requests_total", { method: "PUT", code: "505", path: "unmatched" });
    };
    await eventually(async () => expect(await count()).toBe(1));
  });
});
