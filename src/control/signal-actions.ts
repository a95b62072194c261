import { stackOf } from "../core/error-text.ts";
import type { WriteEvent } from "../facts/events.ts";
import { type LogOutputs, reopened } from "../features/telemetry/control/log-outputs.ts";
import { catchStrays } from "../net/strays.ts";
import type { Ending } from "./ending.ts";
import type { Handover } from "./handover.ts";
import type { HeldSignals } from "./held-signals.ts";
import type { Operations } from "./operations.ts";

/** What signals act on. */
interface SignalTargets {
  readonly signals: HeldSignals;
  readonly operations: Operations;
  readonly handover: Handover;
  readonly ending: Ending;
  readonly outputs: LogOutputs;
  readonly event: WriteEvent;
}

/** From now on signals do what docs/operations.md says of them, each with its line `audit`; and what escapes in this thread is a line of the log. */
export function reactToSignals({ signals, operations, handover, ending, outputs, event }: SignalTargets): void {
  const audit = (action: string, from: string) => operations.audit(action, { by: "signal", from });
  const end = (signal: string): void => {
    if (!handover.hasSuccessor) audit("stop", signal);
    ending.begin();
  };
  catchStrays((what, error) => event("exception", { what, error: stackOf(error) }));
  signals.react({
    SIGTERM: () => end("SIGTERM"),
    SIGINT: () => end("SIGINT"),
    SIGHUP: () => {
      handover.reloadLater();
      void operations.reload({ by: "signal", from: "SIGHUP" });
    },
    SIGUSR1: () => {
      audit("log_reopen", "SIGUSR1");
      event("log_reopen", reopened(outputs.reopen()));
    },
    SIGUSR2: () => {
      audit("upgrade", "SIGUSR2");
      if (!ending.hasBegun) handover.want();
    },
  });
}
