import { afterAll, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { END_HEADERS, END_STREAM, HEADERS, h2Fields, h2Frame, RawGrpcServer } from "../harness/raw-grpc-server.ts";
import { stopAll } from "../harness/teardown.ts";

// A connection to an origin of HTTP/2 that has died without a word: requests that time out on it do not take others with them.

const connections: object[] = [];
let dead: object | null = null;
const origin = await RawGrpcServer.start(({ stream, socket }) => {
  if (!connections.includes(socket)) connections.push(socket);
  if (socket === dead) return;
  socket.write(h2Frame(HEADERS, END_HEADERS | END_STREAM, stream, h2Fields({ ":status": "200" })));
});
const url = origin.url.replace("http:", "h2c:");
const gateway = await startGateway({
  routes: [
    upstream("/total", { url }, { timeouts: { total: "500ms" } }),
    upstream("/header", { url }, { timeouts: { response_header: "500ms" } }),
  ],
});
afterAll(() => stopAll(gateway, origin));

test.each(["/total", "/header"])("the next request goes over a new connection, %s", async (path) => {
  const ask = async (): Promise<number> => (await gateway.once(request(`GET ${path}`))).status;
  expect(await ask()).toBe(200);
  const before = connections.length;
  dead = connections.at(-1)!;
  expect([await ask(), await ask(), await ask()]).toEqual([504, 200, 200]);
  expect(connections.length).toBe(before + 1);
});
