import { expect, test } from "bun:test";
import { loadAcknowledge } from "../../../src/net/acknowledge.ts";

test("an open socket, a closed one and one that is none can be acknowledged, and traffic goes on", async () => {
  const acknowledge = loadAcknowledge();
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
