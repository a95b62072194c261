import { BACKENDS, type Backend } from "./backend.ts";
import { H1_VECTORS } from "./h1-vectors.ts";
import { H2_VECTORS } from "./h2-vectors.ts";
import type { Vector } from "./vector.ts";

/** The ten vectors, VECTOR-01 first. */
export const VECTORS: readonly Vector[] = [...H1_VECTORS, ...H2_VECTORS].sort((a, b) => (a.id < b.id ? -1 : 1));

/** A vector against one backend. */
export interface Scenario {
  readonly vector: Vector;
  readonly backend: Backend;
}

/** What can be chosen wrongly. */
interface UnknownChoice {
  readonly unknown: string;
  readonly known: readonly string[];
}

/**
 * The scenarios of a run: all 30, or those chosen.
 * @param only vectors, such as `VECTOR-04` or `4`; an empty list is all
 * @param backends names; an empty list is all
 */
export function chooseScenarios(only: readonly string[], backends: readonly string[]): Scenario[] | UnknownChoice {
  const vectors = VECTORS.filter(({ id }) => only.length === 0 || only.some((word) => vectorId(word) === id));
  const chosen = BACKENDS.filter(({ name }) => backends.length === 0 || backends.includes(name));
  const ids = VECTORS.map(({ id }) => id);
  const names = BACKENDS.map(({ name }) => name);
  const unknownVector = only.find((word) => !ids.includes(vectorId(word)));
  if (unknownVector !== undefined) return { unknown: unknownVector, known: ids };
  const unknownBackend = backends.find((word) => !names.includes(word as never));
  if (unknownBackend !== undefined) return { unknown: unknownBackend, known: names };
  return vectors.flatMap((vector) => chosen.map((backend) => ({ vector, backend })));
}

function vectorId(word: string): string {
  const number = /^(?:VECTOR-)?0*(\d{1,2})$/i.exec(word.trim())?.[1];
  return number === undefined ? word : `VECTOR-${number.padStart(2, "0")}`;
}
