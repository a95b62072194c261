// Peers that mean harm, or are broken: each call ends in its time, with a reason, and takes little memory.
import { afterAll, describe, expect, test } from "bun:test";
import { createSecureServer, createServer, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { threadResolver } from "../../../src/net/name-resolver.ts";
import { schemaOfTable } from "../../../src/proto/grpc/compact-proto.ts";
import { GrpcFailure, type GrpcServer, OutboundGrpc } from "../../../src/upstream/outbound-grpc.ts";
import { makeCertificate } from "../../harness/certificate.ts";

const API = schemaOfTable(
  "lab",
  [],
  { Request: ["name: string = 1"], Response: ["bytes: bytes = 1"] },
  { Lab: ["Watch: lab.Request -> lab.Response[]"] },
);
const WATCH = API.method("/lab.Lab/Watch")!;
const GRPC = { ":status": 200, "content-type": "application/grpc" } as const;
const ONE = Buffer.from([0, 0, 0, 0, 3, 0x0a, 1, 7]);
const names = threadResolver(() => {});
const ends: (() => void)[] = [];
afterAll(() => {
  for (const end of ends) end();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function served(onStream: (stream: ServerHttp2Stream, path: string, fields: object) => void): Promise<number> {
  const server = createServer();
  server.on("session", (session) => {
    session.on("error", () => {});
    ends.push(() => session.destroy());
  });
  server.on("stream", (stream, fields) => {
    stream.on("error", () => {});
    onStream(stream as ServerHttp2Stream, String(fields[":path"]), fields);
  });
  return listening(server as unknown as Server);
}

async function raw(onSocket: (socket: Socket) => void): Promise<number> {
  return listening(
    createTcpServer((socket) => {
      socket.on("error", () => {});
      ends.push(() => socket.destroy());
      onSocket(socket);
    }),
  );
}

function serverAt(port: number, more: Partial<GrpcServer> = {}): GrpcServer {
  return { hostname: "127.0.0.1", port, authority: "lab.test", basePath: "", tls: null, ...more };
}

const BOUNDS = { connectTimeoutMs: 2000, maxMessageBytes: 1 << 20 };

/** All messages of one call, or why there are none. */
async function called(server: GrpcServer, firstMessageMs = 1000): Promise<{ messages: Uint8Array[]; failure: string }> {
  const messages: Uint8Array[] = [];
  let connection: OutboundGrpc | null = null;
  try {
    connection = await OutboundGrpc.open(server, BOUNDS, names);
    for await (const { bytes } of connection.call<{ bytes: Uint8Array }>(WATCH, { name: "x" }, { firstMessageMs }))
      messages.push(bytes);
    return { messages, failure: "" };
  } catch (error) {
    expect(error).toBeInstanceOf(GrpcFailure);
    return { messages, failure: (error as GrpcFailure).message };
  } finally {
    connection?.close();
  }
}

describe("a call", () => {
  test("brings all messages, and says what it is asked to", async () => {
    let seen: Record<string, unknown> = {};
    const port = await served((stream, path, fields) => {
      seen = { ...fields, path };
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.concat([ONE, ONE]));
    });
    const { messages, failure } = await called(serverAt(port, { basePath: "/api" }));
    expect([messages.length, failure]).toEqual([2, ""]);
    expect(seen).toMatchObject({ path: "/api/lab.Lab/Watch", ":authority": "lab.test", te: "trailers" });
  });

  test.each<[string, (stream: ServerHttp2Stream) => void, string]>([
    [
      "a refusal in trailers alone",
      (stream) => stream.respond({ ...GRPC, "grpc-status": "7", "grpc-message": "not%0ayou" }, { endStream: true }),
      "gRPC status 7: not you",
    ],
    [
      "another status of HTTP",
      (stream) => stream.respond({ ":status": 503 }, { endStream: true }),
      "gRPC status 14: HTTP 503",
    ],
    [
      "another type",
      (stream) => {
        stream.respond({ ":status": 200, "content-type": "text/html" });
        stream.end("<html>");
      },
      "gRPC status 2: unsupported content type text/html",
    ],
    [
      "an end without a status",
      (stream) => {
        stream.respond(GRPC);
        stream.end();
      },
      "gRPC status 13: protocol error: missing status",
    ],
    [
      "a message that is none",
      (stream) => {
        stream.respond(GRPC);
        stream.write(Buffer.from([0, 0, 0, 0, 2, 0x0a, 0xff]));
      },
      "gRPC status 13: parse binary: premature EOF",
    ],
    [
      "a compressed message",
      (stream) => {
        stream.respond({ ...GRPC, "grpc-encoding": "gzip" });
        stream.write(Buffer.from([1, 0, 0, 0, 1, 0]));
      },
      'gRPC status 13: unsupported response encoding "gzip"',
    ],
    ["a reset", (stream) => stream.close(8), "the stream was reset"],
    ["nothing", () => {}, "no message within 1 s"],
    ["a head and nothing more", (stream) => stream.respond(GRPC), "no message within 1 s"],
    [
      "a message that drips",
      (stream) => {
        stream.respond(GRPC);
        stream.write(Buffer.from([0, 0, 0, 0, 200]));
        const drip = setInterval(() => stream.write("x"), 20);
        stream.on("close", () => clearInterval(drip));
        ends.push(() => clearInterval(drip));
      },
      "no message within 1 s",
    ],
    ["GOAWAY", (stream) => stream.session!.goaway(0), "no message within 1 s"],
  ])("that gets %s fails", async (_, respond, expected) => {
    const { messages, failure } = await called(serverAt(await served(respond)));
    expect([messages.length, failure]).toEqual([0, expected]);
  });

  test("whose message says that it has 100 MB takes none of them", async () => {
    let sent = 0;
    const port = await served((stream) => {
      stream.respond(GRPC);
      stream.write(Buffer.from([0, 5, 0xf5, 0xe1, 0]));
      const chunk = Buffer.alloc(65_536);
      const more = (): void => {
        while (sent < 100_000_000 && !stream.destroyed) {
          sent += chunk.length;
          if (!stream.write(chunk)) return void stream.once("drain", more);
        }
      };
      more();
    });
    const { failure } = await called(serverAt(port));
    expect(failure).toStartWith("gRPC status 8: message size 100000000 is larger");
    expect(sent).toBeLessThan(4_000_000);
  });

  test("whose connection ends fails, also after messages and for those that come later", async () => {
    const sockets: (() => void)[] = [];
    const port = await served((stream) => {
      stream.respond(GRPC);
      stream.write(ONE);
      sockets.push(() => stream.session!.destroy());
    });
    const connection = await OutboundGrpc.open(serverAt(port), BOUNDS, names);
    const call = connection.call(WATCH, {}, { firstMessageMs: 5000 });
    expect((await call.next()).done).toBe(false);
    for (const end of sockets) end();
    await expect(call.next()).rejects.toThrow();
    const late = connection.call(WATCH, {}, { firstMessageMs: 5000 });
    await expect(late.next()).rejects.toThrow("the connection was closed");
  });

  test("stays open after its first message, and ends with its connection", async () => {
    const port = await served((stream) => {
      stream.respond(GRPC);
      stream.write(ONE);
      setTimeout(() => stream.write(ONE), 500);
    });
    const connection = await OutboundGrpc.open(serverAt(port), BOUNDS, names);
    const call = connection.call(WATCH, {}, { firstMessageMs: 200 });
    expect((await call.next()).done).toBe(false);
    expect((await call.next()).done).toBe(false);
    setTimeout(() => connection.close(), 20);
    await expect(call.next()).rejects.toThrow("the connection was closed");
  });

  test("that its caller leaves is told to the server", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const port = await served((stream) => {
      stream.on("close", () => resolve());
      stream.respond(GRPC);
      stream.write(ONE);
    });
    const connection = await OutboundGrpc.open(serverAt(port), BOUNDS, names);
    for await (const _ of connection.call(WATCH, {}, { firstMessageMs: 2000 })) break;
    await promise;
    connection.close();
  });
});

describe("a peer that speaks no HTTP/2", () => {
  test.each<[string, (socket: Socket) => void, RegExp]>([
    ["HTTP/1.1", (socket) => void socket.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), /ERR_HTTP2/],
    ["nothing", () => {}, /^no message within/],
    ["zeros", (socket) => void socket.write(Buffer.alloc(100_000)), /ERR_HTTP2|no message/],
    ["an end", (socket) => void socket.end(), /closed|reset|ECONN/],
  ])("but %s fails", async (_, onSocket, expected) => {
    expect((await called(serverAt(await raw(onSocket)))).failure).toMatch(expected);
  });

  test("nor is there: the code says why", async () => {
    const port = await raw(() => {});
    ends.pop()!();
    expect((await called(serverAt(port))).failure).toBe("ECONNREFUSED");
    expect((await called(serverAt(0, { socketPath: "/nonexistent/agent.sock" }))).failure).toBe("ENOENT");
    expect((await called(serverAt(1, { hostname: "no-such-host.invalid" }))).failure).toMatch(/ENOTFOUND|DNS|ETIMEOUT/);
  });

  test("nor ends its handshake: it has the time for a connection", async () => {
    const port = await raw(() => {});
    const tls = { serverName: "", ca: undefined, cert: undefined, key: undefined, rejectUnauthorized: true };
    const bounds = { ...BOUNDS, connectTimeoutMs: 200 };
    await expect(OutboundGrpc.open(serverAt(port, { tls }), bounds, names)).rejects.toThrow("no connection in time");
  });
});

