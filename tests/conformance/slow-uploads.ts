import { readdirSync, readlinkSync } from "node:fs";
import { type Echo, sha256 } from "../harness/echo-origin.ts";
import type { Gateway } from "../harness/gateway.ts";
import { json, RawClient, type Reply, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";

/** Chunked uploads that all trickle in at the same time. */
export interface UploadPlan {
  readonly clients: number;
  readonly bodyBytes: number;
  /** Bytes of one chunk, and the pause before the next. */
  readonly pieceBytes: number;
  readonly pauseMs: number;
}

/** How they ended: each in exactly one of these. */
export interface UploadTally {
  /** Answered 200, with the right digest from the origin. */
  completed: number;
  /** Answered 503 with Retry-After, or 408: the room was needed and this one was the slowest. */
  turnedAway: number;
  /** Anything else, in words. */
  readonly wrong: string[];
  /** Most spool files that the gateway had open at once; null where the system does not tell. */
  mostSpoolFiles: number | null;
}

/** Uploads the bodies, a piece of each in turn, and reads all answers. */
export async function uploadSlowly(gateway: Gateway, plan: UploadPlan): Promise<UploadTally> {
  const pool = new SeededRandom(7).bytes(plan.bodyBytes + plan.clients * BODY_STEP);
  const bodyOf = (index: number) => pool.subarray(index * BODY_STEP, index * BODY_STEP + plan.bodyBytes);
  const tally: UploadTally = { completed: 0, turnedAway: 0, wrong: [], mostSpoolFiles: spoolFilesOf(gateway) };
  const clients = await connectAll(gateway.port, plan.clients);
  await sendAll(gateway, clients, bodyOf, plan, tally);
  for (const [index, client] of clients.entries()) {
    try {
      count(tally, await client.reply("POST", ANSWER_MS), bodyOf(index));
    } catch (error) {
      tally.wrong.push(String(error));
    }
    client.close();
  }
  return tally;
}

/** Spool files that a process has open; null where the system does not tell. They have no name any more. */
export function spoolFilesOf({ pid }: { readonly pid: number }): number | null {
  let names: string[];
  try {
    names = readdirSync(`/proc/${pid}/fd`);
  } catch {
    return null;
  }
  return names.filter((name) => isSpoolFile(`/proc/${pid}/fd/${name}`)).length;
}

const CONNECT_AT_ONCE = 100;
/** Each body begins a little further on in the same random bytes, so that no two are alike. */
const BODY_STEP = 61;
const ANSWER_MS = 30_000;
const SAMPLE_EVERY = 8;

/** Connects, and sends the heads at once: a connection that says nothing is closed after a while. */
async function connectAll(port: number, count: number): Promise<RawClient[]> {
  const head = request("POST /node/echo", ["Transfer-Encoding: chunked"]);
  const clients: RawClient[] = [];
  while (clients.length < count) {
    const wanted = Math.min(CONNECT_AT_ONCE, count - clients.length);
    const batch = await Promise.all(Array.from({ length: wanted }, () => RawClient.connect(port)));
    for (const client of batch) client.send(head);
    clients.push(...batch);
  }
  return clients;
}

async function sendAll(
  gateway: Gateway,
  clients: readonly RawClient[],
  bodyOf: (index: number) => Buffer,
  plan: UploadPlan,
  tally: UploadTally,
): Promise<void> {
  for (let at = 0, round = 0; at < plan.bodyBytes; at += plan.pieceBytes, round++) {
    for (const [index, client] of clients.entries()) {
      if (!isAnswered(client)) client.send(frame(bodyOf(index).subarray(at, at + plan.pieceBytes)));
    }
    if (round % SAMPLE_EVERY === 0) {
      const files = spoolFilesOf(gateway);
      if (files !== null) tally.mostSpoolFiles = Math.max(tally.mostSpoolFiles ?? 0, files);
    }
    await Bun.sleep(plan.pauseMs);
  }
  for (const client of clients) if (!isAnswered(client)) client.send("0\r\n\r\n");
}

function frame(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.byteLength.toString(16)}\r\n`), piece, Buffer.from("\r\n")]);
}

function isAnswered(client: RawClient): boolean {
  return client.unread > 0 || client.ending !== "open" || client.isClosed;
}

function count(tally: UploadTally, reply: Reply, body: Buffer): void {
  const retryAfter = reply.fields.get("retry-after") ?? "";
  // Newcomers get 503, the slowest of those that have begun 408.
  const isTurnedAway = (reply.status === 503 && /^\d+$/.test(retryAfter)) || reply.status === 408;
  if (isTurnedAway) tally.turnedAway++;
  else if (reply.status !== 200) tally.wrong.push(`${reply.status}, Retry-After ${JSON.stringify(retryAfter)}`);
  else if (json<Echo>(reply).sha256 !== sha256(body)) tally.wrong.push("another body came to the origin");
  else tally.completed++;
}

function isSpoolFile(path: string): boolean {
  try {
    return readlinkSync(path).includes("/edge-body-");
  } catch {
    // Closed since it was listed.
    return false;
  }
}
