import { Byte, copyBytes, latin1 } from "../../core/bytes.ts";
import { MAX_HEADER_LINE_BYTES } from "../../core/limits.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId, headerIdFromName } from "../../message/header-block.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { ResponseHead } from "../../message/request-head.ts";
import { isSameFolded } from "../../proto/h1/claimed-fields.ts";
import type { Template } from "../../proto/template/template.ts";

/** The changes that a route makes to the fields of one direction, in this order. */
export interface EditPlan {
  /** Names of the fields that are removed, in lower case. */
  readonly gone: readonly string[];
  /** Fields that are put after the others. */
  readonly added: readonly AddedField[];
  /** Further changes, last. */
  readonly steps: readonly HeaderStep[];
  /** Whether LateFields follow, which leave out the request's id. */
  readonly hasLateFields?: boolean;
}

/** A field that is put into a head. */
export interface AddedField {
  readonly name: string;
  /** Its value, or a template that makes it for each request; a field whose value is empty then is left out. */
  readonly value: string | Template;
}

/** A change of a head that is more than fields that go and fields that come. */
export interface HeaderStep {
  /** Bytes that `request` may add. */
  readonly addedBytes: number;
  /** Changes a request's head, which is in `out[start, end)`, its empty line included. @returns the offset after it */
  request(out: Buffer, start: number, end: number): number;
  /** Changes the fields of a request that the gateway holds; they keep their places. */
  held(headers: HeaderBlock): void;
  /** Changes the fields of a response. */
  response(headers: HeaderBlock): void;
  /** The same for the fields of a prebuilt response, once. */
  fixed(fields: readonly (readonly [string, string])[]): readonly (readonly [string, string])[];
}

/**
 * A route's `headers.request`: remove, set, add, in this order, on the head as it goes upstream, so that the gateway's own
 * lines can be changed too. The configuration lets no field through that frames the message or belongs to the hop.
 */
export class RequestEdits {
  /** Bytes that `apply` may add. */
  readonly addedBytes: number;
  private readonly gone: readonly Uint8Array[];
  /** Empty if they depend on the request. */
  private readonly lines: Buffer;
  /** Null if all values are literal. */
  private readonly fields: RenderedFields | null;
  private readonly steps: readonly HeaderStep[];

  constructor({ gone, added, steps }: EditPlan) {
    this.gone = gone.map(latin1);
    this.fields = added.every(isLiteral) ? null : new RenderedFields(added);
    this.lines = this.fields === null ? linesOf(added.filter(isLiteral)) : Buffer.alloc(0);
    this.steps = steps;
    this.addedBytes = steps.reduce((sum, step) => sum + step.addedBytes, this.lines.length);
  }

  /** Bytes that `applyFor` may add to the head of a request. */
  boundOf(ex: Exchange): number {
    return this.fields === null ? this.addedBytes : this.addedBytes + linesOf(this.fields.of(ex)).length;
  }

  /** Changes the head of a request likewise, with values of its exchange. */
  applyFor(ex: Exchange, out: Buffer, start: number, end: number): number {
    return this.apply(out, start, end, this.fields === null ? this.lines : linesOf(this.fields.of(ex)));
  }

  /**
   * Changes a head that is in `out[start, end)`, its empty line included.
   * @returns the offset after it
   */
  apply(out: Buffer, start: number, end: number, lines: Buffer = this.lines): number {
    let at = this.gone.length === 0 ? end - CRLF_BYTES : this.withoutGone(out, start, end - CRLF_BYTES);
    at = copyBytes(out, at, lines, 0, lines.length);
    out[at] = Byte.Cr;
    out[at + 1] = Byte.Lf;
    at += CRLF_BYTES;
    for (let i = 0; i < this.steps.length; i++) at = this.steps[i]!.request(out, start, at);
    return at;
  }

