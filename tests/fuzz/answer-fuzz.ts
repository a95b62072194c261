import { EndedEarly } from "../harness/byte-socket.ts";
import { HttpSyntaxError } from "../harness/http-message.ts";
import { RawClient, type Reply, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { makeAnswer } from "./answer-seeds.ts";
import { CanaryClient } from "./canary-client.ts";
import type { FuzzOrigin } from "./fuzz-origin.ts";
import { FuzzFailure, type FuzzLimits, type FuzzTally, LEAST_OF_A_KIND } from "./fuzz-report.ts";
import { type ReferenceAnswer, readReferenceAnswer } from "./reference-answer.ts";
import { makePieces } from "./request-seeds.ts";

/**
 * Lets the origin answer with mutated bytes and then end, and checks that the client gets a faithful answer, 502, or a
 * cut where the answer's head was already good, and that the canary on another connection is never touched.
 */
export async function fuzzAnswers(port: number, origin: FuzzOrigin, limits: FuzzLimits): Promise<FuzzTally> {
  const tally: FuzzTally = { rounds: 0, good: 0, refused: 0, open: 0 };
  const canary = new CanaryClient(port, origin);
  const deadline = performance.now() + limits.seconds * 1000;
  try {
    const isEnough = () => performance.now() >= deadline && Math.min(tally.good, tally.refused) > LEAST_OF_A_KIND;
    for (let round = 0; round < limits.rounds && !isEnough(); round++) {
      const random = new SeededRandom(limits.seed + round);
      const text = makeAnswer(random);
      const method = random.pick(["GET", "GET", "GET", "POST", "HEAD"]);
      const reference = readReferenceAnswer(text, method);
      count(tally, reference);
      // Surplus that comes later than the answer may meet the next request on its way, and then nobody can tell.
      const pieces = reference.surplus > 0 ? [Buffer.from(text, "latin1")] : makePieces(text, random);
      origin.answer = async (call) => {
        await call.body();
        const connection = call.takeOver();
        if (pieces.length === 1) connection.send(pieces[0]!);
        else await connection.sendPieces(pieces, 0);
        connection.finish();
      };
      const outcome = await askOnce(port, method);
      const wrong = judge(reference, outcome) ?? (await canary.sing());
      if (wrong !== null) {
        const said = outcome instanceof Error ? String(outcome) : `${outcome.status} ${JSON.stringify(outcome.text)}`;
        const detail = `${method}; reference ${JSON.stringify(reference)}; client ${said}`;
        throw new FuzzFailure(wrong, limits.seed, round, text, detail);
      }
      if (round % 500 === 0) origin.forget();
    }
  } finally {
    canary.close();
  }
  return tally;
}

async function askOnce(port: number, method: string): Promise<Reply | Error> {
  const client = await RawClient.connect(port);
  try {
    return await client.exchange(request(`${method} /node/answer`, [], method === "POST" ? "hello" : undefined));
  } catch (error) {
    return error as Error;
  } finally {
    client.close();
  }
}

/** What is wrong with what the client got; null when all is well. */
function judge(reference: ReferenceAnswer, outcome: Reply | Error): string | null {
  if (outcome instanceof HttpSyntaxError) return "the client got something that is not HTTP";
  if (outcome instanceof EndedEarly) {
    if (reference.kind === "cut" || reference.isDoubtful) return null;
    return reference.kind === "good" ? "a good answer was cut" : "want 502, the connection was cut";
  }
  if (outcome instanceof Error) return `the client waited in vain: ${outcome.message}`;
  if (outcome.status === 502 && outcome.fields.get("server") === "edge") {
    return reference.kind === "good" && !reference.isDoubtful ? "a good answer became 502" : null;
  }
  if (reference.kind !== "good") return "a bad answer became a clean one";
  if (outcome.status !== reference.status) return `status ${reference.status} became ${outcome.status}`;
  return outcome.body.toString("latin1") === reference.body ? null : "the body is another one";
}

function count(tally: FuzzTally, reference: ReferenceAnswer): void {
  tally.rounds++;
  if (reference.isDoubtful) tally.open++;
  else if (reference.kind === "good") tally.good++;
  else tally.refused++;
}
