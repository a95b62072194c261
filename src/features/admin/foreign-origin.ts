import { errorBody } from "../../core/status.ts";
import type { FixedReply } from "../../message/fixed-reply.ts";
import { HeaderId } from "../../message/header-block.ts";
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

export const FOREIGN: FixedReply = jsonReply(403, errorBody(403, "not from a page of another origin"));
