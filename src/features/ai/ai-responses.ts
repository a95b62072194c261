import { PrebuiltResponse } from "../../message/prebuilt-response.ts";

/** A refusal as clients of language models read it: of Anthropic's API by the first member alone. */
export function aiRefusal(
  status: number,
  message: string,
  code: string | null,
  fields: readonly (readonly [string, string])[] = [],
): PrebuiltResponse {
  const type = status === 429 ? "tokens" : "invalid_request_error";
  const body = JSON.stringify({ type: "error", error: { message, type, param: null, code } });
  return new PrebuiltResponse(status, [["Content-Type", "application/json"], ...fields], body, true);
}

/** The models of a route, as clients list them. */
export function modelList(names: readonly string[]): PrebuiltResponse {
  const data = names.map((id) => ({ id, object: "model", created: 0, owned_by: "edge" }));
  return new PrebuiltResponse(200, [["Content-Type", "application/json"]], JSON.stringify({ object: "list", data }));
}
