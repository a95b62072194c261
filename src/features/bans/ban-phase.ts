import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, type ResponseTap, Verdict } from "../../message/exchange.ts";

/** Who knows the bans. */
export interface BanJudge {
  isBanned(address: string): boolean;
  /** A request of a banned client is refused. */
  refused(): void;
  /** A request of this client was refused as a block. */
  blocked(address: string): void;
}

/**
 * Refuses requests of banned clients whose connections are open: those behind trusted proxies, whose addresses only fields tell, and those
 * that were banned meanwhile. As a tap it counts refusals by firewall and path guard. docs/bans.md
 */
export class BanPhase implements Phase, ResponseTap {
  readonly name = "bans";
  private readonly bans: BanJudge;

  constructor(bans: BanJudge) {
    this.bans = bans;
  }

  run(ex: Exchange): Verdict {
    if (!this.bans.isBanned(ex.clientIp)) return Verdict.Next;
    this.bans.refused();
    ex.sink.abort(ex, Fault.Banned);
    return Verdict.Done;
  }

  onHead(): void {}

  onEnd(ex: Exchange): void {
    switch (ex.fault) {
      case Fault.WafBlocked:
      case Fault.RuleRefused:
      case Fault.RuleDropped:
      case Fault.PrefixEscape:
      case Fault.SymlinkEscape:
        this.bans.blocked(ex.clientIp);
    }
  }
}
