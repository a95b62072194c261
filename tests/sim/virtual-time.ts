/** A clock that stands still until the simulation moves it, and what is to be done at which of its times. */
export class VirtualTime {
  nowMs = 0;
  private readonly works: { readonly atMs: number; readonly order: number; readonly work: () => void }[] = [];
  private count = 0;

  /** Does `work` at a time, and works of one time in the order in which they were given. */
  at(atMs: number, work: () => void): void {
    const { works } = this;
    const entry = { atMs: Math.max(atMs, this.nowMs), order: this.count++, work };
    let i = works.length;
    works.push(entry);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(entry, works[parent]!)) break;
      works[i] = works[parent]!;
      i = parent;
    }
    works[i] = entry;
  }

  /** Goes on to a time, and does all that is due until then. */
  runTo(untilMs: number): void {
    while (this.works.length > 0 && this.works[0]!.atMs <= untilMs) {
      const { atMs, work } = this.pop();
      this.nowMs = atMs;
      work();
    }
    this.nowMs = untilMs;
  }

  private pop(): { readonly atMs: number; readonly work: () => void } {
    const { works } = this;
    const first = works[0]!;
    const last = works.pop()!;
    if (works.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= works.length) break;
      if (child + 1 < works.length && isBefore(works[child + 1]!, works[child]!)) child++;
      if (!isBefore(works[child]!, last)) break;
      works[i] = works[child]!;
      i = child;
    }
    works[i] = last;
    return first;
  }
}

function isBefore(
  one: { readonly atMs: number; readonly order: number },
  other: { readonly atMs: number; readonly order: number },
): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
