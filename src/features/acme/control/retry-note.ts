import { readFileSync, rmSync } from "node:fs";
import { writeWhole } from "../../../config/atomic-file.ts";
import { BACK_OFF_MAX_MS } from "./renewal-rule.ts";

/** What a process that comes after must know, so that a crash loop asks no more often than one process would. */
export interface RetryNote {
  /** In a row. */
  readonly failures: number;
  /** No attempt before, in milliseconds since the epoch. */
  readonly notBeforeMs: number;
  /** The same where the authority has asked for it; 0 if it has not. */
  readonly askedToWaitUntilMs: number;
}

/**
 * Reads a note.
 * @param nowMs milliseconds since the epoch
 * @returns null if there is none, or none that can be believed: one with a wait that is out of range
 */
export function readRetryNote(file: string, nowMs: number): RetryNote | null {
  try {
    return believable(JSON.parse(readFileSync(file, "utf8")), nowMs);
  } catch {
    return null;
  }
}

/** A note; null for what is none, or has a wait that is out of range. @param nowMs milliseconds since the epoch */
export function believable(note: unknown, nowMs: number): RetryNote | null {
  const { failures, notBeforeMs, askedToWaitUntilMs } = (note ?? {}) as Partial<RetryNote>;
  const isTime = (value: unknown): value is number =>
    typeof value === "number" && value >= 0 && value <= nowMs + BACK_OFF_MAX_MS;
  if (!Number.isSafeInteger(failures) || !isTime(notBeforeMs) || !isTime(askedToWaitUntilMs)) return null;
  return failures! > 0 ? { failures: failures!, notBeforeMs, askedToWaitUntilMs } : null;
}

/** Writes a note, or takes it away if there was no failure. On a disk that takes nothing the note stays as it is. */
export function writeRetryNote(file: string, note: RetryNote): void {
  try {
    if (note.failures === 0) rmSync(file, { force: true });
    else writeWhole(file, `${JSON.stringify(note)}\n`);
  } catch {
    // The wait is kept to all the same as long as this process lives, and what matters is told of by those who order.
  }
}
