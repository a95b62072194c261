import { expect, test } from "bun:test";
import type { ByteSocket } from "../../../src/net/byte-socket.ts";
import { holdLastSegment } from "../../../src/net/last-segment.ts";

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
