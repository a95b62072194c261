import { series } from "../core/number-text.ts";
import { MASK } from "../core/secret-name.ts";
import { type Cidr, parseCidr, UNIX_PEERS } from "./cidr.ts";
import { formatDuration, meantDuration, parseDuration } from "./duration.ts";
import { ANY_NUMBER, type Form, orWord, TEXT } from "./form.ts";
import { didYouMean, nearestName } from "./nearest-name.ts";
import { describe, type Kind, measured, piece, resolved, Wrong, written } from "./piece.ts";
import { formatSize, meantSize, parseSize } from "./size.ts";

/** A secret: never repeated in a fault, and shown as `***` wherever the configuration is. */
export function secret(what: string): Kind<string> {
  const kind = { ...text(what, true), form: { is: "text", names: "secret" } as const };
  return written(kind, (value) => (value === "" ? "" : MASK));
}

/** A text, trimmed. `what` names it in the fault: "a file name". The value itself is never shown when `isSecret`. */
export function text(what: string, isSecret = false): Kind<string> {
  return piece((value) => {
    if (typeof value === "string")
      return /[\0\r\n]/.test(value.trim()) ? new Wrong(`expected ${what} on one line`) : value.trim();
    const isPlain = typeof value === "number" || typeof value === "boolean";
    const cure = isPlain ? "; put it in quotes" : "";
    const found = isSecret && isPlain ? `a ${typeof value}` : describe(value);
    return new Wrong(`expected ${what} as text, found ${found}${cure}`);
  }, TEXT);
}

/** The same, but a bare number is text too: `listen: 9090`. */
export function textOrNumber(what: string): Kind<string> {
  const plain = text(what);
  return piece(
    (value) => {
      const result = plain["~run"]({ value: typeof value === "number" ? String(value) : value }, {});
      return result.issues === undefined ? String(result.value) : new Wrong(result.issues[0].message);
    },
    { is: "either", forms: [TEXT, ANY_NUMBER] },
  );
}

/** The name of a file. What finds and checks it is with the section, which knows whether it is needed. */
export function fileName(): Kind<string> {
  return { ...text("a file name"), form: FILE };
}

/** The name of a folder, which may not be there yet; resolved, its absolute path. */
export function folderName(): Kind<string> {
  return resolved({ ...text("a folder name"), form: FILE }, (name, { files }) => files.absolute(name));
}

/** A folder for writing: a writable one, or a new one in a writable parent. */
export function workFolder(): Kind<string> {
  return resolved({ ...text("a folder name"), form: FILE }, (name, { files, path }) => files.workFolder(path, name));
}

const FILE: Form = { is: "text", names: "file" };

/** A text that must look a certain way; `what` says how, with an example. */
export function textLike(pattern: RegExp, what: string): Kind<string> {
  return piece(
    (value) => {
      const found = typeof value === "string" ? value.trim() : value;
      return typeof found === "string" && pattern.test(found)
        ? found
        : new Wrong(`expected ${what}, found ${describe(value)}`);
    },
    { is: "text", pattern },
  );
}

/** A whole number from `min` to `max`; its digits as text will do, so that `${PORT}` works. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Kind<number> {
  return piece(
    (value) => {
      const number = numberOf(value);
      return Number.isSafeInteger(number) && number >= min && number <= max
        ? number
        : new Wrong(`expected a whole number ${range(min, max)}, found ${foundNumber(value)}`);
    },
    { is: "integer", min, max },
  );
}

/** One of a few whole numbers. */
export function integerOf<const N extends number>(...choices: N[]): Kind<N> {
  return piece((value) => {
    const number = numberOf(value);
    const chosen = choices.find((choice) => choice === number);
    return chosen ?? new Wrong(`expected ${series(choices.map(String), "or")}, found ${foundNumber(value)}`);
  });
}

/** A number from `min` to `max`, fractions allowed. */
export function decimal(min: number, max: number): Kind<number> {
  return piece(
    (value) => {
      const number = numberOf(value);
      return number >= min && number <= max
        ? number
        : new Wrong(`expected a number ${range(min, max)}, found ${foundNumber(value)}`);
    },
    { is: "number", min, max },
  );
}

/** A TCP or UDP port; 0 lets the system choose, where `lowest` allows it. */
export function port(lowest: 0 | 1): Kind<number> {
  return piece(
    (value) => {
      const number = numberOf(value);
      return Number.isInteger(number) && number >= lowest && number <= 65_535
        ? number
        : new Wrong(`expected a port from ${lowest} to 65535, found ${foundNumber(value)}`);
    },
    { is: "integer", min: lowest, max: 65_535 },
  );
}

