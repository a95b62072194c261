/** A place in a file of rules, both from 1. */
interface RulePlace {
  readonly file: string;
  readonly line: number;
  readonly col: number;
}

/** The fault at a place, with its cure. */
export interface RuleFault extends RulePlace {
  readonly message: string;
}

/** The text of a file with the way from offsets to lines. */
export class SourceText {
  readonly file: string;
  readonly text: string;
  private readonly lineStarts: number[] = [0];

  /** @param file as faults name it */
  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.lineStarts.push(at + 1);
  }

  placeOf(offset: number): RulePlace {
    let low = 0;
    let high = this.lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.lineStarts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { file: this.file, line: low + 1, col: offset - this.lineStarts[low]! + 1 };
  }
}

/** A text that was put together of parts of a file: without line continuations and escapes of quotes, and each character with its place. */
export class PlacedText {
  readonly source: SourceText;
  readonly text: string;
  /** Of each character, and of the end. */
  private readonly offsets: readonly number[];

  constructor(source: SourceText, text: string, offsets: readonly number[]) {
    this.source = source;
    this.text = text;
    this.offsets = offsets;
  }

  placeOf(at: number): RulePlace {
    return this.source.placeOf(this.offsets[Math.min(at, this.offsets.length - 1)] ?? 0);
  }

  slice(from: number, to: number = this.text.length): PlacedText {
    return new PlacedText(this.source, this.text.slice(from, to), this.offsets.slice(from, to + 1));
  }

  /** Without blanks at its ends. */
  trimmed(): PlacedText {
    const from = this.text.length - this.text.trimStart().length;
    return this.slice(from, Math.max(from, this.text.trimEnd().length));
  }

  /** The same without the backslash in front of each `quote`. */
  unescaped(quote: string): PlacedText {
    if (!this.text.includes(`\\${quote}`)) return this;
    let text = "";
    const offsets: number[] = [];
    for (let at = 0; at < this.text.length; at++) {
      if (this.text[at] === "\\" && this.text[at + 1] === quote) at++;
      text += this.text[at];
      offsets.push(this.offsets[at]!);
    }
    return new PlacedText(this.source, text, [...offsets, this.offsets.at(-1)!]);
  }
}

/** Ends the reading of a directive. */
export class RuleError extends Error {
  readonly place: RulePlace;

  constructor(place: RulePlace, message: string) {
    super(message);
    this.place = place;
  }
}

/** Throws the fault at a character of a text. */
export function refuseText(text: PlacedText, at: number, message: string): never {
  throw new RuleError(text.placeOf(at), message);
}
