/** Makes rows of so many numbers for all workers, all 0: each worker writes its own row, without locks. */
export function workerNumbers(workers: number, numbers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(workers * numbers * Float64Array.BYTES_PER_ELEMENT);
}
