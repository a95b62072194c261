import { errorBody } from "../../core/status.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";

/** RFC 9111 §5.2.1.7: the client wants nothing but what is stored, and nothing is. */
export const NOT_STORED: PrebuiltResponse = refusal(504, "the response is not in the cache");

/**
 * A range of which the response has no byte. RFC 9110 §15.5.17.
 * @param sizeBytes length of the stored body
 */
export function rangeNotSatisfiable(sizeBytes: number): PrebuiltResponse {
  return refusal(416, `the response has ${sizeBytes} bytes`, [["Content-Range", `bytes */${sizeBytes}`]]);
}

function refusal(
  status: number,
  message: string,
  fields: readonly (readonly [string, string])[] = [],
): PrebuiltResponse {
  const body = JSON.stringify(errorBody(status, message));
  return new PrebuiltResponse(status, [["Content-Type", "application/json"], ...fields], body, true);
}
