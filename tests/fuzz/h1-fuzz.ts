import { parseArgs } from "node:util";
import { startGateway, upstream } from "../harness/gateway.ts";
import { fuzzAnswers } from "./answer-fuzz.ts";
import { FuzzOrigin } from "./fuzz-origin.ts";
import { FuzzFailure, type FuzzTally } from "./fuzz-report.ts";
import { fuzzRequests } from "./request-fuzz.ts";

// By hand: bun tests/fuzz/h1-fuzz.ts [--seconds 60] [--seed N] [--rounds N] [--mode normalize|passthrough]
//          [--only requests|answers]
// A failure prints its seed and round; `--seed <seed + round> --rounds 1` shows that one alone.
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    rounds: { type: "string", default: "1000000000" },
    mode: { type: "string", default: "normalize" },
    only: { type: "string", default: "" },
  },
});
const fuzzers = { requests: fuzzRequests, answers: fuzzAnswers };
const chosen = Object.entries(fuzzers).filter(([name]) => values.only === "" || values.only === name);
const limits = {
  seed: Number(values.seed),
  rounds: Number(values.rounds),
  seconds: Number(values.seconds) / chosen.length,
};

console.log(`seed ${limits.seed}, ${values.mode} mode`);
const origin = new FuzzOrigin();
const gateway = await startGateway({
  config: { server: { inbound_chunked_mode: values.mode, half_close_grace: "serve", access_log: { enabled: false } } },
  routes: [upstream("/node", origin)],
});
try {
  for (const [name, fuzz] of chosen) show(name, await fuzz(gateway.port, origin, limits));
  await gateway.stop();
} catch (error) {
  console.log(error instanceof FuzzFailure ? error.message : error);
  console.log(gateway.errors.tail());
  process.exitCode = 1;
} finally {
  gateway.kill();
  origin.stop();
}

function show(name: string, { rounds, good, refused, open }: FuzzTally): void {
  console.log(
    `${name}: ${rounds} rounds without a fault; ${good} good, ${refused} bad, ${open} that the documentation leaves open`,
  );
}
