import { errorBody, reasonOf } from "../core/status.ts";
import { blockOf } from "./extra-fields.ts";
import type { HeaderBlock } from "./header-block.ts";

/**
 * A response that is the same every time: its HTTP/1.1 image is made once, and only the date in it changes, so that sending
 * it is one copy. Other protocols take the parts.
 */
export class PrebuiltResponse {
  readonly status: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Whether a length is sent: a response without content by its status has none that could be meant. RFC 9110 §8.6 */
  readonly hasLength: boolean;
  /** The whole HTTP/1.1 response for a connection that stays open, head and body. */
  readonly image: Buffer;
  /** Where the head's fields end in `image`: a `Connection` line would stand here, the empty line does. */
  readonly fieldsTo: number;
  /** Whether it is a refusal: browsers may get a page in its place. docs/pages.md */
  readonly isRefusal: boolean;
  /** Of a 304, the response that it stands for, so that what changes that one's fields can change its own; null for all others. */
  whole: PrebuiltResponse | null = null;
  /** A head tap's findings among `fields`, as bits of its own, so that it looks once; -1 before that. */
  marks = -1;
  private readonly dateAt: number;
  private second = -1;
  private ownBlock: HeaderBlock | null = null;

  /**
   * @param status 200 to 599
   * @param fields extra fields, without Content-Length, Date and Server, and without Connection but for one that announces Upgrade
   * @param body the whole body
   */
  constructor(
    status: number,
    fields: readonly (readonly [string, string])[],
    body: string | Uint8Array,
    isRefusal = false,
  ) {
    this.status = status;
    this.isRefusal = isRefusal;
    this.fields = fields;
    this.body = typeof body === "string" ? Buffer.from(body, "utf8") : Buffer.from(body);
    const start = `HTTP/1.1 ${status} ${reasonOf(status)}\r\nDate: `;
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    this.hasLength = status !== 204 && status !== 304;
    const length = this.hasLength ? `Content-Length: ${this.body.length}\r\n` : "";
    this.dateAt = start.length;
    const head = `${start}${" ".repeat(DATE_BYTES)}\r\nServer: edge\r\n${lines}${length}`;
    this.fieldsTo = head.length;
    this.image = Buffer.concat([Buffer.from(`${head}\r\n`, "latin1"), this.body]);
  }

  /** The same response with other fields or another form of its body: a refusal stays one. */
  with(fields: readonly (readonly [string, string])[], body: Uint8Array = this.body): PrebuiltResponse {
    return new PrebuiltResponse(this.status, fields, body, this.isRefusal);
  }

  /** `fields` as a block, for protocols that do not take the image. Made when it is first asked for. */
  get block(): HeaderBlock {
    this.ownBlock ??= blockOf(this.fields);
    return this.ownBlock;
  }

  /**
   * Puts the date into the image, if it is not there yet.
   * @param second counts the seconds, so that it is done once in each
   */
  date(date: Uint8Array, second: number): void {
    if (second === this.second) return;
    this.second = second;
    this.image.set(date, this.dateAt);
  }
}

const DATE_BYTES = 29;
/**
 * Fields of the 200 that a 304 repeats: fields for caches, and none about the content. RFC 9110 §15.4.5; Date is
 * written apart.
 */
const KEPT_IN_304: ReadonlySet<string> = new Set(["cache-control", "content-location", "etag", "expires", "vary"]);

/** Whether a 304 repeats this field of its 200. */
export function isKeptIn304(name: string): boolean {
  return KEPT_IN_304.has(name.toLowerCase());
}

/** The 304 in the place of a response. */
export function notModified(whole: PrebuiltResponse): PrebuiltResponse {
  const response = new PrebuiltResponse(
    304,
    whole.fields.filter(([name]) => isKeptIn304(name)),
    "",
  );
  response.whole = whole;
  return response;
}

/** A feature's own refusal, in the form of every error of the gateway. */
export function jsonRefusal(
  status: number,
  message: string,
  fields: readonly (readonly [name: string, value: string])[] = [],
): PrebuiltResponse {
  const body = JSON.stringify(errorBody(status, message));
  return new PrebuiltResponse(status, [["Content-Type", "application/json"], ...fields], body, true);
}

/**
 * A range of which nothing is there. RFC 9110 §15.5.17.
 * @param what that has so many bytes: the selected representation, or the stored body
 */
export function rangeNotSatisfiable(
  what: "file" | "response",
  sizeBytes: number,
  fields: readonly (readonly [name: string, value: string])[] = [],
): PrebuiltResponse {
  return jsonRefusal(416, `the ${what} has ${sizeBytes} bytes`, [...fields, ["Content-Range", `bytes */${sizeBytes}`]]);
}

/** The response to a token of a challenge that is none. docs/acme.md#http-01 */
export const INVALID_TOKEN: PrebuiltResponse = new PrebuiltResponse(
  400,
  [["Content-Type", "text/plain; charset=utf-8"]],
  "Invalid ACME Challenge Token",
);
