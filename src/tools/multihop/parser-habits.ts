import type { BackendName } from "./backend.ts";

/**
 * How a parser reads what it should refuse. These are the readings that request smuggling lives on, as the three families
 * of servers have had them in their lenient settings or older versions.
 */
export interface ParserHabits {
  /** As the report names it. */
  readonly name: string;
  /** What goes for a message with Content-Length and Transfer-Encoding. */
  readonly bothLengths: "chunks" | "length";
  /** Which of several Content-Length fields goes; `refuse` when they differ. */
  readonly severalLengths: "first" | "last" | "refuse";
  /** What a space before the colon does: it is cut off, or the line ends the head. */
  readonly spaceBeforeColon: "trim" | "ends-head";
  /** A line that begins with a space goes on with the value before it, or is a field of its own. */
  readonly foldedLines: "join" | "own-field";
}

export const PARSER_HABITS: Readonly<Record<BackendName, ParserHabits>> = {
  node: {
    name: "llhttp (simulated, lenient)",
    bothLengths: "chunks",
    severalLengths: "last",
    spaceBeforeColon: "trim",
    foldedLines: "own-field",
  },
  python: {
    name: "http.server (simulated)",
    bothLengths: "length",
    severalLengths: "first",
    spaceBeforeColon: "ends-head",
    foldedLines: "join",
  },
  go: {
    name: "net/http (simulated, lenient)",
    bothLengths: "chunks",
    severalLengths: "refuse",
    spaceBeforeColon: "trim",
    foldedLines: "own-field",
  },
};
