// One request through everything: from the bytes of the client to the bytes of the answer, the kernel left out.
import type { H1Connection } from "../../../src/edge/h1-connection.ts";
import type { H1UpstreamConnection } from "../../../src/upstream/h1-upstream.ts";
import { bench } from "../micro.ts";
import { GatewayLab, SinkSocket } from "./gateway-lab.ts";
import { ANSWER, BROWSER_HEAD, CURL_HEAD, PROXIED_HEAD } from "./samples.ts";

const PIPELINED = 10;

const lab = new GatewayLab();
const socket = new SinkSocket();
const client = lab.client(socket);
const pipelined = Buffer.concat(Array.from({ length: PIPELINED }, () => CURL_HEAD));

bench("gateway: GET /health", () => {
  lab.event(client, CURL_HEAD);
  return socket.bytes;
});

bench(
  `gateway: GET /health, ${PIPELINED} pipelined`,
  () => {
    lab.event(client, pipelined);
    return socket.bytes;
  },
  PIPELINED,
);

for (const [name, path] of [
  ["a fixed response", "/respond"],
  ["a response with a value", "/greet"],
  ["a redirect", "/moved"],
  ["a redirect with path and query", "/old/a/b?c=d"],
] as const) {
  const head = asking(path);
  bench(`gateway: ${name}`, () => {
    lab.event(client, head);
    return socket.bytes;
  });
}

const origin = connectOnce(lab, client);

for (const [name, head] of [
  ["curl", PROXIED_HEAD],
  ["browser", BROWSER_HEAD],
  ["header values with placeholders", asking("/valued/a/b?c=d")],
] as const) {
  bench(`gateway: proxied GET, ${name}`, () => {
    lab.event(client, head);
    lab.event(origin, ANSWER);
    return socket.bytes;
  });
}

const cachedLab = new GatewayLab(true);
const cachedClient = cachedLab.client(socket);
const cachedOrigin = connectOnce(cachedLab, cachedClient);

for (const [name, head] of [
  ["curl", PROXIED_HEAD],
  ["browser", BROWSER_HEAD],
  ["header values with placeholders", asking("/valued/a/b?c=d")],
] as const) {
  cachedLab.event(cachedClient, head);
  if (head === BROWSER_HEAD) cachedLab.event(cachedOrigin, ANSWER);
  bench(`gateway: GET out of the cache, ${name}`, () => {
    cachedLab.event(cachedClient, head);
    return socket.bytes;
  });
}

/** The first proxied request opens the connection that all others find in the pool. */
function connectOnce(lab: GatewayLab, client: H1Connection): H1UpstreamConnection {
  const { connect } = Bun;
  let opened: H1UpstreamConnection | null = null;
  Bun.connect = ((options: { data: H1UpstreamConnection }) => {
    opened = options.data;
    return new Promise(() => {});
  }) as never;
  lab.event(client, PROXIED_HEAD);
  Bun.connect = connect;
  const connection = opened as H1UpstreamConnection | null;
  if (connection === null) throw new Error("nothing was sent upstream");
  connection.onOpen(new SinkSocket());
  lab.writers.flushAll();
  lab.event(connection, ANSWER);
  if (lab.pool.idleCount !== 1) throw new Error("the connection was not kept");
  return connection;
}

/** CURL_HEAD with another target. */
function asking(target: string): Buffer {
  return Buffer.from(CURL_HEAD.toString("latin1").replace("/health", target), "latin1");
}
