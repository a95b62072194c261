import { RawClient, type Reply } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { CanaryClient } from "./canary-client.ts";
import type { FuzzOrigin, SeenRequest } from "./fuzz-origin.ts";
import { FuzzFailure, type FuzzLimits, type FuzzTally, LEAST_OF_A_KIND } from "./fuzz-report.ts";
import { type ReferenceRequest, type ReferenceStream, readReferenceStream } from "./reference-request.ts";
import { makeAttack, makePieces } from "./request-seeds.ts";

const REFUSALS = new Set([400, 408, 413, 414, 417, 431, 501, 505]);

/**
 * Sends mutated requests, each batch on a fresh connection that is then ended, and compares answers and what the origin
 * saw with the reference; a canary on a persistent connection follows each. Throws a FuzzFailure.
 */
export async function fuzzRequests(port: number, origin: FuzzOrigin, limits: FuzzLimits): Promise<FuzzTally> {
  const tally: FuzzTally = { rounds: 0, good: 0, refused: 0, open: 0 };
  const canary = new CanaryClient(port, origin);
  const deadline = performance.now() + limits.seconds * 1000;
  try {
    const isEnough = () => performance.now() >= deadline && Math.min(tally.good, tally.refused) > LEAST_OF_A_KIND;
    for (let round = 0; round < limits.rounds && !isEnough(); round++) {
      const random = new SeededRandom(limits.seed + round);
      const attack = makeAttack(random);
      const reference = readReferenceStream(attack, "/node");
      count(tally, reference);
      const fail = (what: string, detail = "") =>
        new FuzzFailure(what, limits.seed, round, attack, `${describe(reference)} ${detail}`);
      const replies = await attackOnce(port, makePieces(attack, random), methodsOf(attack, reference), fail);
      const wrong = judge(reference, replies, origin.takeSeen()) ?? (await canary.sing());
      if (wrong !== null) throw fail(wrong, `answers ${replies.map((reply) => reply.status).join(", ")}`);
      if (origin.violations.length > 0) throw fail("malformed bytes went upstream", origin.violations.join("; "));
      if (round % 500 === 0) origin.forget();
    }
  } finally {
    canary.close();
  }
  return tally;
}

type Fail = (what: string, detail?: string) => FuzzFailure;

/** The methods that decide whether answers have a body; the last one is that of the refused bytes. */
function methodsOf(attack: string, reference: ReferenceStream): string[] {
  const rest = attack.slice(reference.restAt).trimStart();
  return [...reference.requests.map((each) => each.method), rest.startsWith("HEAD ") ? "HEAD" : "GET"];
}

async function attackOnce(port: number, pieces: Buffer[], methods: string[], fail: Fail): Promise<Reply[]> {
  const client = await RawClient.connect(port);
  const replies: Reply[] = [];
  try {
    if (pieces.length === 1) client.send(pieces[0]!);
    else await client.sendPieces(pieces, 0);
    client.finish();
    for (;;) {
      const isOver = await client.until("an answer or the end", () => {
        if (client.unread > 0) return false;
        return client.ending === "open" ? undefined : true;
      });
      if (isOver) return replies;
      const method = methods[replies.length] ?? "GET";
      const reply = await client.reply(method);
      replies.push(reply);
      // A refused HEAD may be answered with a body: who cannot be understood cannot have asked for none.
      if (method === "HEAD" && closes(reply)) await takeOwnBody(client, reply);
      if (replies.length > methods.length) throw new Error("more answers than requests");
    }
  } catch (error) {
    throw fail(
      "the connection went wrong",
      `${String(error)} after ${replies.map((reply) => reply.status).join(", ")}`,
    );
  } finally {
    client.close();
  }
}

async function takeOwnBody(client: RawClient, reply: Reply): Promise<void> {
  const rest = await client.takeRest();
  if (rest.byteLength === 0 || String(rest.byteLength) === reply.fields.get("content-length")) return;
  throw new Error(`${rest.byteLength} bytes behind the answer ${reply.status} to a HEAD`);
}

/** What is wrong with the answers and with what the origin saw; null when all is well. */
function judge(reference: ReferenceStream, replies: readonly Reply[], seen: SeenRequest[]): string | null {
  const unseen = [...seen];
  let next = 0;
  for (const request of reference.requests) {
    const reply = replies[next++];
    if (reply === undefined) return `request ${next} got no answer`;
    const isRefused = REFUSALS.has(reply.status) && closes(reply);
    if (isRefused && (request.isDoubtful || request.goesTo === "open")) return nothingMore(replies, next, unseen);
    if (isRefused) return `a good request was refused with ${reply.status} ${reply.text}`;
    const missed = takeFromSeen(request, reply, unseen);
    if (missed !== null) return missed;
    if (closes(reply) && mayClose(request, reference, next)) return nothingMore(replies, next, unseen);
    if (closes(reply)) return `answer ${next} closes the connection without a reason`;
  }
  if (reference.end === "idle" || reference.end === "close") return nothingMore(replies, next, unseen);
  const last = replies[next++];
  if (last === undefined) {
    return reference.end === "refused" ? "no refusal" : nothingMore(replies, next, unseen);
  }
  if (reference.mayAnswerEarly) return nothingMore(replies, next, unseen);
  if (!REFUSALS.has(last.status)) return `want a refusal, got ${last.status}`;
  if (!closes(last)) return `the refusal ${last.status} does not say close`;
  return nothingMore(replies, next, unseen);
}

/** A good request to the origin ends a connection only when it asked to; the gateway's own answers may. */
function mayClose(request: ReferenceRequest, reference: ReferenceStream, count: number): boolean {
  if (reference.end === "close" && count === reference.requests.length) return true;
  return request.goesTo !== "origin" || request.isDoubtful;
}

function nothingMore(replies: readonly Reply[], count: number, unseen: readonly SeenRequest[]): string | null {
  if (unseen.length > 0) return `the origin saw ${JSON.stringify(unseen[0])}, which nobody asked for`;
  return replies.length > count ? `an answer too many: ${replies[count]!.status}` : null;
}

function takeFromSeen(request: ReferenceRequest, reply: Reply, unseen: SeenRequest[]): string | null {
  const first = unseen[0];
  const isSame = first !== undefined && first.method === request.method && first.body === request.body;
  if (request.goesTo === "gateway") return null;
  if (request.goesTo === "open" || request.isDoubtful) {
    if (isSame && reply.status === 200 && reply.fields.get("server") !== "edge") unseen.shift();
    return null;
  }
  if (!isSame || first.target !== request.forwardedTarget) {
    return `the origin should have seen ${request.method} ${request.forwardedTarget}, it saw ${JSON.stringify(first ?? null)}`;
  }
  unseen.shift();
  return reply.status === 200 ? null : `the origin answered 200, the client got ${reply.status}`;
}

function closes(reply: Reply): boolean {
  return /(^|,\s*)close(\s*,|$)/i.test(reply.fields.get("connection") ?? "");
}

function count(tally: FuzzTally, reference: ReferenceStream): void {
  tally.rounds++;
  if (reference.requests.some((request) => request.isDoubtful || request.goesTo === "open")) tally.open++;
  if (reference.end === "refused") tally.refused++;
  if (reference.end === "idle" || reference.end === "close") tally.good++;
}

function describe(reference: ReferenceStream): string {
  const requests = reference.requests.map((request) => {
    const where = request.goesTo === "origin" ? request.forwardedTarget : request.goesTo;
    return `${request.method} ${request.isDoubtful ? "?" : ""}${where} +${request.body.length}`;
  });
  return `reference: [${requests.join(", ")}] then ${reference.end} ${reference.why};`;
}
