/**
 * Gives what the work gives, if that comes in time; the work itself goes on.
 * @param limitMs milliseconds, 1 and up
 * @throws what the work throws, or an error with `reason` if it takes longer
 */
export function withinMs<T>(work: Promise<T>, limitMs: number, reason: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(reason)), limitMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
