import { parseArgs } from "node:util";
import { Differential, DifferentialFailure } from "./differential.ts";

// By hand: bun tests/conformance/differential-run.ts [--long] [--seed N] [--count N]
// A failure prints its seed and round; `--seed <seed + round> --count 1` shows that one alone.
const { values } = parseArgs({
  options: {
    long: { type: "boolean", default: false },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    count: { type: "string" },
  },
});
const LONG = 250_000;
const SHORT = 10_000;
const seed = Number(values.seed);
const count = Number(values.count ?? (values.long ? LONG : SHORT));

console.log(`seed ${seed}, ${count} mutations`);
try {
  await run();
} catch (error) {
  // Not thrown on: Bun would end without the exit handlers that end gateways and origins.
  console.log(error instanceof DifferentialFailure ? error.message : error);
  process.exit(1);
}

async function run(): Promise<void> {
  const differential = await Differential.start();
  for (const line of differential.absent) console.log(`left out: ${line}`);
  const residentMb = () => differential.resident.map((bytes) => (bytes / 2 ** 20).toFixed(0)).join(", ");
  const before = residentMb();
  const tally = await differential.run({ seed, count, seconds: Number.POSITIVE_INFINITY });
  console.log(`${differential.laneNames.join(", ")}: no difference`, tally);
  console.log(`resident memory of each gateway in MiB: ${before} before, ${residentMb()} after`);
  await differential.stop();
}
