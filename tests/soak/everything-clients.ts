// The clients of the run of everything that ask and are answered, one request at a time or several beside each other.
import { H2Client, head, Type } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { RawClient, type Reply, request } from "../harness/raw-client.ts";
import type { SeededRandom } from "../harness/seeded-random.ts";
import { TlsClient } from "../harness/tls-client.ts";
import { digestOf, patternOf } from "./everything-pattern.ts";
import { type Attempt, failed, OK, type Tally } from "./everything-tally.ts";

/** What every client of the run shares. */
export interface Run {
  readonly port: number;
  readonly tlsPort: number;
  readonly tally: Tally;
  readonly random: SeededRandom;
  /** Static files by path. */
  readonly files: ReadonlyMap<string, Buffer>;
  isOver(): boolean;
}

/** One request and the answer that it must get. */
export interface Question {
  readonly method: string;
  readonly path: string;
  readonly id: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly body: Buffer | undefined;
  readonly expected: Buffer;
}

/** Longer than anything that the gateway lets a request take, the replacement of a worker included. */
export const PATIENCE_MS = 20_000;
const PAUSE_MS = 10;
const REQUESTS_PER_CONNECTION = 100;
const H3_CONNECT_MS = 1500;
const H3_CONNECTS = 6;
const REFUSED_STREAM = 7;
/** A client that waits longer notices. */
const GAP_MS = 1000;

/** A request to the origins that are troubled; a POST now and then. */
export function troubled(run: Run, kind: string, prefix = "/n"): Question {
  const { random, tally } = run;
  const method = random.pick(["GET", "GET", "GET", "PUT", "GET", "DELETE", "POST"]);
  const id = tally.newId(kind);
  if (method === "POST") tally.posts.add(id);
  const hasBody = method === "PUT" || method === "POST";
  const body = hasBody ? random.bytes(random.integer(1, 12_000)) : undefined;
  const size = random.integer(0, 12_000);
  const digest = body === undefined ? [] : [["x-digest", digestOf(body)] as const];
  const fields = [["x-id", id], ["x-size", String(size)], ...digest] as const;
  return { method, path: `${prefix}/echo`, id, fields, body, expected: patternOf(id, size) };
}

/** A request for an answer out of the cache, most of the time. */
export function stored(run: Run): Question {
  const path = `/stored/${run.random.integer(0, 40)}`;
  const size = 100 + path.length * 300;
  return question("GET", `/cached${path}?size=${size}`, patternOf(path, size));
}

/** A request for a file. */
export function file(run: Run): Question {
  const [path, bytes] = run.random.pick([...run.files]);
  return question("GET", `/static/${path}`, bytes);
}

function question(method: string, path: string, expected: Buffer): Question {
  return { method, path, id: "", fields: [], body: undefined, expected };
}

/** HTTP/1.1, one request after the other. */
export class H1Asker {
  private readonly run: Run;
  private readonly open: () => Promise<RawClient>;
  private readonly keeps: boolean;
  private client: RawClient | null = null;
  private served = 0;

  /** @param keeps whether a connection is used for more than one request */
  constructor(run: Run, keeps: boolean, isSecure = false) {
    this.run = run;
    this.keeps = keeps;
    this.open = () => (isSecure ? TlsClient.open(run.tlsPort) : RawClient.connect(run.port));
  }

  /** Asks until it is over. */
  async keepAsking(kind: string, next: () => Question): Promise<void> {
    const { run } = this;
    while (!run.isOver()) {
      const one = next();
      await run.tally.request(kind, one.method !== "POST", () => this.attempt(kind, one));
      await Bun.sleep(PAUSE_MS);
    }
    this.close();
  }

  private async attempt(kind: string, one: Question): Promise<Attempt> {
    try {
      if (this.client !== null && (this.client.ending !== "open" || this.client.isClosed)) this.close();
      this.client ??= await this.open();
    } catch (error) {
      return failed(`connect: ${String((error as { code?: string }).code ?? error)}`);
    }
    const { client } = this;
    if (client.unread > 0) this.run.tally.foreign.push(`${kind}: bytes that no request asked for`);
    const before = client.receivedBytes;
    try {
      const lines = one.fields.map(([name, value]) => `${name}: ${value}`);
      client.send(request(`${one.method} ${one.path}`, this.keeps ? lines : [...lines, "Connection: close"], one.body));
      const reply = await client.reply(one.method, PATIENCE_MS);
      this.served++;
      const isLast = reply.fields.get("connection")?.toLowerCase() === "close";
      if (!this.keeps || isLast || this.served >= REQUESTS_PER_CONNECTION) await this.leave(client, isLast, kind);
      return judge(this.run.tally, kind, one, reply);
    } catch (error) {
      const isUntouched = this.served > 0 && client.receivedBytes === before;
      const { ending } = client;
      this.close();
      if (ending === "open") return failed(`no answer in ${PATIENCE_MS / 1000} s`);
      const when = client.receivedBytes === before ? "before" : "within";
      const isKept = isUntouched && ending === "fin" && one.method !== "POST";
      return { outcome: `${ending} ${when} the answer${isUntouched ? "" : `: ${short(error)}`}`, mayRepeat: isKept };
    }
  }

  /** After the last answer nothing may come any more. */
  private async leave(client: RawClient, isEnded: boolean, kind: string): Promise<void> {
    if (isEnded) await client.ended(1000).catch(() => {});
    if (client.unread > 0) this.run.tally.foreign.push(`${kind}: bytes behind the last answer`);
    this.close();
  }

  private close(): void {
    this.client?.close();
    this.client = null;
    this.served = 0;
  }
}

function judge(tally: Tally, kind: string, one: Question, reply: Reply): Attempt {
  const id = reply.fields.get("x-id") ?? "";
  return verdict(tally, kind, one, { status: reply.status, id, body: reply.body });
}

