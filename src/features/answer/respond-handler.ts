import { createHash } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { errorBody } from "../../core/status.ts";
import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { HeaderId, HeaderIdSet } from "../../message/header-block.ts";
import { notModified, PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Method } from "../../message/request-head.ts";
import { judgePreconditions, Precondition, type Validators } from "../../proto/semantics/precondition.ts";
import { Template, type TemplateMode } from "../../proto/template/template.ts";
import { contextsOf } from "../../proto/template/text-contexts.ts";

/** What every request of a route is answered with. */
export interface FixedResponse {
  readonly status: number;
  /** A template, or the bytes of a file. */
  readonly body: Template | Uint8Array;
  /** "" without a body. */
  readonly contentType: string;
}

/** The handler of a response. docs/answers.md#responses */
export function respondHandler({ status, body, contentType }: FixedResponse, clock: Clock): Handler {
  const fields = contentType === "" ? [] : [["Content-Type", contentType] as const];
  if (body instanceof Uint8Array) return constantHandler(status, fields, body, clock);
  if (body.isLiteral) return constantHandler(status, fields, Buffer.from(body.literals[0]!, "utf8"), clock);
  return new TemplateHandler(status, fields, placedValues(body, contentType));
}

/** A body in which each value is written as its place asks. */
interface PlacedValues {
  readonly body: Template;
  readonly modes: readonly TemplateMode[];
}

/** @throws why a value may not stand in such a body, which the configuration has been checked for: see `placeFault` */
function placedValues(template: Template, contentType: string): PlacedValues {
  const contexts = contextsOf(contentType);
  const modes: TemplateMode[] = [];
  const uses = template.uses.map((use, i) => {
    contexts.take(template.literals[i]!);
    const rule = contexts.place(use);
    if ("fault" in rule) throw new Error(`{${use.name}} stands ${rule.fault}`);
    modes.push(rule.mode);
    return { ...use, isInQuery: rule.isInQuery ?? use.isInQuery };
  });
  contexts.take(template.literals.at(-1)!);
  if (contexts.fault !== "") throw new Error(`a value stands ${contexts.fault}`);
  return { body: new Template(template.literals, uses), modes };
}

/** Why a value may not stand in a body of this type, with its place and the cure, or "". */
export function placeFault(template: Template, contentType: string): string {
  try {
    placedValues(template, contentType);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

type Fields = readonly (readonly [string, string])[];

/** RFC 9110 §13.2.1: conditions count where the response would be a 200, which alone has an entity tag here. */
function constantHandler(status: number, fields: Fields, body: Uint8Array, clock: Clock): Handler {
  if (status !== 200 || body.length === 0) return new ConstantHandler(new PrebuiltResponse(status, fields, body), null);
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, ETAG_CHARS)}"`;
  const tagged: Fields = [...fields, ["ETag", etag]];
  const response = new PrebuiltResponse(200, tagged, body);
  return new ConstantHandler(response, new Conditions(response, etag, clock));
}

/** A response that is the same for all requests. */
class ConstantHandler implements Handler {
  readonly name = "respond";
  private readonly response: PrebuiltResponse;
  private readonly conditions: Conditions | null;

  constructor(response: PrebuiltResponse, conditions: Conditions | null) {
    this.response = response;
    this.conditions = conditions;
  }

  handle(ex: Exchange): Verdict {
    const isConditional = this.conditions !== null && ex.request.headers.mayHave(CONDITIONS);
    const instead = isConditional ? this.conditions.judge(ex) : null;
    ex.sink.fixed(ex, instead ?? this.response);
    return Verdict.Done;
  }
}

/** What conditional requests get in the place of a response. RFC 9110 §13.1 */
class Conditions {
  private readonly current: Validators;
  private readonly clock: Clock;
  private readonly notModified: PrebuiltResponse;

  constructor(response: PrebuiltResponse, etag: string, clock: Clock) {
    this.current = { etag, lastModifiedS: Number.NaN, lastModifiedText: "" };
    this.clock = clock;
    this.notModified = notModified(response);
  }

  /** Null if the response is to be sent. */
  judge({ request }: Exchange): PrebuiltResponse | null {
    if (request.method !== Method.Get && request.method !== Method.Head) return null;
    switch (judgePreconditions(request.headers, this.current, this.clock.nowMs)) {
      case Precondition.NotModified:
        return this.notModified;
      case Precondition.Failed:
        return PRECONDITION_FAILED;
      default:
        return null;
    }
  }
}

/** A response whose body has values of the request. */
class TemplateHandler implements Handler {
  readonly name = "respond";
  private readonly status: number;
  private readonly fields: Fields;
  private readonly values: PlacedValues;

  constructor(status: number, fields: Fields, values: PlacedValues) {
    this.status = status;
    // Values of a request must not make a page of a text.
    this.fields = [...fields, ["X-Content-Type-Options", "nosniff"]];
    this.values = values;
  }

  handle(ex: Exchange): Verdict {
    const { body, modes } = this.values;
    ex.sink.fixed(ex, new PrebuiltResponse(this.status, this.fields, body.render(ex, modes)));
    return Verdict.Done;
  }
}

const CONDITIONS = new HeaderIdSet([HeaderId.IfMatch, HeaderId.IfNoneMatch]);
const ETAG_CHARS = 22;
const PRECONDITION_FAILED = new PrebuiltResponse(
  412,
  [["Content-Type", "application/json"]],
  JSON.stringify(errorBody(412, "the response does not meet the preconditions of the request")),
  true,
);
