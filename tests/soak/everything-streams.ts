// The clients of the run of everything that keep a connection busy for long: sockets, streams of messages, slow uploads.
import { type Field, H2Client, head } from "../harness/h2-client.ts";
import { RawClient } from "../harness/raw-client.ts";
import { PATIENCE_MS, type Run } from "./everything-clients.ts";
import { digestOf, patternOf } from "./everything-pattern.ts";
import { type Attempt, failed, OK } from "./everything-tally.ts";

const SOCKET_LIFE_MS = 5000;
const MESSAGES = 8;
const MESSAGE_PAUSE_MS = 150;
const PIECE_BYTES = 64 * 1024;
const PIECE_PAUSE_MS = 25;
const SPOOLED_BYTES = [1_200_000, 3_000_000] as const;
/** Every so many uploads one is given up half-way. */
const ABANDONED = 4;

/** WebSockets, one after the other: each message must come back, in order. */
export async function keepSockets(run: Run): Promise<void> {
  while (!run.isOver()) await run.tally.request("websocket", false, () => oneSocket(run));
}

async function oneSocket(run: Run): Promise<Attempt> {
  const id = run.tally.newId("ws");
  const socket = new WebSocket(`ws://127.0.0.1:${run.port}/ws/socket`);
  let sent = 0;
  let echoed = 0;
  let isClosed = false;
  let isWrong = false;
  const { promise: opened, resolve } = Promise.withResolvers<void>();
  socket.onopen = () => resolve();
  socket.onerror = () => resolve();
  socket.onclose = () => {
    isClosed = true;
    resolve();
  };
  socket.onmessage = (event) => {
    isWrong ||= !run.tally.isSame("websocket", Buffer.from(String(event.data)), Buffer.from(`${id} ${echoed}`));
    echoed++;
  };
  await Promise.race([opened, Bun.sleep(PATIENCE_MS)]);
  if (socket.readyState !== WebSocket.OPEN) {
    socket.terminate();
    return failed("not opened");
  }
  const endsAt = performance.now() + SOCKET_LIFE_MS;
  while (performance.now() < endsAt && !run.isOver() && !isClosed) {
    socket.send(`${id} ${sent++}`);
    await Bun.sleep(50);
  }
  for (let n = 0; n < 100 && echoed < sent && !isClosed; n++) await Bun.sleep(20);
  const outcome = isWrong ? "foreign" : isClosed ? "closed" : echoed === sent ? "ok" : "messages were lost";
  socket.close();
  return outcome === "ok" ? OK : failed(outcome);
}

/** Streams as gRPC has them, one after the other: messages go up slowly and come back as they go. */
export async function keepStreaming(run: Run): Promise<void> {
  while (!run.isOver()) await run.tally.request("grpc", false, () => oneStream(run));
}

async function oneStream(run: Run): Promise<Attempt> {
  const id = run.tally.newId("grpc");
  run.tally.posts.add(id);
  const messages = Array.from({ length: MESSAGES }, (_, i) => message(`${id} ${i}`, run.random.integer(10, 3000)));
  const all = Buffer.concat(messages);
  const client = await H2Client.connect(run.port).catch(() => null);
  if (client === null) return failed("connect");
  try {
    const fields: Field[] = [
      ["x-id", id],
      ["x-digest", digestOf(all)],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
    ];
    const stream = client.headers(head("POST", "/grpc/stream", fields), false);
    for (const [i, bytes] of messages.entries()) {
      client.data(stream, bytes, i === MESSAGES - 1);
      await Bun.sleep(MESSAGE_PAUSE_MS);
      if (client.ending !== "open" || client.seen(stream).reset >= 0) break;
    }
    const reply = await client.reply(stream, PATIENCE_MS);
    if (!reply.isEnded) return failed(reply.reset >= 0 ? `reset ${reply.reset}` : client.ending);
    const status = reply.trailers.get("grpc-status") ?? reply.fields.get("grpc-status");
    if (reply.status !== 200 || status !== "0") return failed(`${reply.status}, grpc-status ${status}`);
    return run.tally.isSame("grpc", reply.body, all) ? OK : failed("foreign");
  } catch {
    return failed(`no answer in ${PATIENCE_MS / 1000} s`);
  } finally {
    client.close();
  }
}

/** A message with its five bytes before it. */
function message(seed: string, size: number): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(5), patternOf(seed, size)]);
  bytes.writeUInt32BE(size, 1);
  return bytes;
}

/** Slow uploads in chunks that the gateway gathers in a file; some are given up half-way, and must never arrive. */
export async function keepUploading(run: Run): Promise<void> {
  for (let n = 1; !run.isOver(); n++) {
    if (n % ABANDONED === 0) await giveUp(run);
    else await run.tally.request("upload", false, () => oneUpload(run));
  }
}

async function oneUpload(run: Run): Promise<Attempt> {
  const upload = await beginUpload(run);
  if (upload === null) return failed("connect");
  const { client, id, body } = upload;
  try {
    for (let at = 0; at < body.length && client.ending === "open" && client.receivedBytes === 0; at += PIECE_BYTES) {
      sendChunk(client, body.subarray(at, at + PIECE_BYTES));
      await Bun.sleep(PIECE_PAUSE_MS);
    }
    if (client.receivedBytes === 0) client.send("0\r\n\r\n");
    const reply = await client.reply("POST", PATIENCE_MS);
    if (reply.status !== 200) return failed(`${reply.status} ${reply.text.slice(0, 80)}`);
    return run.tally.isSame("upload", reply.body, patternOf(id, 100)) ? OK : failed("foreign");
  } catch {
    return failed(
      client.ending === "open" ? `no answer in ${PATIENCE_MS / 1000} s` : `${client.ending} before the answer`,
    );
  } finally {
    client.close();
  }
}

/** Half a body, then a reset or the end of the client's direction. */
async function giveUp(run: Run): Promise<void> {
  const upload = await beginUpload(run);
  if (upload === null) return;
  const { client, body } = upload;
  for (let at = 0; at < body.length / 2; at += PIECE_BYTES) sendChunk(client, body.subarray(at, at + PIECE_BYTES));
  await client.flushed(1000).catch(() => {});
  if (run.random.chance(0.5)) client.reset();
  else client.close();
}

async function beginUpload(run: Run): Promise<{ client: RawClient; id: string; body: Buffer } | null> {
  const client = await RawClient.connect(run.port).catch(() => null);
  if (client === null) return null;
  const id = run.tally.newId("upload");
  const body = run.random.bytes(run.random.integer(...SPOOLED_BYTES));
  run.tally.posts.add(id);
  const lines = ["Host: gw.test", `x-id: ${id}`, `x-digest: ${digestOf(body)}`, "x-size: 100"];
  client.send(`POST /up/echo HTTP/1.1\r\n${lines.join("\r\n")}\r\nTransfer-Encoding: chunked\r\n\r\n`);
  return { client, id, body };
}

function sendChunk(client: RawClient, bytes: Buffer): void {
  client.send(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]));
}
