import { afterAll, expect, test } from "bun:test";
import { NaiveGateway } from "../fuzz/naive-gateway.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { samples } from "../harness/long-lane.ts";
import { answerClients } from "./answer-clients.ts";
import { compareAnswers, mutatedAnswers } from "./answer-differential.ts";

// Whatever the gateway relays of a mutated answer is understood alike by real clients. The same seed each time, so that it
// fails for what has changed and for nothing else; ANSWER_SEED and ANSWER_COUNT have others.
const first = Number(process.env.ANSWER_SEED ?? 1);
const count = Number(process.env.ANSWER_COUNT ?? samples(4000, 2000));

const { clients, absent } = answerClients();
for (const line of absent) console.log(`skipped: answer differential ${line}`);
const origin = mutatedAnswers();
let gateway: Gateway | null = null;
afterAll(async () => {
  await gateway?.stop();
  origin.stop();
});

// Only a comparison needs two.
test.skipIf(clients.length < 2)(
  `${count} mutated answers are understood alike, from number ${first} on`,
  async () => {
    gateway = await startGateway({
      config: { server: { access_log: { enabled: false } } },
      routes: [upstream("/node", origin)],
    });
    const { tally, differences } = await compareAnswers(gateway.port, clients, first, count);
    console.log(
      `answer differential: ${tally.mutations} mutated answers, ${tally.relayed} relayed, ${tally.refused} refused with 502, ` +
        `${tally.cut} cut off, ${tally.refusedByClient} not taken by one client alone, ` +
        `by ${clients.map(({ name }) => name).join(", ")}, from number ${first} on`,
    );
    expect(differences.slice(0, 3)).toEqual([]);
    expect(Math.min(tally.relayed, tally.refused)).toBeGreaterThan(count / 10);
  },
  110_000,
);

test.skipIf(clients.length < 2)(
  "a naive gateway is found out",
  async () => {
    const naive = new NaiveGateway(origin.port);
    const { differences } = await compareAnswers(naive.port, clients, 1, 500);
    naive.stop();
    expect(differences.length).toBeGreaterThan(0);
  },
  60_000,
);
