import { jsonRefusal, type PrebuiltResponse } from "../../message/prebuilt-response.ts";

/** RFC 9111 §5.2.1.7: the client wants nothing but the stored data, and nothing is. */
export const NOT_STORED: PrebuiltResponse = jsonRefusal(504, "the response is not in the cache");
