import { EFFORT, STEPS_A_DIRECTIVE } from "../effort.ts";
import type { Ledger } from "../ledger.ts";
import type { Statement } from "../statement.ts";

/** A block of nginx with those around it: what a directive's value is there. */
export class Scope {
  readonly statement: Statement | null;
  readonly outer: Scope | null;
  private readonly own: readonly Statement[];
  readonly ledger: Ledger;
  private names: ReadonlyMap<string, readonly Statement[]> | null = null;
  private readonly together: Map<string, readonly Statement[]> = new Map();
  private readonly named: Map<string, Statement | undefined> = new Map();
  private sets: ReadonlyMap<string, readonly Statement[]> | null = null;

  constructor(statements: readonly Statement[], statement: Statement | null, outer: Scope | null, ledger: Ledger) {
    this.own = statements;
    this.statement = statement;
    this.outer = outer;
    this.ledger = ledger;
  }

  /** A block within this one. */
  inner(statement: Statement): Scope {
    return new Scope(statement.block ?? [], statement, this, this.ledger);
  }

  /** Directives of the block itself. */
  here(...names: readonly string[]): readonly Statement[] {
    const lists = names.map((name) => this.byName().get(name) ?? []).filter((list) => list.length > 0);
    if (lists.length < 2) return lists[0] ?? [];
    const key = names.join(" ");
    const known = this.together.get(key) ?? this.own.filter((one) => names.includes(one.name));
    this.together.set(key, known);
    return known;
  }

  /** Looked up rather than searched for: a file may have thousands of servers, and each asks the blocks around it. */
  private byName(): ReadonlyMap<string, readonly Statement[]> {
    this.names ??= Map.groupBy(this.own, ({ name }) => name);
    return this.names;
  }

  /** The block of this name in here with this first word, such as `upstream app`. */
  block(name: string, word: string): Statement | undefined {
    const key = `${name} ${word}`;
    if (this.named.size === 0) for (const one of this.own) remember(this.named, `${one.name} ${one.args[0]}`, one);
    return this.named.get(key);
  }

  /** The directives that count here: those of the innermost block that has any. */
  inherited(...names: readonly string[]): readonly Statement[] {
    const own = this.here(...names);
    EFFORT.take(1 + STEPS_A_DIRECTIVE * own.length);
    return own.length > 0 || this.outer === null ? own : this.outer.inherited(...names);
  }

  /** The last of them. */
  one(name: string): Statement | null {
    return this.inherited(name).at(-1) ?? null;
  }

  /** Its first word, the directive counted as carried over; null if it is not there. */
  value(name: string): string | null {
    const found = this.one(name);
    this.ledger.carry(found);
    return found?.args[0] ?? null;
  }

  /** Whether a switch is on. */
  isOn(name: string): boolean {
    return this.value(name) === "on";
  }

  /** The one `set` of a variable that counts here; null if there are several, or one of a condition. */
  assignment(variable: string): Statement | null {
    const [found, ...more] = this.server().assignments().get(variable) ?? [];
    if (found === undefined || more.length > 0) return null;
    for (let at: Scope | null = this; at !== null; at = at.outer) if (at.here("set").includes(found)) return found;
    return null;
  }

  /** All `set` of a server by their variables. */
  private assignments(): ReadonlyMap<string, readonly Statement[]> {
    this.sets ??= Map.groupBy(this.own.flatMap(setsOf), ({ args }) => args[0] ?? "");
    return this.sets;
  }

  private server(): Scope {
    return this.statement?.name === "server" || this.outer === null ? this : this.outer.server();
  }

  get children(): readonly Statement[] {
    return this.own;
  }
}

/** The first one of a key stays. */
function remember(map: Map<string, Statement | undefined>, key: string, one: Statement): void {
  if (!map.has(key)) map.set(key, one);
}

function setsOf(statement: Statement): Statement[] {
  return statement.name === "set" ? [statement] : (statement.block ?? []).flatMap(setsOf);
}
