import { errorBody } from "../../core/status.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { prebuiltJson } from "./built-in-response.ts";

/**
 * Whether a request comes from a page of another origin, which cannot make the gateway act: browsers say so in Origin, and
 * in Sec-Fetch-Site. docs/endpoints.md#access
 */
export function isForeign(head: RequestHead): boolean {
  if (valuesOf(head, "sec-fetch-site").some((site) => site !== "same-origin" && site !== "none")) return true;
  const own = head.authority().toLowerCase();
  return valuesOf(head, "origin").some((origin) => origin !== `http://${own}` && origin !== `https://${own}`);
}

/** Whether a page of a browser asks. */
export function isFromPage(head: RequestHead): boolean {
  return valuesOf(head, "sec-fetch-site").length > 0 || valuesOf(head, "origin").length > 0;
}

/** All values of a field, of which browsers send one: any of several counts. */
function valuesOf({ headers }: RequestHead, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < headers.count; i++)
    if (headers.nameText(i).toLowerCase() === name) values.push(headers.valueText(i).toLowerCase());
  return values;
}

export const FOREIGN: PrebuiltResponse = prebuiltJson(403, errorBody(403, "not from a page of another origin"));
