import { reasonOf } from "../core/status.ts";

/**
 * A reply that is the same every time: its HTTP/1.1 image is made once, with a hole for the date, so that sending it is
 * one copy. Other protocols take the parts.
 */
export class FixedReply {
  readonly status: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Status line, fields, date and an open end: `Connection: close` or nothing, then CRLF, are put behind it. */
  readonly head: Buffer;
  /** Offset of the 29 date bytes in `head`. */
  readonly dateAt: number;

  /**
   * @param status 200 to 599
   * @param fields extra fields, without Content-Length, Date, Server and Connection
   * @param body the whole body
   */
  constructor(status: number, fields: readonly (readonly [string, string])[], body: string | Uint8Array) {
    this.status = status;
    this.fields = fields;
    this.body = typeof body === "string" ? Buffer.from(body, "utf8") : Buffer.from(body);
    const start = `HTTP/1.1 ${status} ${reasonOf(status)}\r\nDate: `;
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const length = status === 204 ? "" : `Content-Length: ${this.body.length}\r\n`;
    this.dateAt = start.length;
    this.head = Buffer.from(`${start}${" ".repeat(29)}\r\nServer: edge\r\n${lines}${length}`, "latin1");
  }
}
