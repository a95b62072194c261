import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { requestHost } from "../../message/request-host.ts";

/**
 * Refuses requests over TLS for names whose connections are passed through: a client has sent them on a connection for another name, since
 * the certificate there has both (RFC 9113 §9.1.1). It sends them again on a connection of their own. docs/streams.md#connections-for-other-names
 */
export class PassedNamesPhase implements Phase {
  readonly name = "passedNames";
  private readonly isPassed: (host: string) => boolean;

  constructor(isPassed: (host: string) => boolean) {
    this.isPassed = isPassed;
  }

  run(ex: Exchange): Verdict {
    if (!ex.client.tls || !this.isPassed(requestHost(ex.request))) return Verdict.Next;
    ex.sink.abort(ex, Fault.Misdirected);
    return Verdict.Done;
  }
}
