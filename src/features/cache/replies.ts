import { errorBody } from "../../core/status.ts";
import { FixedReply } from "../../message/fixed-reply.ts";

/** RFC 9111 §5.2.1.7: the client wants nothing but what is stored, and nothing is. */
export const NOT_STORED: FixedReply = refusal(504, "the response is not in the cache");

/**
 * A range of which the answer has no byte. RFC 9110 §15.5.17.
 * @param sizeBytes length of the stored body
 */
export function rangeNotSatisfiable(sizeBytes: number): FixedReply {
  return refusal(416, `the response has ${sizeBytes} bytes`, [["Content-Range", `bytes */${sizeBytes}`]]);
}

function refusal(status: number, message: string, fields: readonly (readonly [string, string])[] = []): FixedReply {
  const body = JSON.stringify(errorBody(status, message));
  return new FixedReply(status, [["Content-Type", "application/json"], ...fields], body);
}