/** A port, or `off`, which is -1. */
export function portOrOff(): Kind<number> {
  const kind = piece<number>(
    (value) => {
      if (value === "off" || value === false) return -1;
      const number = numberOf(value);
      return Number.isInteger(number) && number >= 0 && number <= 65_535
        ? number
        : new Wrong(`expected a port from 0 to 65535, or off, found ${foundNumber(value)}`);
    },
    orWord({ is: "integer", min: 0, max: 65_535 }, "off"),
  );
  return written(kind, (number) => (number < 0 ? "off" : number));
}

/** `true` or `false`. */
export function flag(): Kind<boolean> {
  return piece(
    (value) => {
      if (typeof value === "boolean") return value;
      if (value === "true" || value === "false") return value === "true";
      const word = String(value).toLowerCase();
      const meant = YES.has(word)
        ? "true"
        : NO.has(word)
          ? "false"
          : typeof value === "string"
            ? nearestName(value, ["true", "false"])
            : "";
      return new Wrong(
        `expected true or false, found ${describe(value)}${meant === "" ? "" : ` (did you mean ${meant}?)`}`,
      );
    },
    { is: "flag" },
  );
}

/** One of a few words. */
export function word<const W extends string>(...choices: W[]): Kind<W> {
  return piece(
    (value) => {
      const found = typeof value === "number" ? String(value) : value;
      const chosen = choices.find((choice) => choice === found);
      if (chosen !== undefined) return chosen;
      const meant = typeof value === "string" ? didYouMean(value, choices) : "";
      return new Wrong(`expected ${series(choices, "or")}, found ${describe(value)}${meant}`);
    },
    { is: "word", words: choices },
  );
}

/** The same, but an empty text counts as not set. */
export function wordOrEmpty<const W extends string>(...choices: W[]): Kind<W | ""> {
  const chosen = word(...choices);
  return piece(
    (value) => {
      if (value === "") return "";
      const result = chosen["~run"]({ value }, {});
      return result.issues === undefined ? (result.value as W) : new Wrong(result.issues[0].message);
    },
    { is: "word", words: ["", ...choices] },
  );
}

/** The mode of inbound chunked bodies; "" is unset, which the next level decides. docs/bodies.md#chunked-bodies */
export function chunkedMode(): Kind<"normalize" | "passthrough" | "reject" | ""> {
  return wordOrEmpty("normalize", "passthrough", "reject");
}

/** A duration in milliseconds, from `minMs` to `maxMs` (by default what one system timer can hold, some 24 days). */
export function duration(minMs: number, maxMs: number = LONGEST_TIMER_MS): Kind<number, number, "Ms"> {
  const kind = piece<number>(
    (value) => {
      const ms = typeof value === "string" || typeof value === "number" ? parseDuration(value) : -1;
      if (ms < 0) {
        const meant = typeof value === "string" ? meantDuration(value) : "";
        return new Wrong(
          `expected a duration such as 500ms, 60s or 1m30s, found ${foundNumber(value)}${orMeant(meant)}`,
        );
      }
      const least = minMs > 1 ? `of ${formatDuration(minMs)} at least` : "longer than 0";
      if (ms < minMs) return new Wrong(`expected a duration ${least}, found ${describe(value)}`);
      return ms <= maxMs ? ms : new Wrong(`expected a shorter duration, found ${describe(value)}`);
    },
    { is: "duration", min: minMs, max: maxMs },
  );
  return measured(written(kind, formatDuration), "Ms");
}

/** A duration in milliseconds, or the word that stands for none, which is -1. */
export function durationOr(word: string): Kind<number, number, "Ms"> {
  const length = duration(0);
  const kind = piece<number>(
    (value) => {
      if (value === word) return -1;
      const result = length["~run"]({ value }, {});
      return result.issues === undefined ? Number(result.value) : new Wrong(`${result.issues[0].message}, or ${word}`);
    },
    orWord(length.form, word),
  );
  return measured(
    written(kind, (ms) => (ms < 0 ? word : formatDuration(ms))),
    "Ms",
  );
}

/** A size in bytes, at least `min`. */
export function size(min: number, max: number = Number.MAX_SAFE_INTEGER): Kind<number> {
  const kind = piece<number>(
    (value) => {
      const bytes = typeof value === "string" || typeof value === "number" ? parseSize(value) : -1;
      if (bytes >= min && bytes <= max) return bytes;
      const negative = typeof value === "number" && value < 0;
      if (bytes < 0 && !negative) return noSize(value);
      return new Wrong(`expected a size ${range(min, max)} bytes, found ${describe(value)}`);
    },
    { is: "size", min, max },
  );
  return written(kind, writtenSize);
}

