/** The label for all those beyond the limit. */
export const OVERFLOW_LABEL = "overflow";
/** Its number in every registry. */
export const OVERFLOW_ID = 0;

/**
 * Gives labels numbers for as long as the process lives, so that counters in shared memory survive a reload: a route
 * that keeps its label keeps its counts. The control thread owns it and hands `ids()` to the workers with each
 * configuration; the workers never assign a number.
 */
export class LabelRegistry {
  private readonly labels: string[] = [OVERFLOW_LABEL];
  private readonly idsByLabel: Map<string, number> = new Map([[OVERFLOW_LABEL, OVERFLOW_ID]]);
  private readonly capacity: number;

  /**
   * @param reserved labels that get the numbers from 1 on at once
   * @param capacity numbers there are; labels beyond it share OVERFLOW_ID
   */
  constructor(reserved: readonly string[], capacity: number) {
    this.capacity = capacity;
    for (const label of reserved) this.idOf(label);
  }

  /** The number of a label, assigned now when it is new. */
  idOf(label: string): number {
    const known = this.idsByLabel.get(label);
    if (known !== undefined) return known;
    const id = this.labels.length;
    if (id === this.capacity) return OVERFLOW_ID;
    this.labels.push(label);
    this.idsByLabel.set(label, id);
    return id;
  }

  /** The label with this number. */
  labelOf(id: number): string {
    return this.labels[id] ?? OVERFLOW_LABEL;
  }

  /** All labels in the order of their numbers, the overflow first. */
  all(): readonly string[] {
    return this.labels;
  }

  /** A copy for a worker: it survives structured clone. */
  ids(): ReadonlyMap<string, number> {
    return new Map(this.idsByLabel);
  }
}
