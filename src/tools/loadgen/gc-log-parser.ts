/** One collection as the log tells it. Sizes in KiB, times in milliseconds. */
export interface GcCycle {
  /** The address that the log names the heap by; each thread has one. */
  readonly heap: string;
  readonly isFull: boolean;
  /** Size of the heap when the collection was triggered. */
  readonly triggerKb: number;
  /** Size of the heap after it. */
  readonly liveKb: number;
  /** The stops of the program, one or more. */
  readonly pausesMs: readonly number[];
  /** From its start to its end, concurrent marking included. */
  readonly cycleMs: number;
}

/**
 * Reads the log that JavaScriptCore writes with `JSC_logGC=1`, piece by piece as it comes:
 *
 *     [GC<0x49fafbb8118>: START M 8939kb => EdenCollection, … p=1.138399ms (max 1.138399)...]
 *     [GC<0x49fafbb8118>: M a=237kb … => 3513kb, p=0.523371ms (max 1.138399), cycle 2.918175ms END]
 *
 * A line is written in several pieces, and those of different threads stand in each other's midst. What names no heap
 * belongs to the one whose line is open; of several, to the one whose size it fits best.
 */
export class GcLogParser {
  /** Characters that were given. */
  size = 0;
  /** Lines of the log's form that were seen. */
  lines = 0;
  private readonly heaps = new Map<string, OpenCycle>();
  private rest = "";

  /** @param onCycle is called for every collection that has ended */
  constructor(private readonly onCycle: (cycle: GcCycle) => void) {}

  /** Takes the next piece of the log. */
  feed(text: string): void {
    this.size += text.length;
    const all = this.rest + text;
    // What is after the last line end, or after the last token of an endless line, may still grow.
    const end = Math.max(all.lastIndexOf("\n") + 1, all.length - LONGEST_TOKEN);
    let read = 0;
    TOKEN.lastIndex = 0;
    for (let match = TOKEN.exec(all); match !== null && match.index < end; match = TOKEN.exec(all)) {
      this.take(match.groups as Token);
      read = TOKEN.lastIndex;
    }
    this.rest = all.slice(Math.max(read, end));
  }

  private take(token: Token): void {
    if (token.heap !== undefined) this.openLine(token.heap, token.trigger);
    else if (token.kind !== undefined)
      this.withOpen(
        (open) => open.kind === "",
        (open) => (open.kind = token.kind!),
      );
    else if (token.live !== undefined) this.takeLive(Number(token.live));
    else this.takePause(Number(token.pause), token.cycle);
  }

  private openLine(heap: string, trigger: string | undefined): void {
    this.lines++;
    let open = this.heaps.get(heap);
    if (open === undefined || trigger !== undefined) {
      open = {
        heap,
        kind: "",
        triggerKb: -1,
        liveKb: open?.liveKb ?? -1,
        hasLive: false,
        pausesMs: [],
        inLine: true,
        openedAt: 0,
      };
      this.heaps.set(heap, open);
    }
    if (trigger !== undefined) open.triggerKb = Number(trigger);
    open.inLine = true;
    open.openedAt = this.lines;
  }

  private takeLive(liveKb: number): void {
    const open = this.fitting(liveKb);
    if (open === null) return;
    open.liveKb = liveKb;
    open.hasLive = true;
  }

  private takePause(pauseMs: number, cycle: string | undefined): void {
    const isEnd = cycle !== undefined;
    this.withOpen(
      (open) => open.hasLive === isEnd,
      (open) => {
        open.pausesMs.push(pauseMs);
        open.inLine = false;
        if (isEnd) this.end(open, Number(cycle));
      },
    );
  }

  // Of the lines that are open and want this token, the one that was opened last.
  private withOpen(wants: (open: OpenCycle) => boolean, act: (open: OpenCycle) => void): void {
    let best: OpenCycle | null = null;
    for (const open of this.heaps.values()) {
      if (open.inLine && wants(open) && (best === null || open.openedAt > best.openedAt)) best = open;
    }
    if (best !== null) act(best);
  }

  private fitting(kb: number): OpenCycle | null {
    const candidates = [...this.heaps.values()].filter((open) => open.inLine && !open.hasLive && open.triggerKb >= 0);
    const distance = (open: OpenCycle) => Math.abs((open.liveKb >= 0 ? open.liveKb : open.triggerKb) - kb);
    return candidates.sort((a, b) => distance(a) - distance(b))[0] ?? null;
  }

  private end(open: OpenCycle, cycleMs: number): void {
    const { heap, kind, triggerKb, liveKb, pausesMs } = open;
    this.heaps.set(heap, { ...open, kind: "", triggerKb: -1, hasLive: false, pausesMs: [], inLine: false });
    this.onCycle({ heap, isFull: kind === "Full", triggerKb, liveKb, pausesMs, cycleMs });
  }
}

interface OpenCycle {
  readonly heap: string;
  /** `Eden`, `Full`, or "" while it is not known. */
  kind: string;
  /** -1 when no collection is under way. */
  triggerKb: number;
  /** After the last collection; -1 before the first. */
  liveKb: number;
  /** Whether the end of this collection has told its size. */
  hasLive: boolean;
  pausesMs: number[];
  /** Whether its line has been begun and not ended. */
  inLine: boolean;
  openedAt: number;
}

type Token = Partial<Record<"heap" | "trigger" | "kind" | "live" | "pause" | "cycle", string>>;

const TOKEN =
  /\[GC<(?<heap>0x[0-9a-f]+)>: (?:START \w+ (?<trigger>\d+)kb|\w+ a=)|=> (?<kind>Eden|Full)Collection|=> (?<live>\d+)kb, |\bp=(?<pause>\d+(?:\.\d+)?)ms \(max [\d.]+\)(?:, cycle (?<cycle>\d+(?:\.\d+)?)ms END|\.\.\.)/g;
const LONGEST_TOKEN = 128;
