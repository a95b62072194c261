import { makeAnswer } from "../fuzz/answer-seeds.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import type { AnswerClient, ClientView } from "./answer-clients.ts";

/** What a run has seen. */
export interface AnswerTally {
  mutations: number;
  /** Answers that reached the clients whole, as 502 of the gateway, and cut off. */
  relayed: number;
  refused: number;
  cut: number;
  /** Answers that one client would not take, by a rule of its own or because the cut came before it had read the head. */
  refusedByClient: number;
}

/** An origin that answers by number with mutated bytes and then ends, the same bytes each time. */
export function mutatedAnswers(): ScriptedOrigin {
  const origin = ScriptedOrigin.start();
  const forget = () => {
    origin.requests.length = 0;
    const open = origin.connections.filter((connection) => !connection.isClosed);
    origin.connections.splice(0, origin.connections.length, ...open);
  };
  return origin
    .on("/canary", (call) => {
      call.reply("200 OK", [], `canary ${numberOf(call.request.target)}`);
      if (origin.requests.length > MAX_ON_RECORD) forget();
    })
    .on("/answer", (call) => {
      const connection = call.takeOver();
      connection.send(answerOf(numberOf(call.request.target)));
      connection.finish();
    });
}

/** The bytes of an answer. */
export function answerOf(n: number): string {
  return makeAnswer(new SeededRandom(n));
}

/**
 * Lets every client ask for the same answers through one gateway, and compares what they understood.
 * @returns the tally, and one text for each difference
 */
export async function compareAnswers(
  port: number,
  clients: readonly AnswerClient[],
  first: number,
  count: number,
): Promise<{ tally: AnswerTally; differences: string[] }> {
  const views = await Promise.all(clients.map((client) => client.ask(port, first, count)));
  const tally: AnswerTally = { mutations: 0, relayed: 0, refused: 0, cut: 0, refusedByClient: 0 };
  const differences: string[] = [];
  for (let i = 0; i < count; i++) {
    const row = views.map((each) => each[i]!);
    const taken = row.filter(({ status }) => status !== 0);
    const wrong = differenceOf(row, taken);
    if (wrong !== "") {
      const said = row.map((view, k) => `${clients[k]!.name}: ${JSON.stringify(view)}`).join("\n  ");
      differences.push(`answer ${first + i}: ${wrong}\n  ${JSON.stringify(answerOf(first + i))}\n  ${said}`);
    }
    tallyOne(tally, row, taken);
  }
  return { tally, differences };
}

const MAX_ON_RECORD = 500;

function numberOf(target: string): number {
  return Number(/[?&]n=(\d+)/.exec(target)?.[1] ?? 0);
}

function differenceOf(row: readonly ClientView[], taken: readonly ClientView[]): string {
  if (row.some(({ canary }) => !canary)) return "the request behind it did not get its own answer";
  const [one] = taken;
  if (one === undefined) return "no client takes what the gateway sent";
  for (const other of taken) {
    if (other.status !== one.status) return "the status is not the same";
    if (other.cut !== one.cut) return "some take a broken answer for whole";
    if (other.body !== one.body) return "the body is not the same";
    if (comparable(other) !== comparable(one)) return "the fields are not the same";
  }
  return "";
}

/** The fields that are not the connection's own, and the same each time. */
function comparable({ fields }: ClientView): string {
  const own = /^(date|connection|keep-alive|x-request-id|transfer-encoding|content-length|trailer|server):/;
  return fields
    .filter((field) => !own.test(field))
    .sort()
    .join("\n");
}

function tallyOne(tally: AnswerTally, row: readonly ClientView[], taken: readonly ClientView[]): void {
  tally.mutations++;
  const [one] = taken;
  if (one?.cut) tally.cut++;
  else if (one?.status === 502) tally.refused++;
  else if (one !== undefined) tally.relayed++;
  if (taken.length < row.length) tally.refusedByClient++;
}
