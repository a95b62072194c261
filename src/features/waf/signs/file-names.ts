import { Byte } from "../../../core/ascii.ts";
import { Place, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { Sign } from "../rules/sign.ts";
import { FILE_WORDS, FileWord, SOURCES, SYSTEM_FILES, WRAPPERS } from "./file-words.ts";
import { isFetchParameter, isFileParameter, isIncludeParameter } from "./parameter-names.ts";
import type { SignListener } from "./sign-listener.ts";

/**
 * Finds names of files that no client has any business with: climbs out of folders, and, where the value is a file's
 * name and nothing else, files of the system, files that hold secrets, wrappers that read files. Prose that mentions
 * such a file is no match. Every byte is read twice at most.
 */
export class FileNames {
  private bytes: Uint8Array = new Uint8Array(0);
  private length = 0;
  private listener: SignListener | null = null;

  /** Looks at every path in the value, and at the value as a path. */
  analyse(value: ValueReading, listener: SignListener): void {
    const { bytes, length } = value;
    this.bytes = bytes;
    this.length = length;
    this.listener = listener;
    this.judgeValue(value);
    this.judgeOverlong();
    for (let at = 0; at < length; ) {
      const isStart = isSeparator(bytes[at]!) || (bytes[at] === Byte.Dot && (at === 0 || !isPathByte(bytes[at - 1]!)));
      at = isStart ? this.readClimbs(value, at) : at + 1;
    }
  }

  /** Counts the climbs of the path at `from`, and looks where they lead. @returns the offset behind the path */
  private readClimbs(value: ValueReading, from: number): number {
    const { bytes } = this;
    let climbs = 0;
    let leadsToSystem = false;
    let leadsToFile = false;
    let isRoot = false;
    let segment = from;
    let at = from;
    for (; ; at++) {
      const byte = bytes[at]!;
      const isBetween = isSeparator(byte);
      if (!isBetween && isPathByte(byte)) continue;
      if (isClimb(bytes, segment, at) || isSplitClimb(bytes, segment, at)) climbs++;
      else if (climbs > 0) {
        const kind = FILE_WORDS.valueOf(bytes, segment, at);
        leadsToSystem ||= kind !== 0;
        leadsToFile ||= isRoot && SYSTEM_FILES.valueOf(bytes, segment, at) !== 0;
        isRoot = kind === FileWord.Root;
      }
      if (!isBetween) break;
      segment = at + 1;
    }
    const isSource = SOURCES.valueOf(bytes, behindDot(bytes, segment, at), at) !== 0;
    const isNamed = climbs >= MIN_CLIMBS_TO_SYSTEM && (leadsToSystem || isSource);
    const isAsked = (leadsToFile || climbs >= MIN_CLIMBS) && isFileParameter(value);
    if (isNamed || isAsked || climbs >= MANY_CLIMBS) this.report(Sign.SensitiveFile, from);
    if (climbs >= MIN_CLIMBS) this.report(Sign.ClimbingPath, from);
    return at + 1;
  }

  private judgeValue(value: ValueReading): void {
    const { bytes } = this;
    let at = 0;
    while (at < this.length && (bytes[at]! <= Byte.Space || PREFIXES.includes(bytes[at]!))) at++;
    if (!this.isOnePath(at)) return;
    const path = this.judgeWrapper(at, value);
    const isAbsolute = isSeparator(bytes[path]!) || bytes[path] === Byte.Percent || isDrive(bytes, path);
    if (isAbsolute) this.judgeAbsolute(value, isDrive(bytes, path) ? path + 2 : path);
    else if (isFileParameter(value) && this.isRelativeSystem(path)) this.report(Sign.SensitiveFile, path);
    if (isAbsolute || isFileParameter(value)) this.judgeSegments(path);
  }

  /** php://filter/…, file:///…: something that reads files. @returns where the path within it begins */
  private judgeWrapper(from: number, value: ValueReading): number {
    const { bytes } = this;
    let at = from;
    while (isNameByte(bytes[at]!) || bytes[at] === Byte.Dot) at++;
    if (at - from >= MIN_SCHEME && bytes[at] === Byte.Colon && this.isPlainData(from, at + 1, value))
      this.report(Sign.StreamWrapper, from);
    if (at - from < MIN_SCHEME || bytes[at] !== Byte.Colon || bytes[at + 1] !== Byte.Slash) return from;
    const kind = WRAPPERS.valueOf(bytes, from, at);
    if (bytes[at + 2] !== Byte.Slash) return kind === LOCAL ? at + 1 : from;
    if (kind === 0) return from;
    if (kind !== LOCAL || isFileParameter(value) || isFetchParameter(value)) this.report(Sign.StreamWrapper, from);
    return at + 3;
  }

  /** data:;base64,… and data:text/plain,… in a query, where a part of a page is due. */
  private isPlainData(from: number, to: number, value: ValueReading): boolean {
    if (value.place !== Place.Query || DATA.valueOf(this.bytes, from, to - 1) === 0) return false;
    const isText = this.bytes[to] === Byte.Semicolon || DATA.valueOf(this.bytes, to, to + 4) !== 0;
    return isText && isIncludeParameter(value);
  }

  /** /etc/passwd, /proc/self/environ, c:\windows\win.ini: a folder of the system and what is in it. */
  private judgeAbsolute(value: ValueReading, from: number): void {
    const { bytes } = this;
    const root = this.nextSegment(from);
    const rootEnd = segmentEnd(bytes, root);
    const kind = FILE_WORDS.valueOf(bytes, root, rootEnd);
    if (kind !== FileWord.Root && kind !== FileWord.Folder) return;
    const file = this.nextSegment(rootEnd);
    // Where a file is asked for, all that is in these folders is the system's; of the others programs and settings are.
    if (bytes[file]! > Byte.Space && isFileParameter(value) && (kind === FileWord.Root || this.isSource(value, file)))
      return this.report(Sign.SensitiveFile, from);
    if (SYSTEM_FILES.valueOf(bytes, file, nameEnd(bytes, file)) !== 0) this.report(Sign.SensitiveFile, from);
  }

  /** etc/passwd, which the application puts a slash in front of. */
  private isRelativeSystem(from: number): boolean {
    const rootEnd = segmentEnd(this.bytes, from);
    if (FILE_WORDS.valueOf(this.bytes, from, rootEnd) !== FileWord.Root) return false;
    const file = this.nextSegment(rootEnd);
    return SYSTEM_FILES.valueOf(this.bytes, file, nameEnd(this.bytes, file)) !== 0;
  }

  /** /var/www/html/config.php in a query: those who edit such files send their names in bodies. */
  private isSource({ place }: ValueReading, from: number): boolean {
    let to = from;
    while (this.bytes[to]! > Byte.Space) to++;
    return place === Place.Query && SOURCES.valueOf(this.bytes, behindDot(this.bytes, from, to), to) !== 0;
  }

  /** ..%c0%af..%c0%af, ..%u2215..: climbs whose separators are overlong or look-alikes. */
  private judgeOverlong(): void {
    const { bytes, length } = this;
    let climbs = 0;
    for (let at = 0; at + 2 < length; at++) {
      if (bytes[at] !== Byte.Dot || bytes[at + 1] !== Byte.Dot || !isOverlong(bytes, at + 2)) continue;
      let next = at + 2;
      while (next < at + 6 && bytes[next]! >= 0x80) next++;
      if (bytes[next]! > Byte.Space) climbs++;
      if (climbs === 2) return this.report(Sign.SensitiveFile, at);
    }
  }

  /** .env, .git/config, wp-config.php: secret wherever they are. */
  private judgeSegments(from: number): void {
    const { bytes } = this;
    for (let at = this.nextSegment(from); bytes[at] !== Byte.Nul; at = this.nextSegment(segmentEnd(bytes, at))) {
      if (FILE_WORDS.valueOf(bytes, at, nameEnd(bytes, at)) === FileWord.Secret) this.report(Sign.SensitiveFile, at);
    }
  }

  /** Passes over separators and single dots. */
  private nextSegment(from: number): number {
    const { bytes } = this;
    let at = from;
    while (isSeparator(bytes[at]!) || (bytes[at] === Byte.Dot && isSeparator(bytes[at + 1]!))) at++;
    return at;
  }

  /** Whether no white space stands from `from` on, but behind a NUL. */
  private isOnePath(from: number): boolean {
    for (let at = from; at < this.length; at++) {
      if (this.bytes[at] === Byte.Nul) return true;
      if (this.bytes[at]! <= Byte.Space) return false;
    }
    return true;
  }

  private report(sign: Sign, at: number): void {
    this.listener!.found(sign, at);
  }
}

/** `..`, also with what a filter leaves over or a parameter behind: `....`, `..;`. */
function isClimb(bytes: Uint8Array, from: number, to: number): boolean {
  const width = to - from;
  if (width < 2 || bytes[from] !== Byte.Dot || bytes[from + 1] !== Byte.Dot) return false;
  if (width === 2 || bytes[from + 2] === Byte.Semicolon) return true;
  return width === 4 && bytes[from + 2] === Byte.Dot && bytes[from + 3] === Byte.Dot;
}

/** `..././`: what is left of it when a filter takes out each `../`. */
function isSplitClimb(bytes: Uint8Array, from: number, to: number): boolean {
  const isThree =
    to - from === 3 && bytes[from] === Byte.Dot && bytes[from + 1] === Byte.Dot && bytes[from + 2] === Byte.Dot;
  return isThree && bytes[to + 1] === Byte.Dot && isSeparator(bytes[to + 2]!);
}

/** Whether an overlong slash, a wide one, one of mathematics, or a character that had an escape of its own stands here. */
function isOverlong(bytes: Uint8Array, at: number): boolean {
  const first = bytes[at]!;
  const next = bytes[at + 1]!;
  if (first === 0xef) return next === 0xbc;
  if (first === 0xe2) return next === 0x88 || next === 0x81;
  return first === 0xc0 || first === 0xc1 || (first === 0x80 && next < 0x80);
}

function isDrive(bytes: Uint8Array, at: number): boolean {
  return (
    bytes[at]! >= Byte.LowerA &&
    bytes[at]! <= Byte.LowerZ &&
    bytes[at + 1] === Byte.Colon &&
    isSeparator(bytes[at + 2]!)
  );
}

function isSeparator(byte: number): boolean {
  return byte === Byte.Slash || byte === Byte.Backslash;
}

function segmentEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] !== Byte.Nul && !isSeparator(bytes[at]!)) at++;
  return at;
}

function nameEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isNameByte(bytes[at]!) || bytes[at] === Byte.Dot) at++;
  return at;
}

/** Offset behind the last dot of a name, or its end. */
function behindDot(bytes: Uint8Array, from: number, to: number): number {
  let at = to;
  while (at > from && bytes[at - 1] !== Byte.Dot) at--;
  return at > from ? at : to;
}

function isNameByte(byte: number): boolean {
  const isLetter = byte >= Byte.LowerA && byte <= Byte.LowerZ;
  return isLetter || (byte >= Byte.Zero && byte <= Byte.Nine) || byte === Byte.Dash || byte === Byte.Underscore;
}

function isPathByte(byte: number): boolean {
  return isNameByte(byte) || byte === Byte.Dot || byte === Byte.Semicolon || byte === TILDE || byte > Byte.Del;
}

const DATA: WordSet = new WordSet([[1, "data text"]]);
const LOCAL = 2;
/** Program texts import from folders above; the root of a file system is rarely so near. */
const MIN_CLIMBS_TO_SYSTEM = 2;
const MIN_CLIMBS = 3;
const MANY_CLIMBS = 6;
const MIN_SCHEME = 3;
const TILDE = 0x7e;
/** What stands before a path that is cut out of something: ' " ( [ { = < > @ | , */
const PREFIXES: readonly number[] = [0x27, 0x22, 0x28, 0x5b, 0x7b, 0x3d, 0x3c, 0x3e, 0x40, 0x7c, 0x2c];
