import { EFFORT } from "../effort.ts";
import type { Keys } from "../keys.ts";
import type { Plan } from "../plan.ts";
import { MAX_DEPTH, type Statement } from "../statement.ts";
import { geoMap } from "./nginx-geo.ts";
import { valueMap } from "./nginx-maps.ts";
import { referersMap } from "./nginx-referers.ts";
import { nginxTemplate } from "./nginx-values.ts";

/** Makes a map of a directive; null if maps cannot say it. @param of the key, a text with placeholders */
type MapMaker = (statement: Statement, of: string) => Keys | null;

const MAKERS: ReadonlyMap<string, MapMaker> = new Map([
  ["map", valueMap],
  ["geo", geoMap],
]);

/**
 * Puts what variables of the configuration's own stand for in the place of their uses: values of `set`, and maps of `map`, `geo` and
 * `valid_referers`. What has no counterpart stays a variable, of which each use is judged.
 */
export function putVariables(plan: Plan, statements: readonly Statement[]): void {
  putValues(plan, statements, new Map(), new Map());
  const declared = new Map<string, Statement>();
  for (const block of statements) if (block.name === "http") gather(block, declared);
  const made = new Map<string, Keys | null>();
  for (const variable of declared.keys()) makeMap(variable, declared, made);
  const names = new Map<string, string>();
  for (const [variable, keys] of made) {
    if (keys === null) continue;
    names.set(variable, mapOf(variable));
    plan.maps.push({ origin: declared.get(variable)!, name: variable, keys });
  }
  const used = new Set<string>();
  for (const block of statements) if (block.name === "http") putNames(block.block ?? [], names, used);
  for (const variable of names.keys()) {
    const { ledger } = plan;
    const one = declared.get(variable)!;
    if (used.has(variable)) ledger.carry(one, ...(one.block ?? []));
    else ledger.standardWhole(one);
  }
  plan.maps.splice(0, plan.maps.length, ...plan.maps.filter(({ name }) => used.has(name)));
  putReferers(plan, statements, "", []);
}

/** All maps of a block by their variables; those with a variable of several are left out. */
function gather({ block }: Statement, into: Map<string, Statement>): void {
  const again = new Set<string>();
  for (const one of block ?? []) {
    if (!MAKERS.has(one.name) || one.block === null) continue;
    const name = variableOf(one.args.at(-1));
    // What upgrades is the gateway's own.
    if (name === null || one.args[0] === "$http_upgrade") continue;
    if (into.has(name)) again.add(name);
    into.set(name, one);
  }
  for (const name of again) into.delete(name);
}

/** Makes the map of a variable after the maps in it. */
function makeMap(
  variable: string,
  declared: ReadonlyMap<string, Statement>,
  made: Map<string, Keys | null>,
  depth = 0,
): void {
  if (made.has(variable) || depth > MAX_DEPTH) return;
  // A circle has none.
  made.set(variable, null);
  const one = declared.get(variable)!;
  const source = one.args.length === 2 ? one.args[0]! : "$remote_addr";
  const names = new Map<string, string>();
  for (const text of [source, ...(one.block ?? []).flatMap(({ args }) => args)])
    for (const other of usedIn(text)) {
      if (names.has(other) || !declared.has(other)) continue;
      makeMap(other, declared, made, depth + 1);
      if (made.get(other) != null) names.set(other, mapOf(other));
    }
  for (const row of one.block ?? []) replaceArgs(row, (word) => put(word, names));
  const of = nginxTemplate(put(source, names));
  made.set(variable, of === null ? null : MAKERS.get(one.name)!(one, of));
}

/** Puts the maps in the place of the variables. @param used gets the variables that were found */
function putNames(statements: readonly Statement[], names: ReadonlyMap<string, string>, used: Set<string>): void {
  for (const one of statements) {
    const isDeclared = MAKERS.has(one.name);
    const own = isDeclared ? one.args.slice(0, -1) : one.args;
    if (own.some((word) => word.includes("$"))) {
      for (const name of own.flatMap(usedIn)) if (names.has(name)) used.add(name);
      replaceArgs(one, (word, at) => (isDeclared && at === one.args.length - 1 ? word : put(word, names)));
    }
    if (one.block === null) continue;
    if (!isDeclared) putNames(one.block, names, used);
    // Its rows have the maps already.
    else
      for (const { args } of one.block)
        for (const word of args) for (const [, name] of word.matchAll(/\$\{map\.(\w+)\}/g)) used.add(name!);
  }
}

