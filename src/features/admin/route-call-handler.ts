import { isRouteName, MAX_ROUTE_BYTES, ROUTE_NAME_PARTS } from "../../core/route-name.ts";
import { errorBody } from "../../core/status.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { methodName } from "../../message/request-head.ts";
import type { AccessGuard } from "./access-guard.ts";
import { prebuiltJson } from "./built-in-response.ts";
import { CallBody } from "./call-body.ts";
import { type ControlPort, PendingResponse, queryOf } from "./control-handler.ts";
import { isFromPage } from "./foreign-origin.ts";
import type { Operator } from "./operator.ts";

/** A call for a route of the API, as JSON for the control thread. */
export interface RouteCall {
  readonly operator: Operator;
  readonly method: string;
  /** Of the route. */
  readonly name: string;
  readonly query: string;
  /** Values of If-Match and If-None-Match; "" without one. */
  readonly ifMatch: string;
  readonly ifNoneMatch: string;
  /** Whether the route is wanted as it was written, and not as JSON. */
  readonly wantsYaml: boolean;
  readonly text: string;
}

/** Whether a call changes nothing. */
export function readsRoute({ method }: RouteCall): boolean {
  return method === "GET" || method === "HEAD";
}

/** Routes of the API for operators, by their names at the end of the path. docs/providers.md#api */
export class RouteCallHandler implements Handler {
  readonly name: string;
  private readonly from: number;
  private readonly suffix: string;
  private readonly guard: AccessGuard;
  private readonly port: ControlPort;

  /** @param place the path with `{name}` in the place of the name */
  constructor(place: string, guard: AccessGuard, port: ControlPort) {
    const [before = "", after = ""] = place.split("{name}");
    this.name = `routes:${after}`;
    this.from = before.length;
    this.suffix = after;
    this.guard = guard;
    this.port = port;
  }

  handle(ex: Exchange): Verdict {
    if (!this.guard.admitsOperator(ex)) return Verdict.Done;
    const name = this.nameOf(ex);
    if (!saysType(ex)) ex.sink.fixed(ex, NO_TYPE);
    else if (name === null) ex.sink.fixed(ex, NO_NAME);
    else new CallBody(MAX_ROUTE_BYTES, (asking, text) => this.act(asking, name, text)).begin(ex);
    return Verdict.Done;
  }

  private nameOf(ex: Exchange): string | null {
    const path = ex.canonicalPath === "" ? ex.request.path() : ex.canonicalPath;
    if (!path.endsWith(this.suffix)) return null;
    const name = path.slice(this.from, path.length - this.suffix.length);
    return isRouteName(name) ? name : null;
  }

  private act(ex: Exchange, name: string, text: string | null): void {
    if (text === null) {
      ex.sink.fixed(ex, TOO_LARGE);
      return;
    }
    const { headers, method } = ex.request;
    const asked: RouteCall = {
      operator: this.guard.operatorOf(ex),
      method: methodName(method),
      name,
      query: queryOf(ex),
      ifMatch: conditionIn(headers, HeaderId.IfMatch),
      ifNoneMatch: conditionIn(headers, HeaderId.IfNoneMatch),
      wantsYaml: headers.valueOf(HeaderId.Accept).toLowerCase().includes("yaml"),
      text,
    };
    const pending = new PendingResponse(ex);
    ex.source = pending;
    this.port.ask("config-route", JSON.stringify(asked), (...response) => pending.give(...response));
  }
}

/** A page must name a type that forms of other pages cannot send. Programs need not. */
function saysType({ request }: Exchange): boolean {
  if (!request.hasBody() || !isFromPage(request)) return true;
  return ROUTE_MEDIA.test(request.headers.valueOf(HeaderId.ContentType));
}

/** An empty value names no route: a variable without its value in a script must not make a call unconditional. */
function conditionIn(headers: HeaderBlock, id: HeaderId): string {
  return headers.find(id) < 0 ? "" : headers.valueOf(id).trim() || '""';
}

/** A refusal before the control thread sees the call. */
function refusal(status: number, message: string) {
  return prebuiltJson(status, { ...errorBody(status, message), faults: [message] });
}

const ROUTE_MEDIA = /^application\/(?:json|yaml) *(?:;|$)/i;
const NO_TYPE = refusal(415, "the body of a page must be application/json or application/yaml");
/** Names of routes; no path and no file name can be made of one. */
const NO_NAME = refusal(404, `no such endpoint: the name of a route has ${ROUTE_NAME_PARTS}`);
const TOO_LARGE = refusal(413, `request body exceeds ${MAX_ROUTE_BYTES} bytes`);
