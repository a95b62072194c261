// docs/upstreams.md#fields-for-the-server-before-it: what an origin tells the server before it is for no client.
import { afterAll, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head, Type } from "../harness/h2-client.ts";
import { H2Origin } from "../harness/h2-origin.ts";
import { request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const GONE = [
  "X-Accel-Redirect",
  "x-accel-expires",
  "X-ACCEL-Limit-Rate",
  "X-Accel-Charset",
  "X-Accel-New-One",
  "X-Sendfile",
  "X-Sendfile2",
  "X-LIGHTTPD-send-file",
  "X-Lighttpd-Send-Tempfile",
  "X-Reproxy-URL",
  "X-Reproxy-File",
];
const KEPT = ["X-Accel-Buffering", "X-Accelerated", "X-Sendfile-Type", "X-Accel"];
const fields = [...GONE, ...KEPT].map((name): [string, string] => [name, "/inside/secret"]);
const lines = fields.map(([name, value]) => `${name}: ${value}`);

const origin = ScriptedOrigin.start();
const LENGTH: readonly (readonly [string, string])[] = [["content-length", "0"]];
const h2 = await H2Origin.start({
  onEnd(stream) {
    const lower = fields.map(([name, value]): [string, string] => [name.toLowerCase(), value]);
    stream.head([[":status", "103"], ...lower]);
    stream.isAnswered = true;
    stream.head(
      [[":status", "200"], ...lower, ...(stream.path === "/trailers" ? [] : LENGTH)],
      stream.path === "/trailers" ? 4 : 5,
    );
    if (stream.path !== "/trailers") return;
    stream.connection.frame(Type.data, 0, stream.id, Buffer.from("ok"));
    stream.head(lower, 5);
  },
});
const gateway = await startGateway({
  config: { server: { cache: { enabled: true } } },
  routes: [upstream("/h1", origin), upstream("/h2", h2)],
});
afterAll(() => stopAll(gateway, origin, h2));

const names = (all: Iterable<string>) => [...all].map((name) => name.toLowerCase());
const leaked = (all: readonly string[]) => GONE.filter((name) => all.includes(name.toLowerCase()));

test("heads, interim responses and trailers of HTTP/1.1, and what is stored of them", async () => {
  origin.on("/all", (call) => {
    const trailers = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    call.send(`HTTP/1.1 103 Early Hints\r\n${lines.join("\r\n")}\r\n\r\n`);
    call.send(
      `HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n${lines.join("\r\n")}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${trailers}\r\n`,
    );
  });
  for (let i = 0; i < 2; i++) {
    const reply = await gateway.once(request("GET /h1/all", ["TE: trailers"]));
    const all = [reply, ...reply.interim].flatMap((one) => names(one.fields.list.map(([name]) => name)));
    expect(leaked([...all, ...names(reply.trailers.list.map(([name]) => name))])).toEqual([]);
    for (const name of KEPT) expect([name, reply.fields.get(name)]).toEqual([name, "/inside/secret"]);
  }
  const client = await H2Client.connect(gateway.port);
  const reply = await client.request(head("GET", "/h1/all"));
  expect(leaked(names([...reply.fields.keys(), ...reply.trailers.keys()]))).toEqual([]);
  client.close();
});

test("trailers of HTTP/2, to clients of HTTP/1.1 and HTTP/2", async () => {
  const reply = await gateway.once(request("GET /h2/trailers", ["TE: trailers"]));
  expect(reply.text).toBe("ok");
  const trailers = names(reply.trailers.list.map(([name]) => name));
  expect(leaked(trailers)).toEqual([]);
  expect(trailers).toContain("x-sendfile-type");
  const client = await H2Client.connect(gateway.port);
  const over2 = await client.request(head("GET", "/h2/trailers"));
  expect(leaked(names(over2.trailers.keys()))).toEqual([]);
  expect(names(over2.trailers.keys())).toContain("x-sendfile-type");
  client.close();
});

test("those of HTTP/2", async () => {
  const reply = await gateway.once(request("GET /h2/all"));
  expect(reply.status).toBe(200);
  const all = [reply, ...reply.interim].flatMap((one) => names(one.fields.list.map(([name]) => name)));
  expect(leaked(all)).toEqual([]);
  for (const name of KEPT) expect([name, reply.fields.get(name)]).toEqual([name, "/inside/secret"]);
});
