import { ConvertFault } from "./statement.ts";

/**
 * Counts what a conversion compares and makes. Sites times paths times conditions may be more than any file is long: a conversion that
 * takes more steps than its text allows ends with a fault, and writes nothing.
 */
class Effort {
  private file = "";
  private left = Number.POSITIVE_INFINITY;
  private all = 0;

  /** A conversion begins. @param file as the user named it */
  begin(file: string, chars: number): void {
    this.file = file;
    this.all = LEAST_STEPS + chars * STEPS_A_CHAR;
    this.left = this.all;
  }

  /** More text of the same conversion: of an included file. */
  add(chars: number): void {
    this.all += chars * STEPS_A_CHAR;
    this.left += chars * STEPS_A_CHAR;
  }

  /**
   * Takes steps: each is about one comparison, or one value that is copied.
   * @throws ConvertFault if the conversion has none left
   */
  take(steps: number): void {
    this.left -= steps;
    if (this.left < 0)
      throw new ConvertFault(
        { file: this.file, line: 0 },
        "its hosts, paths and conditions together make too many routes: convert its sites in parts",
      );
  }

  /** The steps that the conversion has taken. */
  get taken(): number {
    return this.all - this.left;
  }
}

/** THE count of the conversion that runs. */
export const EFFORT: Effort = new Effort();

/** A copy of a value of the files, which is counted. */
export function copied<T>(value: T): T {
  EFFORT.take(1);
  if (Array.isArray(value)) return value.map(copied) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, copied(one)])) as T;
}

/** The effort that a file may take, however short it is. */
export const LEAST_STEPS = 1_500_000;
export const STEPS_A_CHAR = 40;
/** The effort of reading a directive once more for a route. */
export const STEPS_A_DIRECTIVE = 24;