  /** Takes the lines out, and moves the others up; the request line stays. */
  private withoutGone(out: Buffer, start: number, end: number): number {
    let at = lineEnd(out, start);
    let from = at;
    while (from < end) {
      const to = lineEnd(out, from);
      if (!this.isGone(out, from)) {
        if (at !== from) out.copyWithin(at, from, to);
        at += to - from;
      }
      from = to;
    }
    return at;
  }

  private isGone(out: Buffer, from: number): boolean {
    for (let i = 0; i < this.gone.length; i++) {
      const name = this.gone[i]!;
      const to = from + name.length;
      // Origins that read fields as CGI does take `_`, and some of them any other sign, for `-`.
      if (out[to] === Byte.Colon && isSameFolded(out, from, to, name)) return true;
    }
    return false;
  }
}

/** The same on the fields of a request as the gateway holds them, for handlers that send no head: those of functions. */
export class HeldRequestEdits {
  private readonly gone: readonly Uint8Array[];
  private readonly fields: RenderedFields;
  private readonly steps: readonly HeaderStep[];

  constructor({ gone, added, steps }: EditPlan) {
    this.gone = gone.map(latin1);
    this.fields = new RenderedFields(added);
    this.steps = steps;
  }

  apply(ex: Exchange): void {
    const { headers } = ex.request;
    // A value may be made of a field that goes.
    const added = this.fields.of(ex);
    // The request knows fields by their places: what is gone stays there, and is not handed on.
    for (let i = 0; i < headers.count; i++) if (this.isGone(headers, i)) headers.ids[i] = HeaderId.NamedByConnection;
    for (const { name, value } of added) headers.add(name, value);
    for (const step of this.steps) step.held(headers);
  }

  private isGone(headers: HeaderBlock, index: number): boolean {
    const { bytes } = headers;
    const from = headers.nameFrom(index);
    const to = headers.nameTo(index);
    return this.gone.some((name) => isSameFolded(bytes, from, to, name));
  }
}

/** A route's `headers.response`: remove, set, add, in this order. Values that depend on the request are LateFields. */
export class ResponseEdits implements HeadEdits {
  private readonly gone: readonly { readonly id: HeaderId; readonly name: Uint8Array }[];
  private readonly added: readonly LiteralField[];
  private readonly steps: readonly HeaderStep[];
  /** The line of the request's id is the gateway's own: it can be left out, not changed. */
  private readonly hidesRequestId: boolean;
  /** Prebuilt responses as they become. */
  private readonly edited: WeakMap<PrebuiltResponse, PrebuiltResponse> = new WeakMap();

  constructor(plan: EditPlan) {
    const { gone, added, steps } = plan;
    this.hidesRequestId = hidesRequestId(plan) && plan.hasLateFields !== true;
    this.gone = gone.map((name) => ({ id: headerIdFromName(name), name: latin1(name) }));
    this.added = added.filter(isLiteral);
    this.steps = steps;
  }

  applyFor(ex: Exchange): void {
    this.apply(ex.response);
  }

  ofFixedFor(_ex: Exchange, reply: PrebuiltResponse): PrebuiltResponse {
    return this.ofFixed(reply);
  }

  /** Changes the head of a response, before it is written. */
  apply(reply: ResponseHead): void {
    const { headers } = reply;
    for (let i = 0; i < this.gone.length; i++) {
      const { id, name } = this.gone[i]!;
      removeAll(headers, id, name);
    }
    if (this.hidesRequestId) reply.shownIdEnd = 0;
    for (let i = 0; i < this.added.length; i++) headers.add(this.added[i]!.name, this.added[i]!.value);
    for (let i = 0; i < this.steps.length; i++) this.steps[i]!.response(headers);
  }

