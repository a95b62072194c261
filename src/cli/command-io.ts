/** Where a command writes: results to `out`, complaints to `err`. Texts carry their own line ends. */
export interface CommandIo {
  out(text: string): void;
  err(text: string): void;
}

/** What commands say on leaving: done or PASS, failure or FAIL, wrong usage. Decisions §1 "Commands". */
export const enum ExitCode {
  Done = 0,
  Failure = 1,
  Usage = 2,
  Interrupted = 130,
}
