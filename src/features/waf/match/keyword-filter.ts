import { CLASS_BITS, CLASS_COUNT } from "./byte-class.ts";

/**
 * Says of bytes, at some nanosecond a byte, that no keyword of a set is in them, or that one may be.
 *
 * A shift-or automaton over pairs of neighbouring byte classes. Keywords are dealt into eight buckets. `masks` has a row
 * a pair: bit b of its byte s is 0 where the pair may be the s-th of the last four of a keyword in bucket b. A caller
 * keeps 32 bits of state and for each byte does
 *
 *     state = (state << 8) | masks[(previousClass << 6) | class];  all &= state;
 *
 * so that a bit of the topmost byte is 0 when four pairs in a row fitted one bucket. Keywords of one bucket may be
 * mixed up, so a hit is only a suspicion; what has no hit has no keyword.
 */
export class KeywordFilter {
  readonly masks: Int32Array = new Int32Array(CLASS_COUNT * CLASS_COUNT).fill(-1);
  /** The state where a value begins; the previous class is ByteClass.Boundary there. */
  readonly start: number;

  /** @param spellings of all keywords; see `spellingsOf` */
  constructor(spellings: readonly (readonly number[])[]) {
    spellings.forEach((classes, index) => {
      this.enter(classes, index);
    });
    let start = -1;
    let anyPair = -1;
    for (let pairs = 1; pairs < STAGES; pairs++) {
      for (let stage = 0; stage < STAGES - pairs; stage++) {
        anyPair &= ~bitOf(stage, pairs - 1);
        start &= ~bitOf(stage, pairs - 1);
      }
    }
    for (let i = 0; i < this.masks.length; i++) this.masks[i]! &= anyPair;
    this.start = start;
  }

  private enter(classes: readonly number[], index: number): void {
    const last = classes.slice(-STAGES - 1);
    const pairs = Math.max(1, last.length - 1);
    // Short keywords share the bucket of their length, in which the stages before them take every pair.
    const bucket = pairs < STAGES ? pairs - 1 : SHORT_BUCKETS + (index % (BUCKETS - SHORT_BUCKETS));
    const first = STAGES - pairs;
    if (last.length === 1) {
      for (let before = 0; before < CLASS_COUNT; before++) this.allow(before, last[0]!, first, bucket);
    }
    for (let i = 0; i + 1 < last.length; i++) this.allow(last[i]!, last[i + 1]!, first + i, bucket);
  }

  private allow(left: number, right: number, stage: number, bucket: number): void {
    this.masks[(left << CLASS_BITS) | right]! &= ~bitOf(stage, bucket);
  }
}

/** Whether all states of a scan, and-ed, hold a suspicion. */
export function isSuspicious(all: number): boolean {
  return all >>> 24 !== 0xff;
}

/** The topmost byte belongs to the oldest pair: a pair's own byte is shifted there by those behind it. */
function bitOf(stage: number, bucket: number): number {
  return 1 << (stage * 8 + bucket);
}

const STAGES = 4;
const BUCKETS = 8;
/** Buckets for keywords of one, two and three pairs. */
const SHORT_BUCKETS = 3;
