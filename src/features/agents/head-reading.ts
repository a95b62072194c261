import { sliceText } from "../../core/bytes.ts";
import type { Exchange } from "../../message/exchange.ts";
import { SentField } from "../../proto/h1/sent-fields.ts";
import type { SignedRequest } from "../../proto/signatures/signature-base.ts";
import { plainAuthority } from "../../proto/target/plain-authority.ts";

/** A request's head as signatures see it: as the gateway has read it, whatever the protocol. RFC 9421 §2 */
export class HeadReading implements SignedRequest {
  private readonly ex: Exchange;

  constructor(ex: Exchange) {
    this.ex = ex;
  }

  get method(): string {
    return this.ex.request.methodText();
  }

  get scheme(): "https" | "http" {
    return this.ex.scheme;
  }

  get authority(): string {
    return plainAuthority(this.ex.request.authority(), this.scheme);
  }

  get path(): string {
    const path = this.ex.request.path();
    return path === "" ? "/" : path;
  }

  get query(): string | null {
    const { request } = this.ex;
    if (request.queryTo <= request.pathTo) return null;
    return sliceText(request.bytes, request.pathTo + 1, request.queryTo);
  }

  get target(): string {
    return this.ex.request.target();
  }

  linesOf(name: string): readonly string[] {
    return new SentField(name).values(this.ex.request);
  }

  /** The value of a field, of all its lines; null without one. */
  only(name: string): string | null {
    const lines = this.linesOf(name);
    return lines.length === 0 ? null : lines.join(", ");
  }
}
