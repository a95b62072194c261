import { Fault } from "../../core/fault.ts";
import { KeptBytes } from "../../core/kept-bytes.ts";
import { type BodyEditor, EditingSink } from "../../message/editing-sink.ts";
import { Exchange, type IdleExchangePorts, type Pipeline, type ResponseSink } from "../../message/exchange.ts";
import { makePart, pageCredentials, pageFields } from "../../message/page-part.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, Method } from "../../message/request-head.ts";
import { UnattendedSink } from "../../message/unattended.ts";
import { RequestParser } from "../../proto/h1/request-parser.ts";
import { SentField } from "../../proto/h1/sent-fields.ts";
import { editorFor, isCoded, isEditedFixed } from "../../proto/semantics/edited-response.ts";
import { MediaTypes } from "../../proto/semantics/media-types.ts";
import { queryWithMark, shownPath } from "../../proto/target/routed-path.ts";
import { Page } from "./page.ts";
import type { SsiConfig } from "./settings.ts";
import { pageTime } from "./time-text.ts";

/** Includes of one page with all pages in it, how deep they lie within each other, and their bytes. */
const MAX_INCLUDES = 64;
const MAX_DEPTH = 5;
const MAX_INCLUDED_BYTES = 4 * 1024 * 1024;
/** Bytes of includes that are not whole yet, of all pages of a worker: parts that stand still cost others no more memory. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
const MAX_HEAD_BYTES = 262_144;

/** An include asks for these. */
export interface SsiPorts {
  readonly idle: IdleExchangePorts;
  /** The way of all requests: an include passes it as a request of the client. */
  pipeline(): Pipeline;
}

/** Shared by a page and all pages in it. */
interface Budget {
  includes: number;
  bytes: number;
  readonly depth: number;
  readonly root: Budget | null;
}

/** The includes under way, each with the budget of its page. */
const BUDGETS: WeakMap<Exchange, Budget> = new WeakMap();

/** `ssi` of a route: directives of pages are carried out. docs/ssi.md @returns what prepares a request for it */
export function pageParts(config: SsiConfig, ports: SsiPorts): (ex: Exchange) => void {
  const types = new MediaTypes(config.types);
  return (ex) => {
    ex.sink = new SsiSink(ex.sink, types, ports);
  };
}

class SsiSink extends EditingSink {
  private readonly types: MediaTypes;
  private readonly ports: SsiPorts;

  constructor(inner: ResponseSink, types: MediaTypes, ports: SsiPorts) {
    super(inner);
    this.types = types;
    this.ports = ports;
  }

  /** Goes out as a body that comes: directives may wait. */
  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    if (!isEditedFixed(response, this.types)) return this.inner.fixed(ex, response);
    const { response: head, request } = ex;
    const hasBody = request.method !== Method.Head;
    head.status = response.status;
    head.framing = hasBody ? Framing.Length : Framing.None;
    head.contentLength = response.body.length;
    head.withoutBody = !hasBody;
    head.headers.resetOwn();
    for (const [name, value] of response.fields) head.headers.add(name, value);
    this.head(ex);
    if (hasBody) this.body(ex, response.body, 0, response.body.length);
    this.end(ex);
  }

  protected override editorOf(ex: Exchange): BodyEditor | PrebuiltResponse | null {
    return editorFor(ex, this.types, () => this.page(ex));
  }

  private page(ex: Exchange): Page {
    const budget = BUDGETS.get(ex) ?? { includes: 0, bytes: 0, depth: 0, root: null };
    return new Page({
      valueOf: (name) => lookUp(ex, name),
      timeAs: pageTime,
      include: (path, done) => include(ex, path, budget, this.ports, done),
      onIncluded: () => this.resume(),
    });
  }
}

/** Fetches a path as the client would, with its fields; gives null if there is nothing to include. @returns how to give it up */
function include(
  ex: Exchange,
  path: string,
  budget: Budget,
  ports: SsiPorts,
  done: (body: Uint8Array | null) => void,
): () => void {
  const root = budget.root ?? budget;
  const target = targetOf(ex, path);
  root.includes++;
  const own = target === null ? null : requestFor(ex, target, ports.idle);
  if (own === null || root.includes > MAX_INCLUDES || budget.depth >= MAX_DEPTH) {
    done(null);
    return () => {};
  }
  BUDGETS.set(own, { includes: 0, bytes: 0, depth: budget.depth + 1, root });
  const pipeline = ports.pipeline();
  own.open(new IncludeSink(root, done), ports.idle.flow, ex.client, pipeline);
  pipeline.start(own);
  return () => {
    own.source.onCancelled(own);
    own.sink.abort(own, Fault.Cancelled);
  };
}

