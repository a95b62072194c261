import type { ActionCall } from "../features/admin/action-handler.ts";
import { type ControlResponse, jsonResponse, refusalResponse } from "../features/admin/control-rpc.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { DryRun, type HttpVersion } from "./dry-run.ts";
import { type Explanation, explainRequest } from "./explanation.ts";
import { requestOf, type TypedRequest } from "./typed-request.ts";

/** How a running gateway would treat a request: `POST /internal/api/explain`. */
export interface LiveExplanation {
  readonly explanation: Explanation;
  /** Where the routes of its table come from, and how many come from each. */
  readonly sources: Readonly<Record<string, number>>;
}

/**
 * Explains a request by the configuration that serves, with the routes of all sources.
 * @param asked the members of the endpoint's body, unexamined, and who sends them
 * @returns 400 if the call or its request is none. docs/explain.md#a-running-gateway
 */
export function explainCall(asked: ActionCall, config: RuntimeConfig): ControlResponse {
  const typed = typedRequest(asked.call);
  const request = typed === null ? CALL : requestOf(typed, config);
  if (typeof request === "string") return refusalResponse(400, request);
  const sources: Record<string, number> = {};
  for (const { source = "file" } of config.routes) sources[source] = (sources[source] ?? 0) + 1;
  const whole = explainRequest(config, new DryRun(config), request);
  // Rules of addresses may keep a fixed response from other users of this machine.
  const isShown = asked.operator.by !== "";
  const explanation = isShown ? whole : { ...whole, response: { ...whole.response, body: "" } };
  return jsonResponse(200, { explanation, sources } satisfies LiveExplanation);
}

/** Null for a call that has another shape. */
function typedRequest(call: Readonly<Record<string, unknown>>): TypedRequest | null {
  const { request, headers = [], body = "", client_ip = "127.0.0.1", http = 1, listener = "", ...others } = call;
  const texts = [request, body, client_ip, listener];
  if (texts.some((one) => typeof one !== "string") || Object.keys(others).length > 0) return null;
  if (!Array.isArray(headers) || headers.some((one) => typeof one !== "string")) return null;
  if (http !== 1 && http !== 2 && http !== 3) return null;
  const [line, content, clientIp, place] = texts as [string, string, string, string];
  return { request: line, headers, body: content, clientIp, http: http satisfies HttpVersion, listener: place };
}

const CALL =
  'expected {"request": "GET https://shop.example.com/a"}, with headers (a list of lines), body, client_ip, http (1, 2 or 3) and listener beside it';
