/** A command's outputs: results go to `out`, complaints to `err`. Texts carry their own line ends. */
export interface CommandIo {
  out(text: string): void;
  err(text: string): void;
}

/** Exit codes of the commands: done or PASS, failure or FAIL, wrong usage. docs/tools.md */
export const enum ExitCode {
  Done = 0,
  Failure = 1,
  Usage = 2,
  Interrupted = 130,
}
