import { Generator } from "./generator.ts";
import type { FromGenerator, ToGenerator } from "./generator-messages.ts";

/** The slice of a worker thread's global scope that is used here. */
interface ThreadScope {
  postMessage(message: FromGenerator): void;
  onmessage: ((event: { data: ToGenerator }) => void) | null;
}

/** Runs a generator on this thread, as the messages say. */
export function runGeneratorThread(): void {
  const scope = globalThis as unknown as ThreadScope;
  let generator: Generator | null = null;
  scope.onmessage = ({ data }) => {
    if (data.kind === "stop") generator?.stop();
    else if (data.kind === "start") generator?.start(data.startEpochMs);
    else {
      generator = new Generator(
        data.share,
        (samples) => scope.postMessage({ kind: "samples", samples }),
        (lastSentMs) => scope.postMessage({ kind: "done", lastSentMs }),
      );
      void generator.connect().then(() => scope.postMessage({ kind: "connected" }));
    }
  };
  scope.postMessage({ kind: "ready" });
}
