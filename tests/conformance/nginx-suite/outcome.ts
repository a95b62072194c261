import type { Assertion, TapResult } from "./tap.ts";

/** The assertions of a file, counted. */
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  /** Failed since `edge convert` has closed the route. */
  readonly closed: number;
  readonly notReached: number;
  /** The suite does not expect them to hold. */
  readonly todo: number;
}

/** Counts the assertions of a file; those that the test itself leaves out are in no count. */
export function outcomeOf({ planned, assertions }: TapResult): Outcome {
  const todo = assertions.filter((one) => one.isTodo);
  const own = assertions.filter((one) => !one.isTodo && !one.isSkipped);
  const failed = own.filter((one) => !one.isPassed);
  const closed = failed.filter(isClosed);
  return {
    passed: own.length - failed.length,
    failed: failed.length - closed.length,
    closed: closed.length,
    notReached: Math.max(0, planned - assertions.length),
    todo: todo.length,
  };
}

/** Whether an assertion is one of the two that the suite adds to each file. */
export function isAboutLog({ name, isPassed }: Assertion): boolean {
  return isPassed && (name === "no alerts" || name === "no sanitizer errors");
}

/** Whether the response that the test did not expect is that of a route which `edge convert` has closed. */
function isClosed({ diagnostics }: Assertion): boolean {
  return (
    diagnostics.includes("This address is not set up yet.") ||
    diagnostics.includes("not allowed from this address") ||
    /HTTP\/1\.1 503 Service Unavailable[^}]*?# Content-Length: 0\r?\n/.test(diagnostics)
  );
}
