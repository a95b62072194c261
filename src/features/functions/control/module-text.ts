import { relative } from "node:path";
import type { ModuleFault } from "../module-fault.ts";

/** How a file is named for people: from their folder where it is within it. */
export function shownFile(file: string, cwd: string): string {
  const name = relative(cwd, file);
  return name === "" || name.startsWith("..") ? file : name;
}

/** A fault for people: its place, what it is, and the line with a mark below the column. @param shown the file's name as it is shown */
export function moduleFaultText({ line, column, message, source }: ModuleFault, shown: string): string {
  if (line === 0) return `${shown}: ${message}`;
  const heading = `${shown}:${line}:${column}: ${message}`;
  if (source.trim() === "" || source.length > MAX_SOURCE) return heading;
  const number = String(line).padStart(5);
  const mark = source.slice(0, Math.max(0, column - 1)).replaceAll(/[^\t]/g, " ");
  return `${heading}\n${number} | ${source}\n${" ".repeat(number.length)} | ${mark}^`;
}

const MAX_SOURCE = 400;
