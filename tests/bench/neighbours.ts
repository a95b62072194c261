// Neighbours on a shared machine: processes that keep every processor busy, and its caches full of what is theirs.
import { availableParallelism } from "node:os";

const WALKED_BYTES = 64 * 1024 * 1024;
/** Reads and writes one number of each line of the caches, in an order that no processor foresees. */
const WALK = `const lines = new Float64Array(${WALKED_BYTES / 8});
for (let at = 1; ; at = (at * 16807 + 11) % lines.length) lines[at] += 1;`;

/** One busy neighbour a processor, of the priority of all others. */
export class Neighbours {
  private readonly processes: Bun.Subprocess[];
  private readonly end = (): void => {
    for (const process of this.processes) process.kill("SIGKILL");
  };

  constructor() {
    const command = [process.execPath, "-e", WALK];
    const files = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
    this.processes = Array.from({ length: availableParallelism() }, () => Bun.spawn(command, files));
    process.on("exit", this.end);
  }

  async leave(): Promise<void> {
    this.end();
    process.off("exit", this.end);
    await Promise.all(this.processes.map(({ exited }) => exited));
  }
}
