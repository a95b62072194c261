// A server whose answers take a known time: for measuring how well a load generator measures.
import { SeededRandom } from "../../harness/seeded-random.ts";
import { AnswerQueue } from "./answer-queue.ts";

/** How long answers take. */
export interface DelayProfile {
  /** Parts of all requests with the bounds in milliseconds between which their delays are spread evenly. */
  readonly parts: readonly { readonly share: number; readonly fromMs: number; readonly toMs: number }[];
  /** Every so often no answer leaves for a while; 0 for never. */
  readonly stallEveryMs: number;
  readonly stallMs: number;
}

/** The delay of one request. */
export function drawDelay({ parts }: DelayProfile, random: SeededRandom): number {
  let left = random.next();
  for (const { share, fromMs, toMs } of parts) {
    if (left < share) return fromMs + random.next() * (toMs - fromMs);
    left -= share;
  }
  return parts.at(-1)!.toMs;
}

/** When an answer that is ready at `readyMs` leaves: at once, or at the end of the stall. Stalls begin at full periods. */
export function leavingAt({ stallEveryMs, stallMs }: DelayProfile, readyMs: number): number {
  if (stallEveryMs === 0) return readyMs;
  const into = readyMs % stallEveryMs;
  return into < stallMs ? readyMs - into + stallMs : readyMs;
}

/**
 * The latencies that a perfect observer would see: requests come at Poisson intervals, wait for one of the connections,
 * and are answered as the profile says. Sorted, in milliseconds.
 * @param answerMs what the server takes to write one answer, where a stall has held back many: they leave one by one
 */
export function trueLatencies(
  profile: DelayProfile,
  perSecond: number,
  connections: number,
  seconds: number,
  answerMs = 0,
): number[] {
  const random = new SeededRandom(SEED);
  const free = new Float64Array(connections);
  const latencies: number[] = [];
  let stallEndMs = -1;
  let heldBack = 0;
  for (let dueMs = 0; dueMs < seconds * 1000; dueMs += (-Math.log(1 - random.next()) * 1000) / perSecond) {
    const connection = smallest(free);
    const sentMs = Math.max(dueMs, free[connection]!);
    const readyMs = sentMs + drawDelay(profile, random);
    let leavesMs = leavingAt(profile, readyMs);
    if (leavesMs > readyMs) {
      heldBack = leavesMs === stallEndMs ? heldBack + 1 : 0;
      stallEndMs = leavesMs;
      leavesMs += heldBack * answerMs;
    }
    free[connection] = leavesMs;
    latencies.push(free[connection]! - dueMs);
  }
  return latencies.sort((a, b) => a - b);
}

/** A server that answers every request as the profile says. */
export class DelayedAnswers {
  /** What it really took, from the arrival of a request to the departure of its answer, in milliseconds. */
  readonly tookMs: number[] = [];
  /** From one answer to the next of those that a stall held back, in milliseconds. */
  readonly gapsMs: number[] = [];
  private lastEndMs = 0;
  private lastLeftMs = 0;
  private readonly random = new SeededRandom(SEED + 1);
  private readonly queue = new AnswerQueue<Bun.Socket<Times>>((client) => {
    const now = performance.now();
    this.tookMs.push(now - client.data.received);
    if (client.data.stallEndMs > 0 && client.data.stallEndMs === this.lastEndMs)
      this.gapsMs.push(now - this.lastLeftMs);
    this.lastEndMs = client.data.stallEndMs;
    this.lastLeftMs = now;
    client.write(ANSWER);
  });
  private readonly listener: Bun.TCPSocketListener<Times>;

  constructor(profile: DelayProfile) {
    this.listener = Bun.listen<Times>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (socket) => {
          socket.data = { received: 0, stallEndMs: 0 };
        },
        data: (socket) => {
          socket.data.received = performance.now();
          const readyMs = socket.data.received + drawDelay(profile, this.random);
          const leavesMs = leavingAt(profile, readyMs);
          socket.data.stallEndMs = leavesMs > readyMs ? leavesMs : 0;
          // What a stall has held back leaves in the order in which it was ready: a nanosecond behind for each millisecond.
          this.queue.add(leavesMs + (leavesMs > readyMs ? 1e-6 * (readyMs + profile.stallMs - leavesMs) : 0), socket);
        },
        error: () => {},
      },
    });
  }

  get port(): number {
    return this.listener.port;
  }
}

interface Times {
  received: number;
  /** The end of the stall that holds the answer back; 0 where none does. */
  stallEndMs: number;
}

const SEED = 4711;
const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");

function smallest(values: Float64Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! < values[best]!) best = i;
  return best;
}
