import { join } from "node:path";
import { LineCollector } from "../harness/line-collector.ts";

/** The origins of scripts/origins, in the order of its arguments. */
export const ORIGIN_NAMES = ["node", "python", "go"] as const;
export type OriginName = (typeof ORIGIN_NAMES)[number];

/** Real origins on free ports, as scripts/origins/start runs them. */
export class RealOrigins {
  /** Where each origin listens; those that could not be started are not in it. */
  readonly urls = new Map<OriginName, string>();
  /** One line for each wanted origin that is not there. */
  readonly absent: string[] = [];

  private constructor(private readonly child: Bun.Subprocess<"ignore", "pipe", "pipe">) {}

  /** Starts those of the wanted origins whose runtime is there. */
  static async start(wanted: readonly OriginName[] = ORIGIN_NAMES): Promise<RealOrigins> {
    const ports = ORIGIN_NAMES.map((name) => (wanted.includes(name) ? "0" : "-"));
    const child = Bun.spawn([START, ...ports], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    const origins = new RealOrigins(child);
    running.add(origins);
    const said = new LineCollector();
    void said.follow(child.stdout);
    for (const name of wanted) {
      const line = await firstWords(said, name);
      const url = /: (http:\S+)$/.exec(line)?.[1];
      if (url === undefined) origins.absent.push(line);
      else origins.urls.set(name, url);
    }
    return origins;
  }

  stop(): void {
    running.delete(this);
    this.child.kill("SIGTERM");
  }
}

const START = join(import.meta.dir, "..", "..", "scripts", "origins", "start");
/** The first build of the Go origin compiles the standard library too. */
const START_MS = 120_000;
const running = new Set<RealOrigins>();

// Nothing outlives the test process, however it ends.
process.on("exit", () => {
  for (const origins of running) origins.stop();
});

async function firstWords(said: LineCollector, name: string): Promise<string> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    const line = said.lines.find((each) => each.startsWith(`${name}: `));
    if (line !== undefined) return line;
    if (performance.now() > deadline) return `${name}: not started in ${START_MS / 1000} s`;
    await Bun.sleep(20);
  }
}
