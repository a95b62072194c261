import { HANDING_OVER } from "../../core/handing-over.ts";
import { ENDPOINTS } from "./built-in-endpoints.ts";
import { type Answerer, refusalResponse } from "./control-rpc.ts";
import { type RouteCall, readsRoute } from "./route-call-handler.ts";

/**
 * Refuses changes from operators while another process takes over: it has read already what it begins with. Questions that
 * change nothing are answered. docs/operations.md#replacing-the-binary
 * @param answerers by their questions; those that change something are replaced
 * @param isHandingOver whether a successor has been started
 */
export function holdChanges(answerers: Map<string, Answerer>, isHandingOver: () => boolean): Map<string, Answerer> {
  for (const { question, methods } of ENDPOINTS) {
    const answerer = question === null ? undefined : answerers.get(question);
    if (answerer === undefined || methods.every((method) => method === "GET")) continue;
    answerers.set(question!, (body, worker) =>
      isHandingOver() && changes(question!, body) ? refusalResponse(503, HANDING_OVER) : answerer(body, worker),
    );
  }
  return answerers;
}

/** One question both reads and changes. */
function changes(question: string, body: string): boolean {
  return question !== "config-route" || !readsRoute(JSON.parse(body) as RouteCall);
}