function verdict(
  tally: Tally,
  kind: string,
  one: Question,
  { status, id, body }: { status: number; id: string; body: Buffer },
): Attempt {
  if (status !== 200) return failed(`${status} ${body.toString("latin1", 0, 80)}`);
  if (id !== one.id) tally.foreign.push(`${kind}: the answer to ${id} came to ${one.id}`);
  else if (tally.isSame(`${kind} ${one.path}`, body, one.expected)) return OK;
  return failed("foreign");
}

function short(error: unknown): string {
  return String(error).slice(0, 60);
}

/** HTTP/2: several streams beside each other on one connection. */
export async function askOverH2(run: Run, streams: number, next: () => Question): Promise<void> {
  const kind = "h2";
  let shared: Promise<H2Client> | null = null;
  let used = 0;
  const connection = (): Promise<H2Client> => {
    if (shared === null || used++ >= REQUESTS_PER_CONNECTION) {
      // The old one is left alone until its streams are over: it closes with the run at the latest.
      const old = shared;
      if (old !== null) void Bun.sleep(PATIENCE_MS).then(async () => (await old).close());
      shared = H2Client.connect(run.port);
      used = 0;
    }
    return shared;
  };
  const attempt = async (one: Question): Promise<Attempt> => {
    let client: H2Client;
    const mine = connection();
    try {
      client = await mine;
    } catch (error) {
      if (shared === mine) shared = null;
      return failed(`connect: ${String((error as { code?: string }).code ?? error)}`);
    }
    const result = await askStream(run.tally, kind, client, one);
    const isLeft = client.ending !== "open" || client.frames.some(({ type }) => type === Type.goAway);
    if (isLeft && shared === mine) shared = null;
    return result;
  };
  const ask = async (): Promise<void> => {
    while (!run.isOver()) {
      const one = next();
      await run.tally.request(kind, one.method !== "POST", () => attempt(one));
      await Bun.sleep(PAUSE_MS * 2);
    }
  };
  await Promise.all(Array.from({ length: streams }, ask));
  (await (shared as Promise<H2Client> | null))?.close();
}

async function askStream(tally: Tally, kind: string, client: H2Client, one: Question): Promise<Attempt> {
  // A connection that has said that it takes nothing more is not used, as no client would.
  const mayOpen = client.ending === "open" && !client.frames.some(({ type }) => type === Type.goAway);
  if (!mayOpen) return { outcome: "the connection takes no more streams", mayRepeat: true };
  const id = client.headers(head(one.method, one.path, one.fields), one.body === undefined);
  if (one.body !== undefined) client.data(id, one.body, true);
  const reply = await client.reply(id, PATIENCE_MS).catch(() => null);
  if (reply === null) return failed(`no answer in ${PATIENCE_MS / 1000} s`);
  if (reply.isEnded) {
    return verdict(tally, kind, one, { status: reply.status, id: reply.fields.get("x-id") ?? "", body: reply.body });
  }
  const goAway = client.frames.find(({ type }) => type === Type.goAway);
  const isBeyond = goAway !== undefined && id > (goAway.payload.readUInt32BE(0) & 0x7fffffff);
  if (reply.reset === REFUSED_STREAM || isBeyond)
    return { outcome: "not processed, says the gateway", mayRepeat: true };
  const when = reply.status === 0 ? "before" : "within";
  return failed(`${reply.reset >= 0 ? `reset ${reply.reset}` : `${client.ending}`} ${when} the answer`);
}

/** A time without an answer. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/** HTTP/3, one request after the other; a connection that is gone is made anew. @returns when nothing was answered */
export async function askOverH3(run: Run, kind: string, next: () => Question): Promise<readonly Gap[]> {
  const gaps: Gap[] = [];
  let client: H3Client | null = null;
  let lastMs = performance.now();
  const attempt = async (one: Question): Promise<Attempt> => {
    const wasKept = client !== null;
    client ??= await connectH3(run.tlsPort);
    if (client === null) return failed("no connection");
    let hasHead = false;
    try {
      const pieces = one.body === undefined ? {} : { pieces: [one.body] };
      const onHead = () => {
        hasHead = true;
      };
      const asked = client.ask(one.method, one.path, Object.fromEntries(one.fields), { ...pieces, onHead });
      const reply = await within(asked, PATIENCE_MS);
      if (!hasHead) throw new Error("the stream ended without an answer");
      const toMs = performance.now();
      if (toMs - lastMs > GAP_MS) gaps.push({ fromMs: lastMs, toMs });
      lastMs = toMs;
      return verdict(run.tally, kind, one, {
        status: reply.status,
        id: String(reply.fields["x-id"] ?? ""),
        body: reply.body,
      });
    } catch (error) {
      client?.close();
      client = null;
      const isUntouched = wasKept && !hasHead && one.method !== "POST";
      return { outcome: `cut: ${short(error)}`, mayRepeat: isUntouched };
    }
  };
  while (!run.isOver()) {
    const one = next();
    await run.tally.request(kind, one.method !== "POST", () => attempt(one));
    await Bun.sleep(PAUSE_MS * 2);
  }
  (client as H3Client | null)?.close();
  return gaps;
}

async function connectH3(port: number): Promise<H3Client | null> {
  for (let n = 0; n < H3_CONNECTS; n++) {
    const connecting = H3Client.connect(port);
    try {
      return await within(connecting, H3_CONNECT_MS);
    } catch {
      connecting.then(
        (late) => late.close(),
        () => {},
      );
      await Bun.sleep(50);
    }
  }
  return null;
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  promise.catch(() => {});
  const { promise: late, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => reject(new Error(`not within ${ms} ms`)), ms);
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
