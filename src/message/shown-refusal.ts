import { Fault } from "../core/fault.ts";
import type { PrebuiltResponse } from "./prebuilt-response.ts";

/** Whether a head was refused for its size alone: what was read of it is in order. */
export function isOfSize(fault: Fault): boolean {
  return (
    fault === Fault.RequestLineTooLong ||
    fault === Fault.HeaderLineTooLong ||
    fault === Fault.HeadTooLarge ||
    fault === Fault.TooManyFields
  );
}

/** Whether code of the user's own has failed: the response leads to the line of the log that says where. docs/functions.md#isolation */
export function isOfFunction(fault: Fault): boolean {
  return fault === Fault.FunctionFailed || fault === Fault.FunctionTimeout || fault === Fault.FunctionGone;
}

/** The same response with the id of its request. */
export function named(response: PrebuiltResponse, id: string): PrebuiltResponse {
  return response.with([...response.fields, ["X-Request-Id", id]]);
}
