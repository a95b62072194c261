// The origins of the chaos run and what is done to them.
import { join } from "node:path";
import type { Subprocess } from "bun";
import { freePort } from "../harness/gateway.ts";
import type { SeededRandom } from "../harness/seeded-random.ts";

const SETTLE_MS = 1000;

/** What can happen to an origin. */
export type Mischief = "kill" | "stop" | "restart" | "slow";

/** How an origin process is started. */
export interface OriginProcess {
  /** A program of this folder that takes its port as its first argument. */
  readonly script: string;
  readonly port: number;
  /** Further arguments. */
  readonly args: readonly string[];
  readonly hostname: string;
}

/** An origin process that comes back on its port. */
export class ChaosOrigin {
  readonly port: number;
  /** Whether something is being done to it. */
  isTroubled = false;
  private child: Subprocess<"ignore", "pipe", "inherit">;
  private readonly name: string;
  private readonly onLine: (line: string) => void;
  private readonly program: OriginProcess;

  /** @param onLine hears of every line that the origin writes, such as the path of a POST that it has run */
  constructor(name: string, onLine: (line: string) => void, program: Partial<OriginProcess> = {}) {
    this.name = name;
    this.onLine = onLine;
    const defaults = { script: "chaos-origin.ts", port: freePort(), args: [name], hostname: "127.0.0.1" };
    this.program = { ...defaults, ...program };
    this.port = this.program.port;
    this.child = this.spawn();
  }

  get url(): string {
    return `http://${this.program.hostname}:${this.port}`;
  }

  /** Does it, waits, and undoes it. */
  async suffer(mischief: Mischief, ms: number): Promise<void> {
    this.isTroubled = true;
    if (mischief === "stop") await this.between("SIGSTOP", "SIGCONT", ms);
    else if (mischief === "slow") await this.between("SIGUSR2", "SIGUSR2", ms);
    else {
      this.child.kill(mischief === "kill" ? "SIGKILL" : "SIGTERM");
      await this.child.exited;
      await Bun.sleep(mischief === "kill" ? ms : 0);
      this.child = this.spawn();
      await this.untilUp();
    }
    // It is well again for the others when the gateway knows it: two good probes.
    await Bun.sleep(SETTLE_MS);
    this.isTroubled = false;
  }

  /** Waits until it answers. */
  async untilUp(): Promise<void> {
    for (let i = 0; i < 500; i++) {
      const reply = await fetch(this.url, { keepalive: false }).catch(() => null);
      if (reply?.ok) return;
      await Bun.sleep(10);
    }
    throw new Error(`the origin ${this.name} does not come up`);
  }

  /** Ends it for good. */
  end(): void {
    this.child.kill("SIGKILL");
  }

  private async between(first: NodeJS.Signals, then: NodeJS.Signals, ms: number): Promise<void> {
    this.child.kill(first);
    await Bun.sleep(ms);
    this.child.kill(then);
  }

  private spawn(): Subprocess<"ignore", "pipe", "inherit"> {
    const { script, args } = this.program;
    const child = Bun.spawn([process.execPath, join(import.meta.dir, script), String(this.port), ...args], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    void this.readLines(child.stdout);
    return child;
  }

  private async readLines(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stream) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.onLine(line);
    }
  }
}

/** Troubles the origins at random until it is over; one of them is always left alone, or nobody could answer. */
export async function makeTrouble(
  origins: readonly ChaosOrigin[],
  random: SeededRandom,
  isOver: () => boolean,
  onMischief: (mischief: Mischief) => void,
): Promise<void> {
  const running = new Set<Promise<void>>();
  while (!isOver()) {
    await Bun.sleep(random.integer(100, 1500));
    const left = origins.filter((origin) => !origin.isTroubled);
    if (left.length < 2 || isOver()) continue;
    const mischief = random.pick<Mischief>(["kill", "kill", "stop", "stop", "restart", "slow"]);
    onMischief(mischief);
    const done: Promise<void> = random
      .pick(left)
      .suffer(mischief, random.integer(300, 4000))
      .finally(() => running.delete(done));
    running.add(done);
  }
  await Promise.all(running);
}
