// How a probe asks, whatever protocol it speaks.

/** How a probe asks and understands. */
export interface ProbeDialog {
  readonly request: Buffer;
  /** Takes what has come. @returns the status of the final response; 0 before it is there; -1 where it is malformed */
  take(chunk: Buffer): number;
}
