import { percentile } from "../bench/figures.ts";
import { RawClient, request } from "../harness/raw-client.ts";

/** What an ordinary client met. */
export interface BenignTally {
  requests: number;
  failures: number;
  /** The first failures, for messages. */
  readonly examples: string[];
  readonly latenciesMs: number[];
}

/** Ordinary clients beside an attack: kept connections, and now and then a fresh one, at a steady pace. */
export class BenignClient {
  readonly tally: BenignTally = { requests: 0, failures: 0, examples: [], latenciesMs: [] };
  private isOver = false;
  private readonly walkers: readonly Promise<void>[];

  /** Begins at once. */
  constructor(
    private readonly port: number,
    private readonly path: string,
    readonly connections = 8,
  ) {
    this.walkers = Array.from({ length: connections }, () => this.walk());
  }

  /** Ends it and gives what it met. */
  async stop(): Promise<BenignTally> {
    this.isOver = true;
    await Promise.all(this.walkers);
    return this.tally;
  }

  private async walk(): Promise<void> {
    let client: RawClient | null = null;
    for (let i = 0; !this.isOver; i++) {
      if (i % FRESH_EVERY === 0) {
        client?.close();
        client = null;
      }
      client = await this.ask(client);
      await Bun.sleep(PAUSE_MS);
    }
    client?.close();
  }

  /** One request. @returns the connection, when it can be used again */
  private async ask(kept: RawClient | null): Promise<RawClient | null> {
    const started = performance.now();
    let client = kept;
    try {
      client ??= await RawClient.connect(this.port);
      client.send(request(`GET ${this.path}`));
      const reply = await client.reply("GET", PATIENCE_MS);
      if (reply.status !== 200) throw new Error(`status ${reply.status}`);
      return client;
    } catch (error) {
      this.tally.failures++;
      if (this.tally.examples.length < 5) this.tally.examples.push(String(error));
      client?.reset();
      return null;
    } finally {
      this.tally.requests++;
      this.tally.latenciesMs.push(performance.now() - started);
    }
  }
}

/** Share of the requests that were answered 200, in percent. */
export function successPercent({ requests, failures }: BenignTally): number {
  return requests === 0 ? 0 : (100 * (requests - failures)) / requests;
}

/** One line for people. */
export function describeBenign(tally: BenignTally): string {
  const [p50, p99] = [50, 99].map((percent) => percentile(tally.latenciesMs, percent).toFixed(1));
  const success = successPercent(tally).toFixed(3);
  return `${tally.requests} benign requests, ${success} % good, p50 ${p50} ms, p99 ${p99} ms`;
}

const FRESH_EVERY = 20;
const PAUSE_MS = 15;
/** Whether it is served is asked here, not how fast: on a busy machine everybody waits. */
const PATIENCE_MS = 10_000;
