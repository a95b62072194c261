import { Fault } from "../../core/fault.ts";
import { faultDetailOf } from "../../core/fault-detail-rows.ts";
import type { Exchange, ResponseTap } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";

/**
 * Adds `X-Edge-Fault`, the cause of a refusal or of a gateway error, to what operators get: `server.debug_header`.
 * docs/troubleshooting.md#in-a-header
 */
export class DebugHeaderTap implements ResponseTap {
  readonly name = "debugHeader";
  private readonly isOperator: (ex: Exchange) => boolean;
  /** By cause. */
  private readonly made: Map<string, ExtraFields> = new Map();

  constructor(isOperator: (ex: Exchange) => boolean) {
    this.isOperator = isOperator;
  }

  onHead(_ex: Exchange): void {}

  onFixed(ex: Exchange): void {
    if (ex.fault === Fault.None || !this.isOperator(ex)) return;
    const detail = faultDetailOf(ex.fault, ex.attempt.detail);
    let fields = this.made.get(detail);
    if (fields === undefined) {
      fields = new ExtraFields([["X-Edge-Fault", detail]]);
      this.made.set(detail, fields);
    }
    ex.response.addExtra(fields);
  }

  onEnd(_ex: Exchange): void {}
}
