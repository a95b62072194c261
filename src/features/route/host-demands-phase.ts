import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { requestHost } from "../../message/request-host.ts";

/**
 * Refuses requests over TLS for a host that demands other client certificates than their connection did: the client named another host, or none, in
 * its handshake, and would get past the guard of this one (RFC 9110 §7.4, RFC 6066 §3). It sends the request again on a connection of its own. docs/tls.md#tls-by-host
 */
export class HostDemandsPhase implements Phase {
  readonly name = "hostDemands";

  run(ex: Exchange): Verdict {
    const { client } = ex;
    if (client.listener.demands === null || !client.tls) return Verdict.Next;
    const demand = client.listener.demandOf(requestHost(ex.request));
    if (demand === client.demand) return Verdict.Next;
    ex.sink.abort(ex, Fault.Misdirected);
    return Verdict.Done;
  }
}
