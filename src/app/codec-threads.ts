import type { CodecDone } from "../features/transcode/codec-jobs.ts";
import { type CodecThread, LargeMessages } from "../features/transcode/large-messages.ts";

/** The thread of one worker for large messages. @param inTurn runs what it reports as a turn of the event loop */
export function largeMessages(inTurn: (work: () => void) => void): LargeMessages {
  return new LargeMessages((onDone, onEnd): CodecThread => {
    const thread = new globalThis.Worker(CODEC_ENTRY);
    thread.onmessage = ({ data }: { data: CodecDone }) => inTurn(() => onDone(data));
    thread.addEventListener("close", () => inTurn(onEnd));
    return { post: (job) => thread.postMessage(job), close: () => thread.terminate() };
  });
}

/** The path is resolved against the entry point, in the source tree as in the compiled binary. */
const CODEC_ENTRY = "./transcode-worker.ts";
