import { jsonRefusal, type PrebuiltResponse } from "../../message/prebuilt-response.ts";

/** RFC 9111 §5.2.1.7: the client wants nothing but what is stored, and nothing is. */
export const NOT_STORED: PrebuiltResponse = jsonRefusal(504, "the response is not in the cache");

/**
 * A range of which the response has no byte. RFC 9110 §15.5.17.
 * @param sizeBytes length of the stored body
 */
export function rangeNotSatisfiable(sizeBytes: number): PrebuiltResponse {
  return jsonRefusal(416, `the response has ${sizeBytes} bytes`, [["Content-Range", `bytes */${sizeBytes}`]]);
}
