/** An instruction of a compiled expression, as the library has it. */
interface Instruction {
  readonly op: number;
  readonly out: number;
  /** Of an alternative: the other way on. */
  readonly arg: number;
  readonly runes: ArrayLike<number>;
  matchRune(rune: number): boolean;
}

/** A compiled expression whose characters are bytes. */
export interface Program {
  readonly start: number;
  readonly inst: readonly Instruction[];
}

/** Each byte as texts are compared: letters of Latin-1 without case. */
export const FOLDED: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => {
  const lower = String.fromCharCode(byte).toLowerCase().charCodeAt(0);
  return lower < 256 ? lower : byte;
});

/**
 * Texts of which every match of an expression has one or more, letter case aside: if none of them is in a text, the expression need not be tried.
 * They are the beginnings of what follows a set of instructions that every way to a match passes.
 * @returns folded texts; null if there are none that are long enough and few enough
 */
export function requiredLiterals(program: Program): readonly string[] | null {
  const work: Work = { left: MAX_WORK, characters: new Map() };
  for (const length of LENGTHS) {
    const found = literalsOf(program, length, work);
    if (found !== null) return found;
  }
  return null;
}

/** Follows all ways from the start up to where they continue with so many known characters. */
function literalsOf(program: Program, length: number, work: Work): readonly string[] | null {
  const found = new Set<string>();
  const seen = new Set<number>();
  const open = [program.start];
  while (open.length > 0) {
    const at = open.pop()!;
    if (seen.has(at)) continue;
    seen.add(at);
    const beginnings = beginningsAt(program, at, length, work);
    if (beginnings !== null) {
      for (const one of beginnings) found.add(one);
      if (found.size > MAX_LITERALS) return null;
      continue;
    }
    const { op, out, arg } = program.inst[at]!;
    if (op === Op.Match || op > Op.RuneAnyNotNewLine || work.left < 0) return null;
    if (op === Op.Fail) continue;
    open.push(out);
    if (op === Op.Alt || op === Op.AltMatch) open.push(arg);
  }
  return [...found];
}

/** With what all matches go on from an instruction: texts of one length; null where some go on with less, or there are too many. */
function beginningsAt(program: Program, start: number, length: number, work: Work): Set<string> | null {
  const found = new Set<string>();
  const seen = new Set<string>();
  const open: (readonly [at: number, text: string])[] = [[start, ""]];
  while (open.length > 0) {
    const [at, text] = open.pop()!;
    if (text.length === length) {
      found.add(text);
      if (found.size > MAX_BEGINNINGS) return null;
      continue;
    }
    const key = `${at} ${text}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (--work.left < 0 || seen.size > MAX_WAYS) return null;
    const one = program.inst[at]!;
    switch (one.op) {
      case Op.Alt:
      case Op.AltMatch:
        open.push([one.out, text], [one.arg, text]);
        break;
      case Op.Capture:
      case Op.EmptyWidth:
      case Op.Nop:
        open.push([one.out, text]);
        break;
      case Op.Fail:
        break;
      case Op.Rune:
      case Op.Rune1: {
        const known = work.characters.get(one);
        const characters = known === undefined ? charactersOf(one) : known;
        work.characters.set(one, characters);
        if (characters === null || (length === 1 && characters.some((character) => COMMON.test(character))))
          return null;
        for (const character of characters) open.push([one.out, text + character]);
        break;
      }
      default:
        return null;
    }
  }
  return found;
}

/** The characters of an instruction, folded; null if they are too many. */
function charactersOf(one: Instruction): readonly string[] | null {
  if (one.op === Op.Rune1) return one.runes[0]! < 256 ? [String.fromCharCode(FOLDED[one.runes[0]!]!)] : [];
  const found = new Set<number>();
  for (let byte = 0; byte < 256; byte++) {
    if (one.matchRune(byte)) found.add(FOLDED[byte]!);
    if (found.size > MAX_CHARACTERS) return null;
  }
  return [...found].map((byte) => String.fromCharCode(byte));
}

/** What finding the literals of one expression may still cost, and what of it is known. */
interface Work {
  left: number;
  readonly characters: Map<Instruction, readonly string[] | null>;
}

/** The library's instructions. */
const enum Op {
  Alt = 1,
  AltMatch = 2,
  Capture = 3,
  EmptyWidth = 4,
  Fail = 5,
  Match = 6,
  Nop = 7,
  Rune = 8,
  Rune1 = 9,
  RuneAny = 10,
  RuneAnyNotNewLine = 11,
}

/** The longest that are tried: the search begins with the rarer ones. */
const LENGTHS: readonly number[] = [6, 4, 3, 2, 1];
/** Characters that nearly all texts have. */
const COMMON = /[\w \-.,/]/;
const MAX_CHARACTERS = 4;
const MAX_BEGINNINGS = 64;
const MAX_LITERALS = 256;
const MAX_WAYS = 1024;
/** Instructions that one expression costs at most: a few milliseconds. */
const MAX_WORK = 50_000;
