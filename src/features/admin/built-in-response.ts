import { PrebuiltResponse } from "../../message/prebuilt-response.ts";

export const JSON_TYPE = "application/json";

/** Responses of the built-in endpoints are never stored. docs/endpoints.md */
export const NO_STORE: readonly [string, string] = ["Cache-Control", "no-store"];

/**
 * A JSON response that a built-in endpoint gives again and again.
 * @param extra fields beside Content-Type and Cache-Control
 */
export function prebuiltJson(
  status: number,
  body: object,
  extra: readonly (readonly [string, string])[] = [],
): PrebuiltResponse {
  return new PrebuiltResponse(status, [["Content-Type", JSON_TYPE], NO_STORE, ...extra], JSON.stringify(body));
}
