import { UNKNOWN_THREAD } from "../../../memory/thread-id.ts";
import { startThread, ThreadEnds } from "../../../net/threads.ts";
import type { CodecDone } from "../codec-jobs.ts";
import { type CodecThread, LargeMessages } from "../large-messages.ts";

/** How often the threads are examined while they have work. */
const LOOK_MS = 50;

/** The threads of one worker for large messages. @param inTurn runs what they report as a turn of the event loop */
export function largeMessages(inTurn: (work: () => void) => void): LargeMessages {
  const ends = new ThreadEnds();
  return new LargeMessages({
    start: (onDone, onEnd): CodecThread | null => {
      const worker = startThread(CODEC_ENTRY);
      if (worker === null) return null;
      let tid = UNKNOWN_THREAD;
      worker.onmessage = ({ data }: { data: CodecDone | number }) => {
        if (typeof data === "number") tid = data;
        else inTurn(() => onDone(data));
      };
      // Its defects are the job's; without a listener they would be written to the standard error.
      worker.onerror = (event: ErrorEvent) => event.preventDefault();
      worker.addEventListener("close", () => inTurn(onEnd));
      return { post: (job) => worker.postMessage(job), close: () => void ends.end({ worker, tid }) };
    },
    nowMs: () => performance.now(),
    watch: (look) => {
      const timer = setInterval(() => {
        ends.look();
        inTurn(look);
      }, LOOK_MS);
      return () => clearInterval(timer);
    },
  });
}

/** The path is resolved against the entry point, in the source tree as in the compiled binary. */
const CODEC_ENTRY = "./transcode-worker.ts";
