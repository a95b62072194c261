/** Where something is in a file that is converted. */
export interface Place {
  /** As the user named it, or as an include named it. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** A directive of a configuration file: a name, its words, and what is between its braces. */
export class Statement implements Place {
  readonly file: string;
  readonly line: number;
  readonly name: string;
  /** Its words; a converter puts in what one of its variables always is. */
  args: readonly string[];
  /** Null if the directive has no block. */
  readonly block: Statement[] | null;
  readonly parent: Statement | null;
  private shownText: string | null = null;
  private named: ReadonlyMap<string, Statement[]> | null = null;
  /** Directives of the block when they were sorted by name. */
  private namedCount = 0;

  constructor(place: Place, words: readonly string[], parent: Statement | null, isBlock: boolean) {
    this.file = place.file;
    this.line = place.line;
    this.name = words[0] ?? "";
    this.args = words.slice(1);
    this.block = isBlock ? [] : null;
    this.parent = parent;
  }

  /** The directives of the block that have this name. */
  all(name: string): Statement[] {
    const { block } = this;
    if (block === null) return [];
    if (this.named === null || this.namedCount !== block.length) {
      this.named = Map.groupBy(block, (one) => one.name);
      this.namedCount = block.length;
    }
    return [...(this.named.get(name) ?? [])];
  }

  /** As it is shown in comments: on one line, cut short, without control characters. Nothing of a file outside of the folder. */
  get text(): string {
    if (isOutside(this)) return OUTSIDE_TEXT;
    this.shownText ??= shown(this.beginning());
    return this.shownText;
  }

  /** As much of it as may be shown: a directive may have as many words as its file, and as many notes. */
  private beginning(): string {
    let text = "";
    for (const word of [this.name, ...this.args.slice(0, MAX_SHOWN)]) {
      const start = word.slice(0, 2 * MAX_SHOWN);
      text += `${text === "" ? "" : " "}${/^[^\s"]+$/.test(start) ? start : JSON.stringify(start)}`;
    }
    return text;
  }
}

/** A text as a comment shows it: on one line, cut short, without control characters. */
export function shown(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}…` : plain;
}

/** A file that cannot be read as the kind that it should be. Of a file outside of the folder no text is quoted. */
export class ConvertFault extends Error {
  constructor(place: Place, what: string) {
    const said = isOutside(place) && what.includes('"') ? "it is no configuration of this product" : what;
    super(place.line === 0 ? `${place.file}: ${said}` : `${place.file}:${place.line}: ${said}`);
  }
}

/** How a file that is included from outside of the folder of the converted file is named. */
export function outsideName(path: string): string {
  return OUTSIDE + path;
}

/** Whether a place is in a file outside of the folder of the converted file: its text is none of the report's. */
export function isOutside({ file }: Place): boolean {
  return file.startsWith(OUTSIDE);
}

/** The path of a file that has the name of one outside of the folder, or another. */
export function filePath(file: string): string {
  return file.startsWith(OUTSIDE) ? file.slice(OUTSIDE.length) : file;
}

/** Words about a directive; without its own words where it is in a file outside of the folder. */
export function aboutOf(statement: Statement, words: string): string {
  if (!isOutside(statement)) return words;
  const own = [statement.name, ...statement.args].filter((word) => word !== "").sort((a, b) => b.length - a.length);
  return own.reduce((text, word) => text.replaceAll(word, "…"), words);
}

/** A rule in a few words, for its comment. */
export function statementTitle(statement: Statement): string {
  return `${statement.file}:${statement.line} ${statement.text}`;
}

const OUTSIDE = "outside:";
const OUTSIDE_TEXT = "a directive of an included file";

const MAX_SHOWN = 120;
/** Directives of all files together, and how deep blocks and includes may be. */
export const MAX_STATEMENTS = 1_000_000;
export const MAX_DEPTH = 64;
