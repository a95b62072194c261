import { askForTimeSlice } from "../../../net/thread-turns.ts";
import { FunctionThread } from "../thread/function-thread.ts";
import type { FromFunction, ToFunction } from "../wire.ts";

/** Longest turns of a function's thread, in microseconds, if another thread waits for the processor. */
const FUNCTION_SLICE_US = 500;

/** The slice of a thread's global scope that is used here. */
interface Scope {
  postMessage(message: FromFunction): void;
  addEventListener(event: "message", listener: (event: { data: ToFunction }) => void): void;
}

/** Runs the thread of a module. */
export function runFunctionThread(): void {
  askForTimeSlice(FUNCTION_SLICE_US);
  const scope = globalThis as unknown as Scope;
  const post = scope.postMessage.bind(scope);
  const thread = new FunctionThread((message) => post(message));
  // A module may set `onmessage`: the gateway's own listener is another one.
  scope.addEventListener("message", ({ data }) => thread.receive(data));
}
