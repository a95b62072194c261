import { main } from "../src/cli/main.ts";
import type { HeldSignals } from "../src/control/held-signals.ts";

/** What `edge.ts` loads when it holds the signals. */
export function run(signals: HeldSignals): Promise<void> {
  return main(process.argv.slice(2), signals);
}
