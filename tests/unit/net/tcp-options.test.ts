import { expect, test } from "bun:test";
import type { ByteSocket } from "../../../src/net/byte-socket.ts";
import { acknowledge, holdLastSegment } from "../../../src/net/tcp-options.ts";

test("an open socket, a closed one and one that is none can be acknowledged, and traffic goes on", async () => {
  const heard = Promise.withResolvers<string>();
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, chunk): void {
        acknowledge((socket as unknown as { fd: number }).fd);
        socket.write(chunk);
      },
    },
  });
  const client = await Bun.connect({
    hostname: "127.0.0.1",
    port: server.port,
    socket: { data: (_socket, chunk) => heard.resolve(chunk.toString()) },
  });
  client.write("hello");
  expect(await heard.promise).toBe("hello");
  client.end();
  server.stop(true);
  acknowledge(-1);
  acknowledge((client as unknown as { fd: number }).fd);
});

test.skipIf(process.platform !== "linux")("what is held back arrives whole, and then the end", async () => {
  const over = Promise.withResolvers<string>();
  let held = false;
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    allowHalfOpen: true,
    socket: {
      data(socket) {
        held = holdLastSegment((socket as unknown as ByteSocket).fd);
        socket.write("an answer");
        socket.shutdown();
        socket.close();
      },
    },
  });
  let received = "";
  await Bun.connect({
    hostname: "127.0.0.1",
    port: server.port,
    allowHalfOpen: true,
    socket: {
      open: (socket) => void socket.write("a request"),
      data: (_socket, bytes) => {
        received += bytes.toString("latin1");
      },
      end: () => over.resolve("end"),
      error: (_socket, error) => over.resolve(error.message),
    },
  });
  expect([await over.promise, received, held]).toEqual(["end", "an answer", true]);
  server.stop(true);
});

test("a socket that is closed has none", () => {
  expect(holdLastSegment(-1)).toBe(false);
});
