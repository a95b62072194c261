// What other routes notice of a function in an endless loop, of one that takes memory without end, and of one that crashes at each request.
import { setPriority } from "node:os";
import { join } from "node:path";
import { askForTimeSlice } from "../../src/net/thread-turns.ts";
import type { LoadTally } from "../../src/tools/loadgen/load-tally.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { fixed, inTurn, median, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import type { Options } from "./options.ts";
import { runPaced } from "./paced-run.ts";
import { progress, type Section } from "./section.ts";

/** One turn of the load on the other route. */
interface Sample {
  /** From the write on: without what the generator was late. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How late the generator itself was, 99th percentile. */
  readonly lateP99Ms: number;
  readonly failed: number;
  /** How often the function was asked meanwhile. */
  readonly asked: number;
}

const PER_SECOND = 2000;
const CONNECTIONS = 16;
const WARM_UP_SECONDS = 1;
/** The other routes: one without code, and a function of another module. */
const OTHERS = { respond: "/respond", "another function": "/hello" } as const;
const NO_FAULT = "no fault, asked as fast";
/** What each module does with a request; "" asks none of them. `all` outlives requests. The second shows what the asking alone costs others. */
const TROUBLES = {
  calm: "",
  [NO_FAULT]: "return new Response();",
  "endless loop": "for (;;);",
  "leak, 1 MB a request": "all.push(Array.from({ length: 20_000 }, (_, i) => ({ i }))); return new Response();",
  "leak in a loop": "for (;;) all.push(Array.from({ length: 1000 }, (_, i) => ({ i })));",
  "crash at each request": "process.exit(1);",
} as const;
type Trouble = keyof typeof TROUBLES;
const NAMES = Object.keys(TROUBLES) as Trouble[];
const PATHS = Object.fromEntries(NAMES.map((name, i) => [name, `/trouble-${i}`])) as Record<Trouble, string>;

/** Errors and latency of other routes at 2,000 requests a second, in calm and beside each of the three, in turns. */
export async function measureFunctionTrouble(options: Options, _lab: Lab): Promise<Section> {
  // The generator shares the processors with code that takes all it gets: it comes first, so that the gateway is what is measured.
  askForTimeSlice(100);
  raisePriority();
  const samples = new Map<string, Sample[]>();
  for (let round = 1; round <= options.rounds; round++) {
    const gateway = await startTroubled(options.edge);
    try {
      for (const path of Object.values(OTHERS)) await load(gateway, path, WARM_UP_SECONDS);
      for (const trouble of inTurn(NAMES, round)) {
        for (const [other, path] of Object.entries(OTHERS)) {
          const sample = await besideOne(gateway, trouble, path, options.seconds);
          const name = `${other}, ${trouble}`;
          samples.set(name, [...(samples.get(name) ?? []), sample]);
          progress(
            `round ${round} ${name}: p99 ${fixed(sample.p99Ms, 2)} ms, ${sample.failed} failed, ${sample.asked} asked`,
          );
        }
      }
    } finally {
      await gateway.stop();
    }
  }
  const failed = [...samples.values()].flat().reduce((sum, sample) => sum + sample.failed, 0);
  return {
    name: "function-trouble",
    markdown: markdownOf(samples),
    data: Object.fromEntries(samples),
    failed: failed > 0,
  };
}

function startTroubled(binary: string): Promise<Gateway> {
  const troubled = NAMES.filter((name) => name !== "calm");
  return startGateway({
    config: { server: { workers: 1, access_log: { enabled: false } } },
    routes: [
      { type: "respond", prefix: "/respond", body: "hello" },
      { type: "function", prefix: "/hello", module: "./hello.ts" },
      ...troubled.map((name) => ({
        ...{ type: "function", prefix: PATHS[name], module: `.${PATHS[name]}.ts`, timeout: "1s" },
      })),
    ],
    files: {
      "hello.ts": 'export default { fetch: () => new Response("hello") };\n',
      ...Object.fromEntries(
        troubled.map((name) => [
          `${PATHS[name].slice(1)}.ts`,
          `const all = [];\nexport default { fetch() { ${TROUBLES[name]} } };\n`,
        ]),
      ),
    },
    binary,
  });
}

/** Of this thread alone: what it starts has the usual one. */
function raisePriority(): void {
  try {
    setPriority(0, -15);
  } catch {
    progress(
      "without the right to raise the generator's priority: it is late itself beside code that takes all processors",
    );
  }
}

/** One load, while a thread asks the function in trouble again as soon as it has its response. */
async function besideOne(gateway: Gateway, trouble: Trouble, path: string, seconds: number): Promise<Sample> {
  const asker = trouble === "calm" ? null : new Worker(join(import.meta.dir, "asker.ts"));
  asker?.postMessage(`http://127.0.0.1:${gateway.port}${PATHS[trouble]}`);
  const tally = await load(gateway, path, seconds);
  const asked = asker === null ? 0 : await askedBy(asker);
  return {
    p50Ms: tally.service.percentileMs(50),
    p99Ms: tally.service.percentileMs(99),
    lateP99Ms: tally.lateness.percentileMs(99),
    failed: tally.benignTotal - tally.benignGood,
    asked,
  };
}

function askedBy(asker: Worker): Promise<number> {
  return new Promise((resolve) => {
    asker.onmessage = ({ data }: MessageEvent<number>) => {
      asker.terminate();
      resolve(data);
    };
    asker.postMessage("");
  });
}

function load({ port }: Gateway, path: string, seconds: number): Promise<LoadTally> {
  return runPaced({ port, path, connections: CONNECTIONS, benignPerSecond: PER_SECOND, attacksPerSecond: 0, seconds });
}

function markdownOf(samples: ReadonlyMap<string, readonly Sample[]>): string {
  const middle = (name: string, what: keyof Sample) => median((samples.get(name) ?? []).map((sample) => sample[what]));
  const rows = Object.keys(OTHERS).flatMap((other) =>
    NAMES.map((trouble) => {
      const name = `${other}, ${trouble}`;
      const calm = middle(`${other}, calm`, "p99Ms");
      const busy = middle(`${other}, ${NO_FAULT}`, "p99Ms");
      const failed = (samples.get(name) ?? []).reduce((sum, sample) => sum + sample.failed, 0);
      return [
        name,
        fixed(middle(name, "p50Ms"), 2),
        fixed(middle(name, "p99Ms"), 2),
        fixed(middle(name, "p99Ms") / calm, 2),
        fixed(middle(name, "p99Ms") / busy, 2),
        fixed(middle(name, "lateP99Ms"), 2),
        String(failed),
        fixed(middle(name, "asked"), 0),
      ];
    }),
  );
  const head = [
    `${PER_SECOND}/s, beside`,
    "p50 ms",
    "p99 ms",
    "p99 / calm",
    `p99 / ${NO_FAULT}`,
    "generator late p99 ms",
    "failed",
    "requests of the function",
  ];
  return table(head, rows);
}
