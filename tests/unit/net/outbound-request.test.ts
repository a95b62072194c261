import { afterAll, describe, expect, test } from "bun:test";
import { outboundRequest } from "../../../src/net/outbound-request.ts";

/** Sends what it is given, then does no more. */
function serve(text: string, then: "close" | "wait"): { readonly url: string; stop(): void } {
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        socket.write(text);
        if (then === "close") socket.end();
      },
    },
  });
  return { url: `http://127.0.0.1:${server.port}/x`, stop: () => server.stop(true) };
}

const servers: { stop(): void }[] = [];
afterAll(() => {
  for (const server of servers) server.stop();
});

function get(text: string, then: "close" | "wait" = "close", timeoutMs = 20_000) {
  const server = serve(text, then);
  servers.push(server);
  return outboundRequest({ url: server.url, headers: {}, ca: "", timeoutMs, maxBytes: 10, isDirect: true });
}

describe("a fetched document", () => {
  test("comes whole", async () => {
    const { status, body, headers } = await get('HTTP/1.1 200 OK\r\nETag: "x"\r\nContent-Length: 3\r\n\r\nabc');
    expect([status, Buffer.from(body).toString(), headers.get("etag")]).toEqual([200, "abc", '"x"']);
  });

  test.each([
    ["with a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"],
    ["in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"],
  ])("is none where it is cut off (%s)", async (_name, text) => {
    await expect(get(text)).rejects.toThrow("ECONNRESET: the connection was closed before the response was whole");
  });

  test.each([
    ["nothing", ""],
    ["a part of its head", "HTTP/1.1 200 OK\r\n"],
    ["a part of its body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"],
  ])("is none where %s comes in time", async (_name, text) => {
    await expect(get(text, "wait", 100)).rejects.toThrow("no whole response within 0.1 s");
  });

  test("is none where nothing listens: the reason has no advice for programs", async () => {
    const server = serve("", "close");
    server.stop();
    const asked = { headers: {}, ca: "", timeoutMs: 20_000, maxBytes: 10, isDirect: true };
    await expect(outboundRequest({ url: server.url, ...asked })).rejects.toThrow(/^ECONNREFUSED: connection refused$/);
  });

  test("is none where it is too long, or compressed", async () => {
    await expect(get("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n01234567890")).rejects.toThrow("more than 10 bytes");
    await expect(get("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx")).rejects.toThrow(
      "compressed",
    );
  });

  test("of another status has no body, and redirects are not followed", async () => {
    const { status, body } = await get(
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 1\r\n\r\nx",
    );
    expect([status, body.length]).toEqual([302, 0]);
  });
});
