import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import type { Priority } from "./settings.ts";
import { ShedRank, type WorkerPressure } from "./shared-pressure.ts";

/** A route of routes.yaml, as shedding sees it. */
interface SheddingRoute {
  readonly priority: Priority;
  /** Whether `auth` names users: then requests pass the phase after it. */
  readonly knowsUsers: boolean;
}

/** `priority`: refuses requests while the gateway itself is short of something, the least important first. docs/pressure.md#shedding */
export class SheddingPhase implements Phase {
  readonly name: "shedding" | "userShedding";
  private readonly routes: readonly (SheddingRoute | null)[];
  private readonly pressure: WorkerPressure;
  private readonly isLate: boolean;
  /** The fractions of shares that have not made a whole request yet, by rank. */
  private readonly rests: Float64Array = new Float64Array(ShedRank.Kept);

  /** @param routes by their numbers; null for the gateway's own endpoints */
  constructor(name: SheddingPhase["name"], routes: readonly (SheddingRoute | null)[], pressure: WorkerPressure) {
    this.name = name;
    this.routes = routes;
    this.pressure = pressure;
    this.isLate = name === "userShedding";
  }

  run(ex: Exchange): Verdict {
    const { level } = this.pressure;
    if (level === 0) return Verdict.Next;
    const route = this.routes[ex.route!.index]!;
    if (route === null || route.knowsUsers !== this.isLate) return Verdict.Next;
    const rank = rankOf(route, ex);
    if (!this.isShed(rank, level)) {
      this.pressure.countAdmitted();
      return Verdict.Next;
    }
    this.pressure.count(rank);
    ex.sink.abort(ex, Fault.Overloaded);
    return Verdict.Done;
  }

  private isShed(rank: ShedRank, level: number): boolean {
    if (rank === ShedRank.Kept) return false;
    this.rests[rank]! += Math.min(1, Math.max(0, level - rank));
    if (this.rests[rank]! < 1) return false;
    this.rests[rank]!--;
    return true;
  }
}

function rankOf({ priority }: SheddingRoute, { identity }: Exchange): ShedRank {
  if (priority === "high") return ShedRank.Kept;
  if (identity !== null) return ShedRank.SignedIn;
  return priority === "low" ? ShedRank.Low : ShedRank.Normal;
}
