import type { HeaderValue } from "../../config/route-config.ts";
import { Byte, copyBytes, equalsLower, latin1 } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId, headerIdFromName } from "../../message/header-block.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { ReplyHead } from "../../message/request-head.ts";
import { isSameFolded } from "../../proto/h1/claimed-fields.ts";

/** What a route does to the fields of one direction, in this order. */
export interface EditPlan {
  /** Names of the fields that are taken out, in lower case. */
  readonly gone: readonly string[];
  /** Fields that are put after the others. */
  readonly added: readonly HeaderValue[];
  /** What else is done, last. */
  readonly steps: readonly HeaderStep[];
}

/** A change of a head that is more than fields that go and fields that come. */
export interface HeaderStep {
  /** Bytes that `request` may add. */
  readonly addedBytes: number;
  /** Changes a request's head, which is in `out[start, end)`, its empty line included. @returns the offset after it */
  request(out: Buffer, start: number, end: number): number;
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
  private readonly lines: Buffer;
  private readonly steps: readonly HeaderStep[];

  constructor({ gone, added, steps }: EditPlan) {
    this.gone = gone.map(latin1);
    this.lines = Buffer.from(added.map(({ name, value }) => `${name}: ${value}\r\n`).join(""), "latin1");
    this.steps = steps;
    this.addedBytes = steps.reduce((sum, step) => sum + step.addedBytes, this.lines.length);
  }

  /**
   * Changes a head that is in `out[start, end)`, its empty line included.
   * @returns the offset after it
   */
  apply(out: Buffer, start: number, end: number): number {
    let at = this.gone.length === 0 ? end - CRLF_BYTES : this.withoutGone(out, start, end - CRLF_BYTES);
    at = copyBytes(out, at, this.lines, 0, this.lines.length);
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

/** A route's `headers.response`: remove, set, add, in this order. */
export class ResponseEdits {
  private readonly gone: readonly { readonly id: HeaderId; readonly name: Uint8Array }[];
  private readonly added: readonly HeaderValue[];
  private readonly steps: readonly HeaderStep[];
  /** The line of the request's id is the gateway's own: it can be left out, not changed. */
  private readonly hidesRequestId: boolean;
  /** Prebuilt responses as they become. */
  private readonly edited: WeakMap<PrebuiltResponse, PrebuiltResponse> = new WeakMap();

  constructor({ gone, added, steps }: EditPlan) {
    this.hidesRequestId = gone.includes(REQUEST_ID) && !added.some(({ name }) => name.toLowerCase() === REQUEST_ID);
    this.gone = gone.map((name) => ({ id: headerIdFromName(name), name: latin1(name) }));
    this.added = added;
    this.steps = steps;
  }

  /** Changes the head of a response, before it is written. */
  apply(reply: ReplyHead): void {
    const { headers } = reply;
    for (let i = 0; i < this.gone.length; i++) {
      const { id, name } = this.gone[i]!;
      removeAll(headers, id, name);
    }
    if (this.hidesRequestId) reply.requestIdEnd = 0;
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
      edited = new PrebuiltResponse(reply.status, fields, reply.body, reply.isRefusal);
      this.edited.set(reply, edited);
    }
    return edited;
  }
}

function removeAll(headers: HeaderBlock, id: HeaderId, name: Uint8Array): void {
  for (let i = headers.find(id); i >= 0; i = headers.find(id, i)) {
    const from = headers.spans[i * 4]!;
    if (id !== HeaderId.Other || equalsLower(headers.bytes, from, headers.spans[i * 4 + 1]!, name)) headers.removeAt(i);
    else i++;
  }
}

/** Where the line that begins at `from` ends, its line feed included. */
function lineEnd(out: Buffer, from: number): number {
  return out.indexOf(Byte.Lf, from) + 1;
}

function textOf(name: Uint8Array): string {
  return Buffer.from(name).latin1Slice();
}

const CRLF_BYTES = 2;
const REQUEST_ID = "x-request-id";
