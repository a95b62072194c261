import type { IdleExchangePorts } from "../../../src/message/exchange.ts";
import { Pipeline } from "../../../src/message/pipeline.ts";

function nothing(): void {}

/** What an exchange points at while nobody uses it: everything is taken and forgotten. */
export const IDLE: IdleExchangePorts = {
  sink: {
    fixed: nothing,
    interim: nothing,
    head: nothing,
    body: () => true,
    end: nothing,
    abort: nothing,
    wantBody: nothing,
    upgrade: (_ex, tunnel) => tunnel,
  },
  flow: { pauseBody: nothing, resumeBody: nothing },
  body: { onBody: nothing, onBodyEnd: nothing, onBodyFault: nothing },
  source: { onWritable: nothing, onCancelled: nothing },
  pipeline: new Pipeline([], [], []),
};
