import type { Exchange } from "../message/exchange.ts";
import { HeaderId } from "../message/header-block.ts";
import { Framing } from "../message/request-head.ts";

/** Bytes of a connection's window that a body must find, beside what others may take of it; a body of so much that goes on is a long one. */
export const H2_SEND_RESERVE_BYTES = 16_384;

/**
 * What the bodies under way on one connection to an origin of HTTP/2 may yet take of its window for DATA: each as much as its own
 * window lets it send where the origin reads nothing of it. A body is begun where that leaves room for it, so that an origin that
 * reads one body late does not hold up others. docs/security.md#connections-to-origins
 */
export class SendRoom {
  private bodies = 0;
  private pledged = 0;

  /** Whether a body that may take so much fits beside those that are under way. @param window what the connection's window lets us send */
  fits(bytes: number, window: number): boolean {
    if (this.bodies === 0) return window >= Math.min(bytes || H2_SEND_RESERVE_BYTES, H2_SEND_RESERVE_BYTES);
    return window >= this.pledged + bytes + H2_SEND_RESERVE_BYTES;
  }

  begin(bytes: number): void {
    this.bodies++;
    this.pledged += bytes;
  }

  /** A body turns out to be larger than was pledged for it. */
  raise(bytes: number): void {
    this.pledged += bytes;
  }

  /** @param bytes all that has been pledged for the body */
  end(bytes: number): void {
    this.bodies--;
    this.pledged -= bytes;
  }
}

/**
 * Bytes that the body of a request may have, as far as is known when it begins: nothing where there is none. Calls of gRPC are
 * short, or long and slow, and share connections until one has sent much.
 */
export function expectedBodyBytes({ request }: Exchange): number {
  if (request.framing === Framing.Length) return request.contentLength;
  if (request.framing !== Framing.Chunked) return 0;
  return request.headers.valueOf(HeaderId.ContentType).startsWith(GRPC) ? 0 : Number.POSITIVE_INFINITY;
}

const GRPC = "application/grpc";