/** Puts the value of `set` in the place of a variable that a server sets once, whatever is asked for. */
function putValues(
  plan: Plan,
  statements: readonly Statement[],
  around: ReadonlyMap<string, string>,
  sets: ReadonlyMap<string, number>,
): void {
  let values = around;
  for (const one of statements) {
    if (one.name !== "set") continue;
    const [variable, value] = [variableOf(one.args[0]), one.args[1]];
    if (variable === null || value === undefined || sets.get(variable) !== 1) continue;
    const whole = closedNames(put(value, values));
    // A value may contain earlier ones.
    if (usedIn(whole).includes(variable) || whole.length > MAX_VALUE) continue;
    if (values === around) {
      EFFORT.take(around.size);
      values = new Map(around);
    }
    (values as Map<string, string>).set(variable, whole);
    plan.ledger.carry(one);
  }
  for (const one of statements) {
    if (one.name === "server") {
      putValues(plan, one.block ?? [], new Map(), countSets(one));
      continue;
    }
    // A condition asks for the variable, and its own block counts at times.
    if (one.name === "if" || one.name === "set") continue;
    if (values.size > 0) replaceArgs(one, (word) => put(word, values));
    if (one.block !== null && one.name !== "map" && one.name !== "geo") putValues(plan, one.block, values, sets);
  }
}

function countSets(server: Statement, counts: Map<string, number> = new Map()): Map<string, number> {
  for (const one of server.block ?? []) {
    const name = one.name === "set" ? variableOf(one.args[0]) : null;
    // Of one in a condition it is not known whether it counts.
    if (name !== null) counts.set(name, (counts.get(name) ?? 0) + (server.name === "if" ? 2 : 1));
    countSets(one, counts);
  }
  return counts;
}

/** Makes a map of each `valid_referers`, and puts it in the place of `$invalid_referer`. */
function putReferers(plan: Plan, statements: readonly Statement[], around: string, names: readonly string[]): void {
  const own = statements.find(({ name }) => name === "valid_referers");
  const serverNames = statements.filter(({ name }) => name === "server_name").flatMap(({ args }) => args);
  const server = serverNames.length > 0 ? serverNames : names;
  let map = around;
  if (own !== undefined) {
    const all = statements.filter(({ name }) => name === "valid_referers");
    const keys = referersMap(
      all.flatMap(({ args }) => args),
      server,
    );
    map = keys === null ? "" : `invalid_referer_${plan.maps.length + 1}`;
    if (keys !== null) {
      plan.maps.push({ origin: own, name: map, keys });
      plan.ledger.carry(...all);
    }
  }
  const values = new Map(map === "" ? [] : [["invalid_referer", mapOf(map)]]);
  for (const one of statements) {
    if (values.size > 0 && one.name !== "if") replaceArgs(one, (word) => put(word, values));
    if (one.block !== null) putReferers(plan, one.block, map, server);
  }
}

function replaceArgs(one: Statement, change: (word: string, at: number) => string): void {
  if (!one.args.some((word) => word.includes("$"))) return;
  // Notes show what the file says.
  void one.text;
  one.args = one.args.map(change);
  EFFORT.take(1 + one.args.reduce((sum, { length }) => sum + length, 0) / CHARS_A_STEP);
}

/** A text with other texts in the place of variables. */
function put(text: string, values: ReadonlyMap<string, string>): string {
  if (!text.includes("$")) return text;
  return text.replace(ANY_USE, (whole, braced: string | undefined, plain: string | undefined) => {
    return values.get(braced ?? plain ?? "") ?? whole;
  });
}

/** A value with braces around its variables, so that any text may follow it. */
function closedNames(value: string): string {
  return value.replace(/\$(\w+)/g, "${$1}");
}

/** The variables of a text. */
function usedIn(text: string): string[] {
  return text.includes("$") ? [...text.matchAll(ANY_USE)].map(([, braced, plain]) => (braced ?? plain)!) : [];
}

function mapOf(name: string): string {
  return `\${map.${name}}`;
}

function variableOf(word: string | undefined): string | null {
  return /^\$(\w{1,64})$/.exec(word ?? "")?.[1] ?? null;
}

const CHARS_A_STEP = 1000;
/** Longer values of `set` stay variables. */
const MAX_VALUE = 1000;
const ANY_USE = /\$(?:\{(\w+)\}|(\w+))/g;
