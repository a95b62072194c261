import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";

/** What decides who comes in, with what goes together of which the innermost block counts. */
const GUARDS: readonly (readonly string[])[] = [
  ["allow", "deny"],
  ["satisfy"],
  ["auth_basic"],
  ["auth_basic_user_file"],
  ["auth_request"],
];

/** A text that two blocks have in common where the same rules say who comes in. */
export function guardsKey(scope: Scope): string {
  const known = KEYS.get(scope) ?? readGuards(scope);
  KEYS.set(scope, known);
  return known;
}

const KEYS = new WeakMap<Scope, string>();

function readGuards(scope: Scope): string {
  return GUARDS.flatMap((names) => scope.inherited(...names).map(placeOf)).join();
}

function placeOf({ file, line, text }: Statement): string {
  return JSON.stringify([file, line, text]);
}
