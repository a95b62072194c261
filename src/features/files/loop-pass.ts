/**
 * Counts the passes of the event loop in which files are asked for. A pass serves the requests that had arrived when it began, so
 * one look at a file is as fresh for all of them as a look for each. docs/cache.md#files
 */
export class LoopPass {
  private number = 0;
  private isUnderWay = false;
  private readonly afterPass: (callback: () => void) => void;
  private readonly end = (): void => {
    this.isUnderWay = false;
  };

  /** @param afterPass runs its callback once, when the events of this pass have been served */
  constructor(afterPass: (callback: () => void) => void = setImmediate) {
    this.afterPass = afterPass;
  }

  /** The number of the pass that is under way, from 1. */
  get current(): number {
    if (!this.isUnderWay) {
      this.isUnderWay = true;
      this.number++;
      this.afterPass(this.end);
    }
    return this.number;
  }
}
