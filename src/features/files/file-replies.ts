import { jsonRefusal, PrebuiltResponse } from "../../message/prebuilt-response.ts";

/** Nothing to serve at this path. docs/files.md#paths */
export const NOT_FOUND: PrebuiltResponse = refusal(404, "no such file");

/** A file that the system does not let the gateway read. */
export const UNREADABLE: PrebuiltResponse = refusal(403, "the file cannot be read");

/** RFC 9110 §15.5.13. */
export const PRECONDITION_FAILED: PrebuiltResponse = refusal(
  412,
  "the file does not meet the preconditions of the request",
);

/**
 * A range of which the file has no byte. RFC 9110 §15.5.17.
 * @param sizeBytes length of the selected representation
 */
export function rangeNotSatisfiable(sizeBytes: number): PrebuiltResponse {
  return refusal(416, `the file has ${sizeBytes} bytes`, [["Content-Range", `bytes */${sizeBytes}`]]);
}

/**
 * Sends the client to another path of this host. RFC 9110 §15.4.2.
 * @param location an absolute path, encoded, that begins with one slash: with two it would name another host
 */
export function movedPermanently(location: string): PrebuiltResponse {
  return new PrebuiltResponse(301, [["Location", location]], "");
}

function refusal(
  status: number,
  message: string,
  fields: readonly (readonly [string, string])[] = [],
): PrebuiltResponse {
  return jsonRefusal(status, message, [["X-Content-Type-Options", "nosniff"], ...fields]);
}
