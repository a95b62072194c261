import type { SeededRandom } from "../harness/seeded-random.ts";
import { SPICES } from "../harness/spices.ts";

/** Changes a message a little: the kinds of damage that parsers have been led astray with. */
export function mutate(text: string, dictionary: readonly string[], random: SeededRandom): string {
  return random.pick(MUTATORS)(text, random, dictionary);
}

type Mutator = (text: string, random: SeededRandom, dictionary: readonly string[]) => string;

const LINE_ENDS = ["\n", "\r", "\r\r\n", "\n\r", "\r\n\r\n", " \r\n", "\0\r\n", ""];
const NUMBERS = [
  "0",
  "1",
  "00",
  "-1",
  "+1",
  "0x1",
  "1e1",
  "1.0",
  "1,1",
  "4294967296",
  "9007199254740993",
  "99999999999999999999",
];

const MUTATORS: readonly Mutator[] = [
  replaceByte,
  insertSpice,
  insertSpice,
  deleteBytes,
  duplicateLine,
  deleteLine,
  swapLines,
  insertLine,
  insertLine,
  breakLineEnd,
  changeNumber,
  changeCase,
  truncate,
];

function replaceByte(text: string, random: SeededRandom): string {
  const at = random.integer(0, Math.max(0, text.length - 1));
  return text.slice(0, at) + random.pick(SPICES) + text.slice(at + 1);
}

function insertSpice(text: string, random: SeededRandom): string {
  // Half of the time at a joint: a line break, a colon or a space.
  const joints = [...text.matchAll(/\r|\n|:|;| /g)].map((match) => match.index + random.integer(0, 1));
  const at = joints.length > 0 && random.chance(0.5) ? random.pick(joints) : random.integer(0, text.length);
  return text.slice(0, at) + random.pick(SPICES) + text.slice(at);
}

function deleteBytes(text: string, random: SeededRandom): string {
  const at = random.integer(0, text.length);
  return text.slice(0, at) + text.slice(at + random.integer(1, 4));
}

function withLines(text: string, change: (lines: string[]) => void): string {
  const lines = text.split("\r\n");
  change(lines);
  return lines.join("\r\n");
}

function duplicateLine(text: string, random: SeededRandom): string {
  return withLines(text, (lines) => {
    const at = random.integer(0, lines.length - 1);
    lines.splice(random.integer(0, lines.length), 0, lines[at]!);
  });
}

function deleteLine(text: string, random: SeededRandom): string {
  return withLines(text, (lines) => lines.splice(random.integer(0, lines.length - 1), 1));
}

function swapLines(text: string, random: SeededRandom): string {
  return withLines(text, (lines) => {
    const [a, b] = [random.integer(0, lines.length - 1), random.integer(0, lines.length - 1)];
    [lines[a], lines[b]] = [lines[b]!, lines[a]!];
  });
}

function insertLine(text: string, random: SeededRandom, dictionary: readonly string[]): string {
  return withLines(text, (lines) => {
    const headEnd = Math.max(1, lines.indexOf(""));
    const at = random.chance(0.8) ? random.integer(1, headEnd) : random.integer(0, lines.length);
    lines.splice(at, 0, random.pick(dictionary));
  });
}

function breakLineEnd(text: string, random: SeededRandom): string {
  const ends = [...text.matchAll(/\r\n/g)].map((match) => match.index);
  if (ends.length === 0) return text;
  const at = random.pick(ends);
  return text.slice(0, at) + random.pick(LINE_ENDS) + text.slice(at + 2);
}

function changeNumber(text: string, random: SeededRandom): string {
  const numbers = [...text.matchAll(/[0-9a-f]+/g)];
  if (numbers.length === 0) return text;
  const match = random.pick(numbers);
  const shifted = String(Math.max(0, (Number.parseInt(match[0], 10) || 0) + random.integer(-2, 2)));
  const number = random.chance(0.5) ? shifted : random.pick(NUMBERS);
  return text.slice(0, match.index) + number + text.slice(match.index + match[0].length);
}

function changeCase(text: string, random: SeededRandom): string {
  return withLines(text, (lines) => {
    const at = random.integer(0, lines.length - 1);
    const line = lines[at]!;
    // ASCII only: the upper case of a latin1 character may be none.
    lines[at] = random.chance(0.5)
      ? line.replace(/[a-z]/g, (char) => char.toUpperCase())
      : line.replace(/[A-Z]/g, (char) => char.toLowerCase());
  });
}

function truncate(text: string, random: SeededRandom): string {
  return text.slice(0, random.integer(1, text.length));
}
