import { errorBody } from "../../core/status.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { jsonReply } from "./built-in-reply.ts";

/**
 * Whether a request comes from a page of another origin, which cannot make the gateway act: browsers say so in Origin, and
 * in Sec-Fetch-Site. docs/endpoints.md#access
 */
export function isForeign(head: RequestHead): boolean {
  if (fetchSites(head).some((site) => site !== "same-origin" && site !== "none")) return true;
  const index = head.headers.find(HeaderId.Origin);
  if (index < 0) return false;
  const origin = head.headers.valueText(index).toLowerCase();
  const own = head.authority().toLowerCase();
  return origin !== `http://${own}` && origin !== `https://${own}`;
}

/** The values of Sec-Fetch-Site: browsers send one. */
function fetchSites({ headers }: RequestHead): string[] {
  const sites: string[] = [];
  for (let i = 0; i < headers.count; i++) {
    if (headers.nameText(i).toLowerCase() === "sec-fetch-site") sites.push(headers.valueText(i).toLowerCase());
  }
  return sites;
}

export const FOREIGN: PrebuiltResponse = jsonReply(403, errorBody(403, "not from a page of another origin"));
