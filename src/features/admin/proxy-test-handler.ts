import { Fault } from "../../core/fault.ts";
import { KeptBytes } from "../../core/kept-bytes.ts";
import { errorBody } from "../../core/status.ts";
import { ClientPeer, isLoopback, UNKNOWN_CLIENT } from "../../message/client-peer.ts";
import {
  type BodySink,
  Exchange,
  type Handler,
  type IdleExchangePorts,
  type Pipeline,
  type ResponseSource,
  Verdict,
} from "../../message/exchange.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { RequestParser } from "../../proto/h1/request-parser.ts";
import type { AccessGuard } from "./access-guard.ts";
import { prebuiltJson } from "./built-in-response.ts";
import { readProbe } from "./probe-request.ts";
import { ProbeSink } from "./probe-sink.ts";

/** Bytes of the body of a proxy-test call. docs/endpoints.md#proxy-test */
const MAX_PROBE_CALL_BYTES = 65536;

/** What a probe needs of its worker. */
export interface ProbePorts {
  readonly idle: IdleExchangePorts;
  /** Of the response's body. */
  readonly maxResponseBytes: number;
  /** Whether a route takes this path: an active prefix, /health or /api/status. */
  isProbed(canonicalPath: string, head: RequestHead): boolean;
  /** The way down that a client's request takes; the call itself may have come by another. */
  pipeline(): Pipeline;
}

/** `POST /internal/api/proxy-test`: sends a probe through the gateway's own pipeline. docs/endpoints.md#proxy-test */
export class ProxyTestHandler implements Handler {
  readonly name = "proxyTest";
  private readonly guard: AccessGuard;
  private readonly ports: ProbePorts;

  constructor(guard: AccessGuard, ports: ProbePorts) {
    this.guard = guard;
    this.ports = ports;
  }

  handle(ex: Exchange): Verdict {
    if (!this.guard.admitsOperator(ex)) return Verdict.Done;
    const call = new ProxyTestCall(ex, this.ports);
    ex.body = call;
    ex.source = call;
    if (ex.request.contentLength > MAX_PROBE_CALL_BYTES) call.refuseLength(ex);
    else if (!ex.request.hasBody()) call.onBodyEnd(ex);
    else ex.sink.wantBody(ex);
    return Verdict.Done;
  }
}

/** One call, from its body to its response. It lets go of the caller's exchange, which is pooled, when either is done. */
class ProxyTestCall implements BodySink, ResponseSource {
  private readonly ports: ProbePorts;
  private caller: Exchange | null;
  private probe: Exchange | null = null;
  private readonly kept: KeptBytes = new KeptBytes();
  private length = 0;

  constructor(caller: Exchange, ports: ProbePorts) {
    this.caller = caller;
    this.ports = ports;
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    this.length += to - from;
    if (this.caller === null) return;
    if (this.length > MAX_PROBE_CALL_BYTES) this.refuseLength(ex);
    else this.kept.keep(bytes, from, to);
  }

  onBodyEnd(ex: Exchange): void {
    if (this.caller === null) return;
    const host = ex.request.authority();
    const request = readProbe(this.kept.takeWhole().toString("utf8"), host === "" ? "localhost" : host);
    if (request.ok) this.send(ex, request.head, request.canonicalPath);
    else this.refuse(ex, request.status, request.message);
  }

  onBodyFault(): void {
    this.onCancelled();
  }

  onWritable(): void {}

  /** The caller is gone: the probe is given up too. */
  onCancelled(): void {
    const { probe } = this;
    this.caller = null;
    this.probe = null;
    if (probe === null) return;
    probe.source.onCancelled(probe);
    probe.sink.abort(probe, Fault.Cancelled);
  }

  /** Rule 7. */
  refuseLength(ex: Exchange): void {
    this.caller = null;
    ex.sink.fixed(ex, TOO_LARGE);
  }

  private refuse(ex: Exchange, status: number, message: string): void {
    this.caller = null;
    ex.sink.fixed(ex, prebuiltJson(status, errorBody(status, message)));
  }

  private send(ex: Exchange, head: Buffer, canonicalPath: string): void {
    const probe = new Exchange(this.ports.idle);
    const parser = new RequestParser(MAX_PROBE_CALL_BYTES * 2);
    probe.request.reset(head);
    parser.begin(0);
    if (parser.parse(head, head.length, probe.request) !== head.length) {
      this.refuse(ex, 400, "the probe is not a well-formed request");
      return;
    }
    if (!this.ports.isProbed(canonicalPath, probe.request)) {
      this.refuse(ex, 403, "no active route takes this path");
      return;
    }
    this.probe = probe;
    probe.startedMs = performance.now();
    probe.bodyDone = true;
    const sink = new ProbeSink(this.ports.maxResponseBytes, (result) => {
      const { caller } = this;
      this.caller = null;
      this.probe = null;
      caller?.sink.fixed(caller, prebuiltJson(200, result));
    });
    const pipeline = this.ports.pipeline();
    probe.open(sink, this.ports.idle.flow, proberOf(ex), pipeline);
    pipeline.start(probe);
  }
}

/**
 * Whom a probe comes from: its caller's address, without the certificate that the caller has shown. A caller on this machine
 * is no client that a route's `ip_rules` or an origin may take for privileged; a rate limit counts the caller all the same.
 * docs/security.md#internal-endpoints
 */
function proberOf({ client, clientIp }: Exchange): ClientPeer {
  const told = isLoopback(clientIp) ? UNKNOWN_CLIENT : clientIp;
  return new ClientPeer(client.socketAddress, client.tls, client.localPort, told);
}

const TOO_LARGE = prebuiltJson(400, errorBody(400, "Request body exceeds maximum allowed size of 64KB"));
