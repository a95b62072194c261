import { jsonObject } from "../../core/json-object.ts";
import { errorBody } from "../../core/status.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { AccessGuard } from "./access-guard.ts";
import { prebuiltJson } from "./built-in-response.ts";
import { CallBody } from "./call-body.ts";
import { type ControlPort, PendingResponse } from "./control-handler.ts";
import type { Operator } from "./operator.ts";

/** Bytes of the body of any other call by which an operator changes something. */
const MAX_ACTION_CALL_BYTES = 4096;

/** What the control thread is asked to do, as JSON. */
export interface ActionCall {
  readonly operator: Operator;
  /** The request's body, an object; its content has not been examined. */
  readonly call: Readonly<Record<string, unknown>>;
}

/**
 * A built-in endpoint by which operators change something: `POST` with a JSON object, or with no body if nothing need be
 * said. The control thread does it. docs/endpoints.md#actions
 */
export class ActionHandler implements Handler {
  readonly name: string;
  private readonly action: string;
  private readonly guard: AccessGuard;
  private readonly port: ControlPort;

  /** @param action the question that the control thread is asked */
  constructor(action: string, guard: AccessGuard, port: ControlPort) {
    this.name = `action:${action}`;
    this.action = action;
    this.guard = guard;
    this.port = port;
  }

  handle(ex: Exchange): Verdict {
    if (!this.guard.admitsOperator(ex)) return Verdict.Done;
    if (!saysJson(ex)) ex.sink.fixed(ex, NO_JSON);
    else new CallBody(MAX_ACTION_CALL_BYTES, (asking, text) => this.act(asking, text)).begin(ex);
    return Verdict.Done;
  }

  private act(ex: Exchange, text: string | null): void {
    const call = text === "" ? {} : jsonObject(text ?? "");
    if (text === null) ex.sink.fixed(ex, TOO_LARGE);
    else if (call === null) ex.sink.fixed(ex, MALFORMED);
    else {
      const asked: ActionCall = { operator: this.guard.operatorOf(ex), call };
      const pending = new PendingResponse(ex);
      ex.source = pending;
      this.port.ask(this.action, JSON.stringify(asked), (status, type, body) => pending.give(status, type, body));
    }
  }
}

/** A page of another origin can send no JSON without asking first; a call without a body says nothing of its type. */
function saysJson({ request }: Exchange): boolean {
  const index = request.headers.find(HeaderId.ContentType);
  if (index < 0) return !request.hasBody();
  return JSON_MEDIA.test(request.headers.valueText(index));
}

const JSON_MEDIA = /^application\/json *(;|$)/i;
const NO_JSON = prebuiltJson(415, errorBody(415, "the body must be application/json"));
const MALFORMED = prebuiltJson(400, errorBody(400, "the body must be a JSON object"));
const TOO_LARGE = prebuiltJson(413, errorBody(413, `request body exceeds ${MAX_ACTION_CALL_BYTES} bytes`));