  /** The same for a prebuilt response; it is made once. */
  ofFixed(reply: PrebuiltResponse): PrebuiltResponse {
    let edited = this.edited.get(reply);
    if (edited === undefined) {
      const gone = new Set(this.gone.map(({ name }) => textOf(name)));
      const kept = reply.fields.filter(([name]) => !gone.has(name.toLowerCase()));
      const added = this.added.map(({ name, value }) => [name, value] as const);
      let fields: readonly (readonly [string, string])[] = [...kept, ...added];
      for (const step of this.steps) fields = step.fixed(fields);
      edited = reply.with(fields);
      if (reply.whole !== null) edited.whole = this.ofFixed(reply.whole);
      this.edited.set(reply, edited);
    }
    return edited;
  }
}

/** What changes the responses of a route. */
export interface HeadEdits {
  /** Changes the head of the response of an exchange, before it is written. */
  applyFor(ex: Exchange): void;
  /** A prebuilt response as it becomes for the exchange. */
  ofFixedFor(ex: Exchange, reply: PrebuiltResponse): PrebuiltResponse;
}

/**
 * The fields of a route's `headers.response` whose values depend on the request. They come after the cache, so that no stored
 * response has them. docs/upstreams.md#header-edits
 */
export class LateFields implements HeadEdits {
  private readonly fields: RenderedFields;
  private readonly hidesRequestId: boolean;

  /** @param hidesRequestId whether the line of the request's id is left out, which values may still tell of */
  constructor(added: readonly AddedField[], hidesRequestId: boolean) {
    this.fields = new RenderedFields(added);
    this.hidesRequestId = hidesRequestId;
  }

  applyFor(ex: Exchange): void {
    for (const { name, value } of this.fields.of(ex)) ex.response.headers.add(name, value);
    if (this.hidesRequestId) ex.response.shownIdEnd = 0;
  }

  ofFixedFor(ex: Exchange, reply: PrebuiltResponse): PrebuiltResponse {
    const added = this.fields.of(ex).map(({ name, value }) => [name, value] as const);
    return added.length === 0 ? reply : reply.with([...reply.fields, ...added]);
  }
}

/** Fields of which some have values of the request. */
class RenderedFields {
  private readonly added: readonly AddedField[];

  constructor(added: readonly AddedField[]) {
    this.added = added;
  }

  /** As they are for an exchange, without those that turn out to be empty. */
  of(ex: Exchange): LiteralField[] {
    const fields: LiteralField[] = [];
    for (const { name, value } of this.added) {
      if (typeof value === "string") fields.push({ name, value });
      else {
        const rendered = value
          .render(ex, COOKIES.has(name.toLowerCase()) ? "cookie" : "header")
          .slice(0, MAX_HEADER_LINE_BYTES)
          .trim();
        if (rendered !== "") fields.push({ name, value: rendered });
      }
    }
    return fields;
  }
}

type LiteralField = AddedField & { readonly value: string };

/** Whether a field says the same for all requests. */
export function isLiteral(field: AddedField): field is LiteralField {
  return typeof field.value === "string";
}

/** Whether the line of the request's id is left out. It is the gateway's own, and cannot be changed. */
export function hidesRequestId({ gone, added }: EditPlan): boolean {
  return gone.includes(REQUEST_ID) && !added.some(({ name }) => name.toLowerCase() === REQUEST_ID);
}

function linesOf(fields: readonly LiteralField[]): Buffer {
  return Buffer.from(fields.map(({ name, value }) => `${name}: ${value}\r\n`).join(""), "latin1");
}

function removeAll(headers: HeaderBlock, id: HeaderId, name: Uint8Array): void {
  if (headers.find(id) < 0) return;
  headers.removeWhere((_, i) => {
    if (headers.ids[i] !== id) return false;
    return id !== HeaderId.Other || headers.isNamed(i, name);
  });
}

/** Where the line that begins at `from` ends, its line feed included. */
function lineEnd(out: Buffer, from: number): number {
  return out.indexOf(Byte.Lf, from) + 1;
}

function textOf(name: Uint8Array): string {
  return Buffer.from(name).latin1Slice();
}

const CRLF_BYTES = 2;
const COOKIES: ReadonlySet<string> = new Set(["cookie", "set-cookie"]);
const REQUEST_ID = "x-request-id";
