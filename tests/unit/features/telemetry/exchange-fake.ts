import { Fault } from "../../../../src/core/fault.ts";
import { ClientPeer } from "../../../../src/message/client-peer.ts";
import {
  Exchange,
  ExchangeState,
  type Handler,
  type IdleExchangePorts,
  Pipeline,
  type ResponseSink,
  type Route,
  Verdict,
} from "../../../../src/message/exchange.ts";
import { headerIdFromName } from "../../../../src/message/header-block.ts";
import type { PrebuiltResponse } from "../../../../src/message/prebuilt-response.ts";
import { METHOD_COUNT, methodFromName } from "../../../../src/message/request-head.ts";
import { ChunkedMode, RouteKind, RouteOf } from "../../../../src/message/route.ts";

/** What was done to a reply, in order; bodies as text. */
export class RecordingSink implements ResponseSink {
  readonly calls: string[] = [];
  readonly fixedReplies: PrebuiltResponse[] = [];
  bodyText = "";
  aborted: Fault = Fault.None;
  /** Run within `head`, such as a cancellation. */
  duringHead: () => void = () => {};

  fixed(ex: Exchange, reply: PrebuiltResponse): void {
    this.calls.push("fixed");
    this.fixedReplies.push(reply);
    ex.response.status = reply.status;
  }
  interim(): void {
    this.calls.push("interim");
  }
  head(): void {
    this.calls.push("head");
    this.duringHead();
  }
  body(_ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    this.calls.push("body");
    this.bodyText += Buffer.from(bytes.subarray(from, to)).toString("utf8");
    return true;
  }
  end(): void {
    this.calls.push("end");
  }
  abort(_ex: Exchange, fault: Fault): void {
    this.calls.push("abort");
    this.aborted = fault;
  }
  wantBody(): void {}
  upgrade(): never {
    throw new Error("no upgrade here");
  }
}

/** What a fake exchange is made of. */
export interface FakeRequest {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly client?: string;
  readonly route?: Route | null;
  readonly status?: number;
  readonly requestId?: string;
}

/** An exchange that a pipeline has begun, with a recording sink. */
export function fakeExchange(request: FakeRequest = {}): { ex: Exchange; sink: RecordingSink } {
  const sink = new RecordingSink();
  const ex = new Exchange(idlePorts(sink));
  ex.client = new ClientPeer(request.client ?? "127.0.0.1", false, 8080);
  ex.route = request.route ?? null;
  ex.step = 1;
  ex.state = ExchangeState.Open;
  ex.startedMs = 1000;
  ex.endedMs = 1002.5;
  ex.response.status = request.status ?? 0;
  if (request.requestId !== undefined) setRequestId(ex, request.requestId);
  fillHead(ex, request.method ?? "GET", request.target ?? "/", request.headers ?? [["Host", "a.test"]]);
  return { ex, sink };
}

/** A route with this label. */
export function fakeRoute(label: string): Route {
  const handler: Handler = { name: "none", handle: () => Verdict.Done };
  const init = {
    kind: RouteKind.Upstream,
    label,
    path: label,
    exact: false,
    methods: [],
    hosts: [],
    stripPrefix: true,
    chunkedMode: ChunkedMode.Normalize,
    maxBodyBytes: 0,
    handler,
  };
  return new RouteOf(init, 0, new Uint8Array(METHOD_COUNT).fill(1), "");
}

/** Sets the id as forwarding does. */
function setRequestId(ex: Exchange, id: string): void {
  const line = `X-Request-Id: ${id}\r\n`;
  ex.response.requestIdEnd = ex.response.requestIdLine.latin1Write(line, 0, line.length);
}

function idlePorts(sink: ResponseSink): IdleExchangePorts {
  return {
    sink,
    flow: { pauseBody() {}, resumeBody() {} },
    body: { onBody() {}, onBodyEnd() {}, onBodyFault() {} },
    source: { onWritable() {}, onCancelled() {} },
    pipeline: new Pipeline([], [], []),
  };
}

function fillHead(ex: Exchange, method: string, target: string, headers: readonly (readonly [string, string])[]): void {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const bytes = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, "latin1");
  const { request } = ex;
  request.reset(bytes);
  request.method = methodFromName(method);
  request.methodTo = method.length;
  request.targetFrom = request.pathFrom = method.length + 1;
  request.targetTo = request.targetFrom + target.length;
  const query = target.search(/[?#]/);
  request.pathTo = request.pathFrom + (query < 0 ? target.length : query);
  const fragment = target.indexOf("#");
  request.queryTo = request.targetFrom + (fragment < 0 ? target.length : fragment);
  let at = request.targetTo + " HTTP/1.1\r\n".length;
  for (const [name, value] of headers) {
    const id = headerIdFromName(name);
    const valueAt = at + name.length + 2;
    request.headers.push(id, at, at + name.length, valueAt, valueAt + value.length);
    at = valueAt + value.length + 2;
  }
}
