import { ownThreadId } from "../../../memory/thread-id.ts";
import { type CodecDone, type CodecJob, CodecJobs } from "../codec-jobs.ts";

/** The slice of a thread's global scope that is used here. */
interface Scope {
  postMessage(said: CodecDone | number): void;
  onmessage: ((event: { data: CodecJob }) => void) | null;
}

/** Runs a thread of one worker for large messages. It says its number first. */
export function runCodecThread(): void {
  const scope = globalThis as unknown as Scope;
  const jobs = new CodecJobs();
  scope.postMessage(ownThreadId());
  scope.onmessage = ({ data }) => scope.postMessage(jobs.run(data));
}
