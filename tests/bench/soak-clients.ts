// The clients of the soak. Each behaviour opens a connection of its own and has some exchanges on it; whatever goes
// wrong that the client did not do itself is a fault.
import { EndedEarly } from "../harness/byte-socket.ts";
import { HttpSyntaxError } from "../harness/http-message.ts";
import { chunked, RawClient, type Reply, request } from "../harness/raw-client.ts";

/** A kind of client; `run` has its exchanges on one new connection. */
export interface Behaviour {
  readonly name: string;
  /** How many of them run side by side. */
  readonly clients: number;
  /** How many exchanges one run holds. */
  readonly exchanges: number;
  run(client: RawClient): Promise<void>;
}

/** An answer came, and it is not the right one. */
class WrongAnswer extends Error {}

const KIB = 1024;
const SMALL_BODY = Buffer.from('{"status":"ok"}');
const FILE_BODY = Buffer.alloc(KIB, "x");
const LARGE_BODY = Buffer.alloc(64 * KIB, "y");
const SENT_BODY = Buffer.alloc(64 * KIB, "0123456789abcdef");

/** The mixture. */
export const BEHAVIOURS: readonly Behaviour[] = [
  { name: "keep-alive", clients: 24, exchanges: 100, run: keepAlive },
  { name: "close", clients: 4, exchanges: 1, run: closePerRequest },
  { name: "64k answers", clients: 8, exchanges: 20, run: (client) => largeAnswers(client, "/p/64k", 20) },
  { name: "streamed answers", clients: 4, exchanges: 2, run: (client) => largeAnswers(client, "/p/stream", 2) },
  { name: "posts", clients: 8, exchanges: 40, run: posts },
  { name: "gone in the answer", clients: 4, exchanges: 1, run: vanishInAnswer },
  { name: "gone in the request", clients: 4, exchanges: 1, run: vanishInRequest },
];

/** Runs a behaviour once on a new connection: null, or the kind of fault with its text. */
export async function runOnce(behaviour: Behaviour, port: number): Promise<{ kind: string; text: string } | null> {
  let client: RawClient | null = null;
  try {
    client = await RawClient.connect(port);
    await behaviour.run(client);
    client.close();
    return null;
  } catch (error) {
    client?.reset();
    const text = error instanceof Error ? error.message : String(error);
    return { kind: client === null ? "no connection" : kindOf(error, text), text };
  }
}

function kindOf(error: unknown, text: string): string {
  if (error instanceof EndedEarly) return "cut before the end of the answer";
  if (error instanceof HttpSyntaxError) return "malformed answer";
  return error instanceof WrongAnswer ? text : "no answer in time";
}

async function keepAlive(client: RawClient): Promise<void> {
  for (let i = 0; i < 25; i++) {
    expectBody(await client.exchange(request("GET /p/x")), SMALL_BODY);
    expectBody(await client.exchange(request("GET /health")), SMALL_BODY);
    expectBody(await client.exchange(request("GET /static/small.txt")), FILE_BODY);
    expectBody(await client.exchange(request("GET /p/x?page=2&sort=name")), SMALL_BODY);
  }
}

async function closePerRequest(client: RawClient): Promise<void> {
  expectBody(await client.exchange(request("GET /p/x", ["Connection: close"])), SMALL_BODY);
  if ((await client.ended()) !== "fin") throw new WrongAnswer("reset instead of an orderly end");
}

async function largeAnswers(client: RawClient, path: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) expectBody(await client.exchange(request(`GET ${path}`)), LARGE_BODY);
}

async function posts(client: RawClient): Promise<void> {
  for (let i = 0; i < 20; i++) {
    const body = SENT_BODY.subarray(0, i % 4 === 0 ? SENT_BODY.length : 1 + ((i * 997) % (8 * KIB)));
    expectBody(await client.exchange(request("POST /p/echo", [], body)), body);
    expectBody(await client.exchange(chunkedPost(body)), body);
  }
}

// The answer is too long for the buffers on its way: the gateway is in the middle of it when the client goes.
async function vanishInAnswer(client: RawClient): Promise<void> {
  client.send(request("GET /p/4m"));
  await client.takeSome();
  client.reset();
}

async function vanishInRequest(client: RawClient): Promise<void> {
  const whole = Math.random() < 0.5 ? request("POST /p/echo", [], SENT_BODY) : chunkedPost(SENT_BODY);
  client.send(whole.subarray(0, Math.floor(whole.length * Math.random())));
  await Bun.sleep(5);
  client.reset();
}

function chunkedPost(body: Buffer): Buffer {
  return request("POST /p/echo", ["Transfer-Encoding: chunked"], chunked(body, 5000));
}

function expectBody(reply: Reply, body: Buffer): void {
  if (reply.status !== 200) throw new WrongAnswer(`status ${reply.status}`);
  if (!reply.body.equals(body)) throw new WrongAnswer("wrong body");
}
