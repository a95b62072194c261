import type { Exchange } from "../message/exchange.ts";
import { HeaderId } from "../message/header-block.ts";
import { Framing } from "../message/request-head.ts";

/** Bytes of a connection's window that a body must find, beside what others may take of it. */
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

  /** The rest of the connection's window when the bodies under way have taken all that they may; below 0 if they share it. */
  left(window: number): number {
    return window - this.pledged;
  }

  begin(bytes: number): void {
    this.bodies++;
    this.pledged += bytes;
  }

  /** @param bytes all that has been pledged for the body */
  end(bytes: number): void {
    this.bodies--;
    this.pledged -= bytes;
  }
}

/** Bytes that the body of a request may have, as far as is known when it begins: nothing if there is none. */
export function expectedBodyBytes({ request }: Exchange): number {
  if (request.framing === Framing.Length) return request.contentLength;
  if (request.framing !== Framing.Chunked) return 0;
  return request.headers.valueOf(HeaderId.ContentType).startsWith(GRPC) ? CALL_BYTES : Number.POSITIVE_INFINITY;
}

/**
 * A call of gRPC may send without end as well, but most have ended with their first message: a connection is not made for each of those
 * that wait, but for one that finds no window beside the bodies that are under way.
 */
export const CALL_BYTES: number = Number.MAX_VALUE;

const GRPC = "application/grpc";
