/**
 * The descriptors that a thread has opened, shared with the control thread: the mark of the thread, the kernel's number of the thread, where it
 * tells that, then `fd + 1` of each, 0 for none.
 */
export type FileCells = Int32Array;

/** Where they are. */
export const FILE_CELLS = { mark: 0, thread: 1, first: 2, each: 1 } as const;

/** Marks are signals that applications may use. signal(7) */
const FIRST_MARK = 36;
const MARKS = 28;

/** @param limit files of one thread @param thread its number, from which it gets its mark */
export function createFileCells(limit: number, thread: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer((FILE_CELLS.first + limit * FILE_CELLS.each) * Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(buffer)[FILE_CELLS.mark] = FIRST_MARK + (thread % MARKS);
  return buffer;
}

/** The mark of the thread's descriptors. */
export function cellMark(cells: FileCells): number {
  return cells[FILE_CELLS.mark]!;
}
