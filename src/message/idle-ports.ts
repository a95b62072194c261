import { type BodySink, type Exchange, IDLE_PIPELINE, type IdleExchangePorts } from "./exchange.ts";

function nothing(_ex: Exchange): void {}

/** An unused exchange points at these ports, which forget everything. */
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

/** Stands in for the taker of a buffered body, until there is one. */
export const NO_TAKER: BodySink = { onBody: nothing, onBodyEnd: nothing, onBodyFault: nothing };
