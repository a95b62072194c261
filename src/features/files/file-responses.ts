import { jsonRefusal, PrebuiltResponse, rangeNotSatisfiable } from "../../message/prebuilt-response.ts";

const NOSNIFF: readonly (readonly [string, string])[] = [["X-Content-Type-Options", "nosniff"]];

/** Nothing to serve at this path. docs/files.md#paths */
export const NOT_FOUND: PrebuiltResponse = refusal(404, "no such file");

/** A file that the system does not let the gateway read. */
export const FILE_UNREADABLE: PrebuiltResponse = refusal(403, "the file cannot be read");

/** RFC 9110 §15.5.13. */
export const PRECONDITION_FAILED: PrebuiltResponse = refusal(
  412,
  "the file does not meet the preconditions of the request",
);

/** A range of which a file of so many bytes has none. */
export function outsideFile(sizeBytes: number): PrebuiltResponse {
  return rangeNotSatisfiable("file", sizeBytes, NOSNIFF);
}

/**
 * Sends the client to another path of this host. RFC 9110 §15.4.2.
 * @param location an absolute path, encoded, that begins with one slash: with two it would name another host
 */
export function movedPermanently(location: string): PrebuiltResponse {
  return new PrebuiltResponse(301, [["Location", location]], "");
}

function refusal(status: number, message: string): PrebuiltResponse {
  return jsonRefusal(status, message, NOSNIFF);
}
