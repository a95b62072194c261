import { Fault } from "../../core/fault.ts";
import type { AiUse } from "../../message/ai-use.ts";
import type { BodySink, Exchange, Handler, ResponseSink, ResponseTap, Target } from "../../message/exchange.ts";
import { Verdict } from "../../message/exchange.ts";
import { GivenBody } from "../../message/given-body.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Method } from "../../message/request-head.ts";
import type { TargetChoice } from "../../message/target.ts";
import type { ModelCounter } from "./ai-counts.ts";
import { aiRefusal, modelList } from "./ai-responses.ts";
import { readModelRequest } from "./model-request.ts";
import type { TokenLimit } from "./token-limit.ts";
import { tokensIn, type UsageReader, usageReader } from "./token-usage.ts";

/**
 * The calls of clients, below the prefix of their route: nothing else goes out with the operator's key. Some providers take the model from the path
 * (`/deployments/NAME/…`, `/engines/NAME/…`), so that nothing may stand before a call but the version.
 */
const CALL =
  /^(?:\/(?:openai|api))?(?:\/v\d{1,2})?\/(?:(?:chat\/)?completions|embeddings|responses|messages|rerank|models)$/;
const CHAT = /completions$/;
const MODELS = /\/models$/;

/** A model of a route. */
export interface AiModel {
  readonly name: string;
  /** At its targets; "" for the same. */
  readonly send: string;
  /** Of the operator; "" without one. */
  readonly key: string;
  /** In lower case: the field that takes the key. */
  readonly keyHeader: string;
  readonly counter: ModelCounter;
  /** Among the targets that have it. */
  readonly choice: TargetChoice;
}

/** The parts of the handler. */
interface AiPorts {
  readonly models: readonly AiModel[];
  /** Null without a limit. */
  readonly limit: TokenLimit | null;
  readonly maxBodyBytes: number;
  /** Of the route, without a slash at its end. */
  readonly prefix: string;
  /** Gathers a body whole, and hands it to the handler. */
  gather(taker: AiHandler): BodySink;
  /** A request was refused since its user has no tokens left. */
  onLimited(ex: Exchange, status: number, retryAfterSeconds: number): void;
}

/** Before the handler of an upstream route: requests go to the targets of their models, and their tokens are counted. docs/ai.md */
export class AiHandler implements Handler {
  readonly name = "ai";
  private readonly inner: Handler;
  private readonly ports: AiPorts;
  private readonly models: ReadonlyMap<string, AiModel>;
  private readonly list: PrebuiltResponse;

  constructor(inner: Handler, ports: AiPorts) {
    this.inner = inner;
    this.ports = ports;
    this.models = new Map(ports.models.map((model) => [model.name, model]));
    this.list = modelList([...this.models.keys()]);
  }

  handle(ex: Exchange): Verdict {
    const { request } = ex;
    const path = ex.forwardPath === "" ? request.path() : ex.forwardPath;
    const isModels = MODELS.test(path);
    const isRead = request.method === Method.Get || request.method === Method.Head;
    const { prefix } = this.ports;
    const isCall = path.startsWith(prefix) && CALL.test(path.slice(prefix.length));
    if (!isCall || (isModels ? !isRead : request.method !== Method.Post)) ex.sink.fixed(ex, NO_CALL);
    else if (isModels) ex.sink.fixed(ex, this.list);
    else if (request.contentLength > this.ports.maxBodyBytes) ex.sink.abort(ex, Fault.BodyTooLarge);
    else if (!this.isLimited(ex)) this.gather(ex);
    return Verdict.Done;
  }

  onWholeBody(ex: Exchange, bytes: Uint8Array): void {
    if (bytes.length > this.ports.maxBodyBytes) return ex.sink.abort(ex, Fault.BodyTooLarge);
    const asked = readModelRequest(bytes);
    if (typeof asked === "string") return ex.sink.fixed(ex, aiRefusal(400, asked, null));
    const model = this.models.get(asked.model);
    if (model === undefined) return ex.sink.fixed(ex, NO_MODEL);
    const path = ex.forwardPath === "" ? ex.request.path() : ex.forwardPath;
    const given = new GivenBody(asked.body(model.send === "" ? null : model.send, CHAT.test(path)));
    given.replace(ex);
    nameJson(ex.request.headers);
    // No tunnel: its bytes have no model, and are not counted.
    if (ex.request.upgrade) ex.response.close = true;
    ex.request.upgrade = false;
    const call = new AiCall(ex, model, this.ports.limit, tokensIn(bytes.length));
    ex.ai = call;
    ex.sink = new AiSink(ex.sink, call);
    this.inner.handle(ex);
    given.deliver(ex);
  }

