import type { Exchange } from "./exchange.ts";
import { HeaderId } from "./header-block.ts";

/**
 * Whether a request's body is a stream of messages, a line each, that goes on as it comes. Both sides may wait for the other's next
 * message: no length of the whole is asked for, no rate, and nothing may be held until the body ends. docs/transcoder.md#streams-of-requests
 */
export function streamsLines({ request, route }: Exchange): boolean {
  if (route?.kind.takesLines !== true || !request.hasBody()) return false;
  const { headers } = request;
  const index = headers.find(HeaderId.ContentType);
  if (index < 0 || headers.find(HeaderId.ContentType, index + 1) >= 0) return false;
  return headers.find(HeaderId.ContentEncoding) < 0 && LINES.test(headers.valueText(index));
}

/** Names of NDJSON, as `Accept` knows them too, and RFC 7464's sequences. */
const LINES = /^application\/(?:x-ndjson|ndjson|jsonl|json-seq)\s*(?:;|$)/i;
