import type { FunctionNews, FunctionWord } from "./worker-functions.ts";

/** From the control thread: a thread of a module is there, or no longer. */
export interface FunctionNewsMessage {
  readonly kind: "functions";
  readonly news: FunctionNews;
}

/** From a worker, about the calls that it makes. */
export interface FunctionWordMessage {
  readonly kind: "functions";
  readonly said: FunctionWord;
}