  private gather(ex: Exchange): void {
    const { maxBodyBytes } = this.ports;
    if (!ex.request.hasBody()) return ex.sink.fixed(ex, NO_BODY);
    ex.maxBodyBytes = ex.maxBodyBytes === 0 ? maxBodyBytes : Math.min(ex.maxBodyBytes, maxBodyBytes);
    ex.body = this.ports.gather(this);
    ex.sink.wantBody(ex);
  }

  private isLimited(ex: Exchange): boolean {
    const seconds = this.ports.limit?.wait(ex) ?? 0;
    if (seconds === 0) return false;
    this.ports.onLimited(ex, 429, seconds);
    const message = `you have no tokens left, try again in ${seconds} s`;
    ex.sink.fixed(ex, aiRefusal(429, message, "rate_limit_exceeded", [["Retry-After", String(seconds)]]));
    return true;
  }
}

/** The target reads the body as it was judged here: a form, or a text in another coding, might name another model. */
function nameJson(headers: HeaderBlock): void {
  headers.removeAll(HeaderId.ContentType);
  headers.removeAll(HeaderId.ContentEncoding);
  headers.add("Content-Type", "application/json");
}

/** One request to a model, on its way. */
class AiCall implements AiUse {
  readonly of: AiModel;
  private readonly ex: Exchange;
  private readonly limit: TokenLimit | null;
  /** Tokens of the request by its length. */
  private readonly guess: number;
  private reader: UsageReader | null = null;
  private isOver = false;

  constructor(ex: Exchange, of: AiModel, limit: TokenLimit | null, guess: number) {
    this.of = of;
    this.ex = ex;
    this.limit = limit;
    this.guess = guess;
    // Requests that are under way count, so that many at once are not for nothing.
    limit?.charge(ex, guess);
  }

  get model(): string {
    return this.of.name;
  }

  get promptTokens(): number {
    return this.reader === null ? 0 : (this.reader.usage?.prompt ?? this.guess);
  }

  get completionTokens(): number {
    return this.reader === null ? 0 : (this.reader.usage?.completion ?? this.reader.guess);
  }

  /** The head of the response is there: a failure takes no tokens. */
  begin({ response }: Exchange): void {
    const type = response.headers.valueOf(HeaderId.ContentType);
    if (response.status >= 200 && response.status < 300) this.reader = usageReader(type);
  }

  feed(bytes: Uint8Array, from: number, to: number): void {
    this.reader?.feed(bytes, from, to);
  }

  settle(): void {
    if (this.isOver) return;
    this.isOver = true;
    const { promptTokens, completionTokens } = this;
    this.of.counter.add(promptTokens, completionTokens);
    this.limit?.charge(this.ex, promptTokens + completionTokens - this.guess);
  }
}

/** Reads the usage as the response passes. */
class AiSink extends PassingSink {
  private readonly call: AiCall;

  constructor(inner: ResponseSink, call: AiCall) {
    super(inner);
    this.call = call;
  }

  override head(ex: Exchange): void {
    this.call.begin(ex);
    this.inner.head(ex);
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    this.call.feed(bytes, from, to);
    return this.inner.body(ex, bytes, from, to);
  }
}

/** Sends a request to the targets of its model. */
export class ModelChoice implements TargetChoice {
  choose(ex: Exchange): Target | null {
    return choiceOf(ex)?.choose(ex) ?? null;
  }

  chooseAgain(ex: Exchange, onlyAnother: boolean): Target | null {
    return choiceOf(ex)?.chooseAgain(ex, onlyAnother) ?? null;
  }
}

function choiceOf({ ai }: Exchange): TargetChoice | null {
  return ai instanceof AiCall ? ai.of.choice : null;
}

/** The value of a field that goes to the target of a model; "" if its key goes in another one, or it has none. @param lower its name */
export function keyIn(lower: string, { ai }: Exchange): string {
  if (!(ai instanceof AiCall) || ai.of.key === "" || ai.of.keyHeader !== lower) return "";
  return lower === "authorization" ? `Bearer ${ai.of.key}` : ai.of.key;
}

/** Counts the tokens of requests that are over. */
export class AiTap implements ResponseTap {
  readonly name = "ai";

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    ex.ai?.settle();
  }
}

const NO_BODY = aiRefusal(400, "you must provide a model parameter", null);
const NO_CALL = aiRefusal(404, "there is no such call: POST a chat completion, or GET the models", "unknown_url");
const NO_MODEL = aiRefusal(404, "the model does not exist: GET the models for a list", "model_not_found");
