import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { makeGroup, PLACEHOLDER } from "./attack-group.ts";
import { differenceOf, type LaneOutcome, refusalsIn } from "./comparison.ts";
import { Lane } from "./lane.ts";
import { NginxOrigin } from "./nginx-origin.ts";
import { RealOrigins } from "./real-origins.ts";

/** How long a run goes on: until the count or the time is reached. */
export interface DifferentialLimits {
  readonly seed: number;
  readonly count: number;
  readonly seconds: number;
}

/** What a run has seen. */
export interface DifferentialTally {
  /** Groups of requests that went through every lane and were compared. */
  mutations: number;
  /** Answers of an origin, of the gateway itself, and groups in which an origin refused by a rule of its own. */
  forwarded: number;
  gateway: number;
  refusedByOrigin: number;
}

/** What was understood differently, with all that is needed to see it again. */
export class DifferentialFailure extends Error {
  constructor(what: string, seed: number, round: number, text: string) {
    const base64 = Buffer.from(text, "latin1").toString("base64");
    super(
      `${what}\n  seed ${seed}, round ${round}\n  bytes ${JSON.stringify(text.slice(0, 3000))}\n  base64 ${base64}`,
    );
  }
}

/** What stands in front of an origin: the gateway, or one that must be found out. */
export interface Front {
  readonly port: number;
  stop(): void | Promise<void>;
  memory?(): { readonly resident: number } | null;
}

/** Real origins, a gateway in front of each: every lane gets the same bytes. */
export class Differential {
  /** One line for each origin that is not there. */
  readonly absent: string[] = [];

  private constructor(
    private readonly gateways: readonly Front[],
    private readonly lanes: readonly Lane[],
    private readonly stopOrigins: () => Promise<void>,
  ) {}

  get laneNames(): string[] {
    return this.lanes.map((lane) => lane.name);
  }

  /** Resident memory of the gateways now, in bytes; empty where the system does not tell. */
  get resident(): number[] {
    return this.gateways.flatMap((gateway) => gateway.memory?.()?.resident ?? []);
  }

  /** Starts the origins that are there, each behind a gateway of its own. */
  static async start(startFront: (url: string) => Promise<Front> = startInFrontOf): Promise<Differential> {
    const origins = await RealOrigins.start();
    const nginx = await NginxOrigin.start();
    const urls = new Map<string, string>(origins.urls);
    if (nginx !== null) urls.set("nginx", nginx.url);
    const gateways = await Promise.all([...urls.values()].map(startFront));
    const lanes = [...urls.keys()].map((name, i) => new Lane(name, gateways[i]!.port));
    const differential = new Differential(gateways, lanes, async () => {
      await nginx?.stop();
      origins.stop();
    });
    differential.absent.push(...origins.absent);
    if (nginx === null) differential.absent.push("nginx: left out, there is no nginx command");
    return differential;
  }

  /** Sends every group through every lane and compares; throws a DifferentialFailure. */
  async run(limits: DifferentialLimits): Promise<DifferentialTally> {
    const tally: DifferentialTally = { mutations: 0, forwarded: 0, gateway: 0, refusedByOrigin: 0 };
    const waiting = new Map<number, LaneOutcome[]>();
    const state = { isOver: false };
    const deadline = performance.now() + limits.seconds * 1000;
    const compare = (round: number, text: string, found: LaneOutcome): void => {
      const row = [...(waiting.get(round) ?? []), found];
      waiting.set(round, row);
      if (row.length < this.lanes.length) return;
      waiting.delete(round);
      const difference = differenceOf(row);
      if (difference !== null) throw new DifferentialFailure(difference, limits.seed, round, text);
      count(tally, row);
    };
    // The lanes do not wait for each other; a slow origin only keeps more of the others' outcomes waiting.
    const walk = async (lane: Lane): Promise<void> => {
      await lane.canary([]);
      for (let round = 0; round < limits.count && !state.isOver && performance.now() < deadline; round++) {
        const text = textOf(limits.seed + round);
        const outcome = await lane.attack(piecesOf(text, limits.seed + round));
        const wrong = outcome.fault ?? (await lane.canary(outcome.answers));
        if (wrong !== null) throw new DifferentialFailure(`${lane.name}: ${wrong}`, limits.seed, round, text);
        compare(round, text, { lane: lane.name, outcome });
      }
    };
    const endAll = (error: unknown): never => {
      state.isOver = true;
      throw error;
    };
    const walks = await Promise.allSettled(this.lanes.map((lane) => walk(lane).catch(endAll)));
    for (const lane of this.lanes) lane.close();
    for (const each of walks) if (each.status === "rejected") throw each.reason;
    return tally;
  }

  async stop(): Promise<void> {
    try {
      for (const gateway of this.gateways) await gateway.stop();
    } finally {
      await this.stopOrigins();
    }
  }
}

/** As long as the placeholder, so that it changes no length. */
const PASSTHROUGH = "/thru";

// A lane ends its direction with its last byte, and an origin on a busy machine may take longer than the grace for that.
function startInFrontOf(url: string): Promise<Gateway> {
  return startGateway({
    config: { server: { access_log: { enabled: false }, half_close_grace: "serve" } },
    routes: [upstream(PLACEHOLDER, { url }), upstream(PASSTHROUGH, { url }, { inbound_chunked_mode: "passthrough" })],
  });
}

/** Every other group goes through the passthrough route. */
function textOf(seed: number): string {
  const text = makeGroup(new SeededRandom(seed));
  return seed % 2 === 0 ? text : text.replaceAll(PLACEHOLDER, PASSTHROUGH);
}

/**
 * Mostly in one write; the fuzzer sees to every other way to cut it. The cuts lie before the end of any head: what comes
 * behind an answer that closes may be met by a reset, and the answers would depend on the time.
 */
function piecesOf(text: string, seed: number): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  const random = new SeededRandom(~seed);
  if (random.chance(0.8)) return [bytes];
  const cuts = [random.integer(1, 12), random.integer(1, 12)].sort((a, b) => a - b);
  return [0, ...cuts].map((from, i, all) => bytes.subarray(from, all[i + 1]));
}

function count(tally: DifferentialTally, row: readonly LaneOutcome[]): void {
  tally.mutations++;
  for (const answer of row[0]!.outcome.answers) {
    if (answer.from === "gateway") tally.gateway++;
    else tally.forwarded++;
  }
  if (refusalsIn(row) > 0) tally.refusedByOrigin++;
}
