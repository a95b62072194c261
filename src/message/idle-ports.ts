import { type BodySink, type Exchange, IDLE_PIPELINE, type IdleExchangePorts } from "./exchange.ts";

function nothing(_ex: Exchange): void {}

/** What an exchange points at while it is not in use: everything is taken and forgotten. */
export const IDLE_PORTS: IdleExchangePorts = {
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
  pipeline: IDLE_PIPELINE,
};

/** Takes the place of the taker of a body that is held, until there is one. */
export const NO_TAKER: BodySink = { onBody: nothing, onBodyEnd: nothing, onBodyFault: nothing };