/** A size where 0 and negative numbers also stand for the default. docs/sidecar.md#bodies */
export function sizeOrDefault(whenNotPositive: string): Kind<number> {
  const standard = parseSize(whenNotPositive);
  const kind = piece<number>(
    (value) => {
      const bytes = typeof value === "string" || typeof value === "number" ? parseSize(value) : Number.NaN;
      if (typeof value === "number" && Number.isSafeInteger(value) && value <= 0) return standard;
      if (typeof value === "string" && /^-\d+$/.test(value)) return standard;
      if (bytes >= 0) return bytes === 0 ? standard : bytes;
      return noSize(value);
    },
    { is: "size", min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER },
  );
  return written(kind, writtenSize);
}

/** A size, or `auto`, which is 0 here. */
export function sizeOrAuto(min: number, max: number): Kind<number> {
  const sized = size(min, max);
  const kind = piece<number>(
    (value) => {
      if (value === "auto") return 0;
      const result = sized["~run"]({ value }, {});
      return result.issues === undefined ? Number(result.value) : new Wrong(`${result.issues[0].message}, or auto`);
    },
    orWord(sized.form, "auto"),
  );
  return written(kind, (bytes) => (bytes === 0 ? "auto" : writtenSize(bytes)));
}

/** A size of at least 0, or `unlimited`, which is -1. */
export function sizeOrUnlimited(): Kind<number> {
  const sized = size(0);
  const kind = piece<number>(
    (value) => {
      if (value === "unlimited") return UNLIMITED;
      const result = sized["~run"]({ value }, {});
      return result.issues === undefined ? Number(result.value) : new Wrong(result.issues[0].message);
    },
    orWord(sized.form, "unlimited"),
  );
  return written(kind, (bytes) => (bytes <= 0 ? "unlimited" : writtenSize(bytes)));
}

/** A part of a whole, such as `12.5%`: above 0 and up to 1. */
export function percent(): Kind<number> {
  const kind = piece<number>(
    (value) => {
      const digits = typeof value === "string" ? /^(\d{1,3}(?:\.\d{1,3})?) ?%$/.exec(value.trim()) : null;
      const part = digits === null ? 0 : Number(digits[1]) / 100;
      return part > 0 && part <= 1
        ? part
        : new Wrong(`expected a part such as 12.5%, above 0% and up to 100%, found ${describe(value)}`);
    },
    { is: "percent" },
  );
  // Three digits after the point are what can be written: 7% of a fraction is not quite 7.
  return written(kind, (part) => `${Number((part * 100).toFixed(3))}%`);
}

/** A network or a single address. */
export function cidr(): Kind<Cidr> {
  const kind = piece<Cidr>((value) => {
    if (typeof value !== "string")
      return new Wrong(`expected an IP address or a network such as 10.0.0.0/8, found ${describe(value)}`);
    const network = parseCidr(value.trim());
    return typeof network === "string" ? new Wrong(network) : network;
  }, TEXT);
  return written(kind, (network) => network.text);
}

/** The same, or `unix:` for the clients of UNIX sockets. docs/listeners.md#unix-sockets */
export function peerNetwork(): Kind<Cidr> {
  const network = cidr();
  const kind = piece<Cidr>((value) => {
    if (value === UNIX_PEERS.text) return UNIX_PEERS;
    const result = network["~run"]({ value }, {});
    return result.issues === undefined ? (result.value as Cidr) : new Wrong(result.issues[0].message);
  }, TEXT);
  return written(kind, ({ text: shown }) => shown);
}

/** 240 is written as a number, 65536 as `64KiB`. */
function writtenSize(bytes: number): string | number {
  return bytes === 0 || bytes % 1024 !== 0 ? bytes : formatSize(bytes);
}

function noSize(value: unknown): Wrong {
  const meant = typeof value === "string" ? meantSize(value) : "";
  return new Wrong(`expected a size in bytes, or such as 512KiB or 4MiB, found ${foundNumber(value)}${orMeant(meant)}`);
}

function orMeant(meant: string): string {
  return meant === "" ? "" : ` (did you mean ${meant}?)`;
}

function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && NUMBER.test(value) ? Number(value) : Number.NaN;
}

/** A value that is no number, with the reason where digits alone do not show it. */
function foundNumber(value: unknown): string {
  const isOctal = typeof value === "string" && /^-?0\d+$/.test(value);
  return `${describe(value)}${isOctal ? ", which some readers of YAML take as octal: leave out the zero in front" : ""}`;
}

/** 017620 is 8080 to readers of YAML 1.1, and 17620 to those of 1.2: it is none. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

function range(min: number, max: number): string {
  return max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
}

/** How `sizeOrUnlimited` reads the word: a size of 0 means something of its own at a route. */
export const UNLIMITED = -1;
const LONGEST_TIMER_MS = 2_147_483_647;
const YES = new Set(["yes", "on", "y", "1"]);
const NO = new Set(["no", "off", "n", "0"]);

/** As nginx and others write a rate: `10r/s`, `300/m`. */
export const RATE: RegExp = /^([1-9]\d{0,8}) ?r?\/([smh])$/;
