import type { FileResult } from "./run.ts";

/** Why the assertions of a file do not all pass, in a few words. */
export function reasonOf({ file, noted, isLate }: FileResult): string {
  return `${file} ${noted.join(" ")} ${isLate}`;
}
