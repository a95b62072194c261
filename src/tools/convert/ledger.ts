import { aboutOf, isOutside, type Place, type Statement, shown } from "./statement.ts";

/** Something that a directive does and the new configuration does not, with what to do instead. */
export interface Note {
  readonly place: Place;
  readonly directive: string;
  /** Why it is not carried over, or what is different. */
  readonly why: string;
  /** What to do instead. */
  readonly cure: string;
}

/** What has become of a directive: `carried` into the new files; `standard`, since the gateway does it without a setting; or it has notes. */
type Fate = "carried" | "standard" | "noted";

interface Entry {
  isCarried: boolean;
  isStandard: boolean;
  /** By their words. */
  readonly notes: Map<string, Note>;
}

/** THE account of all directives: each is carried over, done anyway, or noted. What no converter has judged is noted at the end. */
export class Ledger {
  private readonly entries: Map<Statement, Entry> = new Map();
  /** Notes that belong to no directive. */
  private readonly others: Map<string, Note> = new Map();

  /** Takes a directive, and those of its block, into the account. */
  enter(statement: Statement): void {
    this.entries.set(statement, { isCarried: false, isStandard: false, notes: new Map() });
    for (const child of statement.block ?? []) this.enter(child);
  }

  /** The new files say the same. */
  carry(...statements: readonly (Statement | null)[]): void {
    for (const one of statements) if (one !== null) this.of(one).isCarried = true;
  }

  /** The gateway does the same without a setting, or has no need of it. */
  standard(...statements: readonly Statement[]): void {
    for (const one of statements) this.of(one).isStandard = true;
  }

  /** A directive with its whole block. */
  standardWhole(statement: Statement): void {
    this.standard(statement);
    for (const child of statement.block ?? []) this.standardWhole(child);
  }

  /** Something is not carried over, or is different. The same words are noted once. */
  note(statement: Statement, reason: string, cure: string): Note {
    const { notes } = this.of(statement);
    const why = aboutOf(statement, reason);
    return once(notes, { place: statement, directive: statement.text, why, cure });
  }

  /** Notes a directive with its whole block. */
  noteWhole(statement: Statement, why: string, cure: string): Note {
    for (const child of statement.block ?? []) this.noteWhole(child, belongsTo(statement), cure);
    return this.note(statement, why, cure);
  }

  /** A note of the converter's own. */
  remark(place: Place, directive: string, why: string, cure: string): Note {
    return once(this.others, { place, directive: shown(directive), why, cure });
  }

  isJudged(statement: Statement): boolean {
    return this.fateOf(statement) !== null;
  }

  /** Notes whatever has not been judged. @param advise says why and what to do, by directive */
  settle(advise: (statement: Statement) => { readonly why: string; readonly cure: string }): void {
    for (const statement of this.entries.keys()) {
      if (this.isJudged(statement)) continue;
      // A block is there when something of it is.
      if (this.isPartlyCarried(statement)) this.carry(statement);
      else {
        const { why, cure } = advise(statement);
        this.note(statement, why, cure);
        this.noteRest(statement, cure);
      }
    }
  }

  private isPartlyCarried({ block }: Statement): boolean {
    return block?.some((child) => this.fateOf(child) === "carried" || this.isPartlyCarried(child)) === true;
  }

  /** What no converter has judged of the block of a directive that is not carried over. */
  private noteRest(statement: Statement, cure: string): void {
    for (const child of statement.block ?? []) {
      if (!this.isJudged(child)) this.note(child, belongsTo(statement), cure);
      this.noteRest(child, cure);
    }
  }

  /** All directives with what has become of them, in the order of the files. */
  account(): { readonly statement: Statement; readonly fate: Fate | null }[] {
    return [...this.entries.keys()].map((statement) => ({ statement, fate: this.fateOf(statement) }));
  }

  /** All notes, in the order of the files. */
  notes(): Note[] {
    const all = [...[...this.entries.values()].flatMap(({ notes }) => [...notes.values()]), ...this.others.values()];
    const ranks = new Map([...new Set(all.map(({ place }) => place.file))].map((file, rank) => [file, rank]));
    const rankOf = ({ place }: Note): number => ranks.get(place.file)!;
    return all.sort((a, b) => rankOf(a) - rankOf(b) || a.place.line - b.place.line);
  }

  /** The notes of a directive. */
  notesOf(statement: Statement): readonly Note[] {
    return [...(this.entries.get(statement)?.notes.values() ?? [])];
  }

  private fateOf(statement: Statement): Fate | null {
    const { notes, isCarried, isStandard } = this.of(statement);
    if (notes.size > 0) return "noted";
    return isCarried ? "carried" : isStandard ? "standard" : null;
  }

  private of(statement: Statement): Entry {
    const known = this.entries.get(statement);
    if (known !== undefined) return known;
    const made: Entry = { isCarried: false, isStandard: false, notes: new Map() };
    this.entries.set(statement, made);
    return made;
  }
}

/** The note with these words of one file, which is made once. */
function once(notes: Map<string, Note>, note: Note): Note {
  const key = JSON.stringify([note.place.file, note.why, note.cure]);
  const known = notes.get(key) ?? note;
  notes.set(key, known);
  return known;
}

function belongsTo(statement: Statement): string {
  const name = isOutside(statement) ? "a block" : shown(statement.name);
  return `belongs to ${name}, which is not carried over`;
}