describe("certificates", async () => {
  const own = await makeCertificate();
  const server = createSecureServer({ cert: own.cert, key: own.key });
  let streams = 0;
  server.on("stream", (opened) => {
    const stream = opened as ServerHttp2Stream;
    streams++;
    stream.respond(GRPC, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(ONE);
  });
  server.on("sessionError", () => {});
  const port = await listening(server as unknown as Server);
  const tls = { serverName: "", ca: undefined, cert: undefined, key: undefined, rejectUnauthorized: true };

  test("that nobody vouches for are refused, whatever the environment says", async () => {
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      expect((await called(serverAt(port, { tls }))).failure).toMatch(/SELF_SIGNED/);
      const named = { ...tls, serverName: "localhost" };
      expect((await called(serverAt(port, { tls: named }))).failure).toMatch(/SELF_SIGNED/);
      const otherName = { ...tls, ca: own.cert, serverName: "other.test" };
      expect((await called(serverAt(port, { tls: otherName }))).failure).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
      expect(streams).toBe(0);
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  test("of named authorities are taken, by name and by address; all are without verification", async () => {
    for (const each of [
      { ...tls, ca: own.cert },
      { ...tls, ca: own.cert, serverName: "localhost" },
      { ...tls, rejectUnauthorized: false },
    ])
      expect((await called(serverAt(port, { tls: each }))).failure).toBe("");
    expect(streams).toBe(3);
  });
});
