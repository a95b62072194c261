import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import type { PageText } from "./page-text.ts";

/** Maintenance of a route, or of the server for it. */
export interface Maintenance {
  /** Null if the page of the status holds. */
  readonly page: PageText | null;
  /** Clients that get in. */
  readonly allow: { has(address: string): boolean };
  readonly retryAfterSeconds: number;
}

/** Is told whom maintenance keeps out. */
export interface MaintenanceListener {
  onMaintenance(ex: Exchange): void;
}

/** Refuses what a route under maintenance gets, before anything is read or looked up for it. docs/pages.md#maintenance */
export class MaintenancePhase implements Phase {
  readonly name = "maintenance";
  private readonly byRoute: readonly (Maintenance | null)[];
  private readonly listener: MaintenanceListener;

  /** @param byRoute by the routes' numbers; null if a route is in service */
  constructor(byRoute: readonly (Maintenance | null)[], listener: MaintenanceListener) {
    this.byRoute = byRoute;
    this.listener = listener;
  }

  run(ex: Exchange): Verdict {
    const maintenance = this.byRoute[ex.route!.index]!;
    if (maintenance === null || maintenance.allow.has(ex.clientIp)) return Verdict.Next;
    this.listener.onMaintenance(ex);
    ex.detail = String(maintenance.retryAfterSeconds);
    ex.sink.abort(ex, Fault.Maintenance);
    return Verdict.Done;
  }
}
