import { readFileSync, statSync } from "node:fs";
import type { TextTableMemory } from "./text-table.ts";

/** Largest file of a list, in bytes. */
const MAX_LIST_BYTES = 67_108_864;
/** Lines of a file that are read. */
export const MAX_LIST_LINES = 1_000_000;
/** Faults of one file that are kept with their text. */
export const MAX_LIST_FAULTS = 100;

/** A line that is left out. */
interface ListFault {
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** The content of a list's file. */
export interface ListContent {
  readonly table: TextTableMemory;
  readonly entries: number;
  /** The first of the lines that are left out. */
  readonly faults: readonly ListFault[];
  /** All lines that are left out. */
  readonly faultCount: number;
}

/**
 * Makes a table of a text, a part at a time: between two parts other work may be done.
 * @param text in UTF-8, without a byte order mark
 */
export type ListReader = (text: string) => Generator<undefined, ListContent, undefined>;

/** Collects the faults of one file. */
export class ListFaults {
  readonly kept: ListFault[] = [];
  count = 0;

  add(line: number, message: string): void {
    this.count++;
    if (this.kept.length < MAX_LIST_FAULTS) this.kept.push({ line, message });
  }
}

/** One state of a file. */
interface ReadList {
  /** Tells one state of the file from another. */
  readonly stamp: string;
  readonly content: ListContent;
}

/**
 * Lists by kind and file as they were read last: a check, a start and a reload read one state of a file once.
 */
const known: Map<string, ReadList> = new Map();
const MAX_KNOWN = 4096;

/** The list in a file, read at once if it has changed. @throws Error why it cannot be read */
export function readList(kind: string, file: string, reader: ListReader): ListContent {
  const stamp = stampOf(file);
  const before = known.get(`${kind} ${file}`);
  if (before?.stamp === stamp) return before.content;
  const steps = reader(textOf(file));
  for (;;) {
    const step = steps.next();
    if (step.done === true) return keep(kind, file, stamp, step.value);
  }
}

/** The same, with turns for other work in between. */
export async function readListInTurns(kind: string, file: string, reader: ListReader): Promise<ListContent> {
  const stamp = stampOf(file);
  const before = known.get(`${kind} ${file}`);
  if (before?.stamp === stamp) return before.content;
  const steps = reader(textOf(file));
  for (;;) {
    const step = steps.next();
    if (step.done === true) return keep(kind, file, stamp, step.value);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function keep(kind: string, file: string, stamp: string, content: ListContent): ListContent {
  const key = `${kind} ${file}`;
  known.delete(key);
  if (known.size >= MAX_KNOWN) known.delete(known.keys().next().value!);
  // A file that was written meanwhile is read again.
  if (stampOf(file) === stamp) known.set(key, { stamp, content });
  return content;
}

/** Tells one state of a file from another; "" if it is not there. */
export function stampOf(file: string): string {
  const state = statSync(file, { throwIfNoEntry: false, bigint: true });
  return state === undefined ? "" : `${state.ino} ${state.size} ${state.mtimeNs} ${state.ctimeNs}`;
}

function textOf(file: string): string {
  const state = statSync(file, { throwIfNoEntry: false });
  if (state === undefined) throw new Error("no such file");
  if (!state.isFile()) throw new Error("it is no regular file");
  if (state.size > MAX_LIST_BYTES) throw new Error(`it is larger than ${MAX_LIST_BYTES / 1_048_576} MiB`);
  const bytes = readFileSync(file);
  if (bytes.length > MAX_LIST_BYTES) throw new Error(`it is larger than ${MAX_LIST_BYTES / 1_048_576} MiB`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("it is no text in UTF-8");
  }
}
