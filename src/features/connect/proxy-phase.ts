import { Fault } from "../../core/fault.ts";
import type { AuthIdentity } from "../../message/client-peer.ts";
import { countedAddress } from "../../message/client-peer.ts";
import { type Exchange, type Phase, type Route, Verdict } from "../../message/exchange.ts";
import { PhaseWait } from "../../message/phase-wait.ts";
import { Method } from "../../message/request-head.ts";
import type { HostRules } from "./host-rules.ts";
import type { TunnelBounds, TunnelCounts } from "./tunnel-counts.ts";

/** The outcome of a check of name and password. */
interface ProxyJudgement {
  readonly kind: string;
  readonly status?: number;
  readonly retryAfterS?: number;
  readonly identity?: AuthIdentity;
}

/** Judges `Proxy-Authorization`. */
export interface ProxyAuth {
  readonly challenge: string;
  judge(ex: Exchange, later: (judgement: ProxyJudgement) => void): ProxyJudgement | null;
}

/** Parts of the phase. */
interface ProxyPorts extends TunnelBounds {
  readonly rules: HostRules;
  /** Null if every client may use the proxy. */
  readonly auth: ProxyAuth | null;
  readonly counts: TunnelCounts;
  /** The route of requests for `http:` URLs, whose handler connects to the server that they name. */
  readonly direct: Route;
  readonly turns: { inTurn(work: () => void): void };
  /** Reads `host` or `host:port`; null for a text that is none. */
  read(authority: string): { readonly hostname: string; readonly port: number } | null;
  /** Why a request for a URL cannot go to its server; Fault.None if it can. */
  faultOf(ex: Exchange): Fault;
  /** Opens a tunnel. */
  connect(ex: Exchange, hostname: string, port: number): void;
  onRefused(ex: Exchange): void;
}

/**
 * The way of requests to a forward proxy: who asks, for which host, how many tunnels at once; then a tunnel for CONNECT, and the server that the request names
 * for everything else. docs/forward-proxy.md
 */
export class ProxyPhase implements Phase {
  readonly name = "forwardProxy";
  private readonly ports: ProxyPorts;

  constructor(ports: ProxyPorts) {
    this.ports = ports;
  }

  run(ex: Exchange): Verdict {
    ex.route = this.ports.direct;
    const { auth, turns } = this.ports;
    if (auth === null) return this.admit(ex);
    let wait: PhaseWait | null = null;
    const judgement = auth.judge(ex, (found) => {
      turns.inTurn(() => {
        if (wait === null || wait.isOver) return;
        wait.end();
        if (this.settle(ex, auth, found) === Verdict.Next) wait.goOn();
      });
    });
    if (judgement !== null) return this.settle(ex, auth, judgement);
    wait = new PhaseWait(ex);
    return Verdict.Wait;
  }

  private settle(ex: Exchange, { challenge }: ProxyAuth, judgement: ProxyJudgement): Verdict {
    if (judgement.kind === "in") {
      ex.identity = judgement.identity ?? null;
      return this.admit(ex);
    }
    this.ports.onRefused(ex);
    const isTooMany = judgement.status === 429;
    ex.detail = isTooMany ? String(judgement.retryAfterS ?? 1) : challenge;
    if (isTooMany) return refused(ex, Fault.TooManyGuesses);
    return refused(ex, judgement.status === 503 ? Fault.AuthUnavailable : Fault.ProxyAuthRequired);
  }

  private admit(ex: Exchange): Verdict {
    const { request } = ex;
    const isTunnel = request.method === Method.Connect;
    const isNamed = request.authorityTo > request.authorityFrom;
    // HTTP/2 has no other form.
    const isForProxy = isNamed || (request.major > 1 && !isTunnel);
    if (!isForProxy || request.target() === "*") return refused(ex, Fault.BadTarget);
    const found = this.ports.read(request.authority());
    if (found === null) return refused(ex, Fault.BadHost);
    const port = found.port > 0 ? found.port : isTunnel ? 0 : 80;
    // RFC 9110 §9.3.6: there is no port by default.
    if (port === 0) return refused(ex, Fault.BadTarget);
    const hostname = found.hostname.replace(/\.$/, "");
    if (request.method === Method.Trace || !this.ports.rules.allows(hostname, port))
      return refused(ex, Fault.DestinationDenied);
    if (isTunnel) return this.tunnel(ex, hostname, port);
    const fault = this.ports.faultOf(ex);
    return fault === Fault.None ? Verdict.Next : refused(ex, fault);
  }

  private tunnel(ex: Exchange, hostname: string, port: number): Verdict {
    const { counts, connect } = this.ports;
    // RFC 9110 §9.3.6: content of a CONNECT has no meaning, and two readers take it in two ways.
    if (ex.request.major === 1 && ex.request.hasBody()) return refused(ex, Fault.BadTarget);
    const leave = counts.enter(countedAddress(ex), this.ports);
    if (leave === null) return refused(ex, Fault.TooManyTunnels);
    ex.held = { release: leave };
    connect(ex, hostname, port);
    return Verdict.Done;
  }
}

function refused(ex: Exchange, fault: Fault): Verdict {
  ex.sink.abort(ex, fault);
  return Verdict.Done;
}
