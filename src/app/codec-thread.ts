import { type CodecDone, type CodecJob, CodecJobs } from "../features/transcode/codec-jobs.ts";

/** The slice of a thread's global scope that is used here. */
interface Scope {
  postMessage(done: CodecDone): void;
  onmessage: ((event: { data: CodecJob }) => void) | null;
}

/** Runs the thread of one worker for large messages. */
export function runCodecThread(): void {
  const scope = globalThis as unknown as Scope;
  const jobs = new CodecJobs();
  scope.onmessage = ({ data }) => scope.postMessage(jobs.run(data));
}
