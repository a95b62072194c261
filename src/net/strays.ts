/**
 * Has what escapes in this thread, and what the runtime warns of, told to `take`. Without it the runtime writes texts of its own to the standard
 * error, and ends the thread. docs/operations.md#log
 */
export function catchStrays(take: (what: string, error: unknown) => void): void {
  process.on("uncaughtException", (error) => take("an exception that nothing caught", error));
  process.on("unhandledRejection", (reason) => take("a rejection that nothing handled", reason));
  process.emitWarning = (warning: string | Error) => take("a warning of the runtime", warning);
}
