import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Bytes as a vector file writes them, one character a byte; a pair is a text and how often it stands there. */
export type VectorText = string | readonly (string | readonly [text: string, times: number])[];

/** What every vector has. */
export interface Vector {
  readonly name: string;
  readonly input: VectorText;
}

/** The rows of a vector file: one JSON object a line. */
export function readVectors<T extends Vector>(file: string): T[] {
  const text = readFileSync(join(import.meta.dir, "../../vectors/h1", file), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}

/** The text that a vector stands for. */
export function textOf(text: VectorText): string {
  if (typeof text === "string") return text;
  return text.map((part) => (typeof part === "string" ? part : part[0].repeat(part[1]))).join("");
}

/** The bytes that a vector stands for. */
export function bytesOf(text: VectorText): Buffer {
  return Buffer.from(textOf(text), "latin1");
}
