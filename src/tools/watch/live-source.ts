import type { IncomingMessage } from "node:http";
import type { LiveState, LiveVerdict } from "../../features/dashboard/live-state.ts";
import { verdict } from "../../features/dashboard/verdict.ts";

/**
 * The events of `/internal/api/stream` as they come. docs/dashboard.md#the-stream
 * @param response of which nothing has been read; to be destroyed by the caller
 * @throws Error if an event is no JSON, or longer than MAX_EVENT_CHARS
 */
export async function* liveStates(response: IncomingMessage): AsyncGenerator<LiveState> {
  response.setEncoding("utf8");
  let pending = "";
  for await (const piece of response) {
    pending += piece as string;
    for (let end = pending.indexOf("\n\n"); end >= 0; end = pending.indexOf("\n\n")) {
      const event = pending.slice(0, end);
      pending = pending.slice(end + 2);
      const data = event
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice("data:".length))
        .join("\n");
      if (data !== "") yield stateOf(data);
    }
    if (pending.length > MAX_EVENT_CHARS) throw new Error("an event of the stream is too long");
  }
}

/** An older gateway, which goes on until it is restarted after an upgrade, says neither which logs fail nor whether it is well. */
function stateOf(data: string): LiveState {
  const said = JSON.parse(data) as LiveState & { verdict?: LiveVerdict };
  if (said.verdict !== undefined) return said;
  const state = { ...said, gateway: { ...said.gateway, failedLogs: said.gateway.failedLogs ?? [] } };
  return { ...state, verdict: verdict(state, state.history ?? []) };
}

const MAX_EVENT_CHARS = 8 * 1024 * 1024;
