import { errorBody } from "../../core/status.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { jsonReply } from "./built-in-reply.ts";

/** Whether a request comes from a page of another origin, which cannot make the gateway act. docs/endpoints.md#access */
export function isForeign(head: RequestHead): boolean {
  const index = head.headers.find(HeaderId.Origin);
  if (index < 0) return false;
  const origin = head.headers.valueText(index).toLowerCase();
  const own = head.authority().toLowerCase();
  return origin !== `http://${own}` && origin !== `https://${own}`;
}

export const FOREIGN: PrebuiltResponse = jsonReply(403, errorBody(403, "not from a page of another origin"));
