import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, type ResponseTap, Verdict } from "../../message/exchange.ts";
import { pageOf } from "../../message/page-part.ts";
import { PhaseWait } from "../../message/phase-wait.ts";
import type { Held, NowMs } from "../../message/ports.ts";
import { Admission, type Gate } from "./gate.ts";

/** The gates of a route, its own before that of its targets. */
export interface RouteGates {
  readonly gates: readonly Gate[];
  /** Whether a request without a body takes its slot after the cache: a stored response needs none. */
  readonly isStored: boolean;
}

/** `concurrency`: lets in as many requests at once as there may be; the others wait, or get 503. docs/pressure.md#concurrency */
export class ConcurrencyPhase implements Phase {
  readonly name: "concurrency" | "fetchConcurrency";
  private readonly routes: readonly (RouteGates | null)[];
  private readonly turn: NowMs;
  private readonly isLate: boolean;

  /** @param routes by their numbers */
  constructor(name: ConcurrencyPhase["name"], routes: readonly (RouteGates | null)[], turn: NowMs) {
    this.name = name;
    this.routes = routes;
    this.turn = turn;
    this.isLate = name === "fetchConcurrency";
  }

  run(ex: Exchange): Verdict {
    const found = this.routes[ex.route!.index]!;
    if (found === null || (found.isStored && !ex.request.hasBody()) !== this.isLate) return Verdict.Next;
    const admission = new Admission(ex);
    ex.admission = admission;
    return this.pass(ex, admission, found.gates, 0);
  }

  /** Passes the gates from one on. */
  private pass(ex: Exchange, admission: Admission, gates: readonly Gate[], from: number): Verdict {
    for (let i = from; i < gates.length; i++) {
      const gate = gates[i]!;
      if (hasSlot(pageOf(ex), gate)) continue;
      const lane = gate.enter();
      if (lane < 0) return this.wait(ex, admission, gates, i);
      admission.add(gate, lane, this.turn.nowMs);
    }
    return Verdict.Next;
  }

  private wait(ex: Exchange, admission: Admission, gates: readonly Gate[], at: number): Verdict {
    const gate = gates[at]!;
    let wait: PhaseWait | null = null;
    const place: Held | null = gate.wait(ex, {
      onSlot: (lane) => {
        wait!.end();
        admission.add(gate, lane, this.turn.nowMs);
        if (this.pass(ex, admission, gates, at + 1) === Verdict.Next) wait!.goOn();
      },
      onRefused: () => {
        wait!.end();
        ex.sink.abort(ex, Fault.ConcurrencyLimit);
      },
    });
    if (place === null) {
      ex.sink.abort(ex, Fault.ConcurrencyLimit);
      return Verdict.Done;
    }
    wait = new PhaseWait(ex, () => place.release());
    return Verdict.Wait;
  }
}

/** Whether a page has a slot, or the page that it is a part of: a part that waited for its own page would wait for ever. */
function hasSlot(page: Exchange | null, gate: Gate): boolean {
  for (let at = page; at !== null; at = pageOf(at))
    if (at.admission instanceof Admission && at.admission.at(gate) !== null) return true;
  return false;
}

/** Gives the slots of an exchange back when it is over. */
export class ConcurrencyEnd implements ResponseTap {
  readonly name = "concurrency";

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    const { admission } = ex;
    if (admission === null) return;
    ex.admission = null;
    admission.release();
  }
}