/** The target of a path of the same host; null for anything else. */
function targetOf({ request }: Exchange, path: string): string | null {
  if (path.length === 0 || path.length > MAX_TARGET_CHARS) return null;
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i);
    // Visible ASCII without "#" and "\".
    if (code <= 0x20 || code >= 0x7f || code === 0x23 || code === 0x5c) return null;
  }
  if (path.startsWith("//")) return null;
  if (path.startsWith("/")) return path;
  const [first = ""] = path.split(/[/?]/, 1);
  if (first.includes(":") || path.startsWith("?")) return null;
  const own = shownPath(request);
  return `${own.slice(0, own.lastIndexOf("/") + 1)}${path}`;
}

/** A request of the client for another path of the host, without a body. */
function requestFor(ex: Exchange, target: string, idle: IdleExchangePorts): Exchange | null {
  const fields = pageFields(ex);
  const lines = [`GET ${withCredentials(target, ex)} HTTP/1.1`, `Host: ${ex.request.authority()}`, ...fields];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  const own = new Exchange(idle);
  own.request.reset(head);
  const parser = new RequestParser(MAX_HEAD_BYTES, fields.length + 2);
  parser.begin(0);
  if (parser.parse(head, head.length, own.request) !== head.length) return null;
  own.startedMs = performance.now();
  own.bodyDone = true;
  makePart(own, ex);
  return own;
}

/** A target with the credentials that its page had in the query, unless it names the same parameters itself. */
function withCredentials(target: string, page: Exchange): string {
  let whole = target;
  for (const pair of pageCredentials(page)) {
    const mark = target.indexOf("?");
    const own = mark < 0 ? [] : target.slice(mark + 1).split("&");
    const name = pair.slice(0, pair.indexOf("=") + 1);
    if (!own.some((one) => one.startsWith(name))) whole += `${whole.includes("?") ? "&" : "?"}${pair}`;
  }
  return whole;
}

let heldBytes = 0;

/** Takes the response to an include. */
class IncludeSink extends UnattendedSink {
  private readonly kept: KeptBytes = new KeptBytes();
  private readonly root: Budget;
  private readonly take: (body: Uint8Array | null) => void;
  private isGood = false;
  private held = 0;

  constructor(root: Budget, take: (body: Uint8Array | null) => void) {
    super((fault) => this.finish(fault));
    this.root = root;
    this.take = take;
  }

  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    ex.response.status = response.status;
    this.isGood = isSuccess(response.status);
    this.keep(response.body, 0, response.body.length);
    super.fixed(ex, response);
  }

  override head(ex: Exchange): void {
    const { status, headers } = ex.response;
    this.isGood = isSuccess(status) && !isCoded(headers);
    super.head(ex);
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.keep(bytes, from, to)) return true;
    ex.source.onCancelled(ex);
    this.abort(ex, Fault.Cancelled);
    return false;
  }

  /** @returns false beyond the bounds of a page's includes and of all that are held */
  private keep(bytes: Uint8Array, from: number, to: number): boolean {
    const length = to - from;
    this.root.bytes += length;
    const hasRoom = this.root.bytes <= MAX_INCLUDED_BYTES && heldBytes + length <= MAX_HELD_BYTES;
    if (!hasRoom) this.isGood = false;
    if (!this.isGood) return hasRoom;
    this.kept.keep(bytes, from, to);
    this.held += length;
    heldBytes += length;
    return true;
  }

  private finish(fault: Fault): void {
    heldBytes -= this.held;
    this.held = 0;
    const body = this.kept.takeWhole();
    this.take(this.isGood && fault === Fault.None ? body : null);
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** A value of the request, as edge sends it on: of the path by which the route was chosen, and of its fields. Null if there is none. */
function lookUp(ex: Exchange, name: string): string | null {
  const { request } = ex;
  switch (name) {
    case "DOCUMENT_URI":
      return shownPath(request);
    case "DOCUMENT_NAME":
      return shownPath(request).slice(shownPath(request).lastIndexOf("/") + 1);
    case "QUERY_STRING":
      return queryWithMark(request).slice(1);
    case "REQUEST_URI":
      return shownPath(request) + queryWithMark(request);
    case "REQUEST_METHOD":
      return request.methodText();
    case "REMOTE_ADDR":
      return ex.clientIp;
    case "HTTP_HOST":
      return request.authority();
  }
  if (!name.startsWith("HTTP_")) return null;
  const field = name.slice("HTTP_".length).toLowerCase().replaceAll("_", "-");
  const values = new SentField(field).values(request);
  return values.length === 0 ? null : values.join(field === "cookie" ? "; " : ", ");
}

const MAX_TARGET_CHARS = 2048;
