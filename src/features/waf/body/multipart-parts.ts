import { Byte, isOws, latin1, sliceText } from "../../../core/bytes.ts";
import { HIDDEN_CHARSET, UNREADABLE_BODY } from "../detectors/protocol-abuse.ts";
import { findScriptUpload } from "../detectors/upload-names.ts";
import type { Findings } from "../findings.ts";
import type { ValueInspector } from "../value-inspector.ts";
import { namesHidingCharset } from "./declared-types.ts";
import { inspectUpload } from "./xml-body.ts";

/** What a multipart body is. */
export const enum Shape {
  /** All readers take it apart alike. */
  Parted = 0,
  /** Readers may take it apart in different ways. */
  Ambiguous,
  /** There is no part in it. */
  Unknown,
}

/**
 * Inspects the content of a part that is no file to all readers; the reading has its name.
 * @param isFileByName whether it lacks but a type to be one: then noise in it is a file, as some clients send them
 */
type FieldTaker = (bytes: Uint8Array, from: number, to: number, isFileByName: boolean) => void;

/**
 * Takes multipart bodies apart and inspects their fields, all that is around them, and the names of files; the contents of files
 * are the application's business, but for what an XML parser would fetch. RFC 7578, read as leniently as applications do: bare line
 * feeds, names without quotes.
 */
export class MultipartParts {
  private readonly inspector: ValueInspector;
  private readonly findings: Findings;
  private readonly takeField: FieldTaker;

  constructor(inspector: ValueInspector, findings: Findings, takeField: FieldTaker) {
    this.inspector = inspector;
    this.findings = findings;
    this.takeField = takeField;
  }

  /** @param boundary "" if there is none */
  inspect(boundary: string, bytes: Uint8Array, from: number, to: number): Shape {
    if (from === to) return Shape.Parted;
    const parts = PartScan.of(boundary, bytes, from, to);
    if (parts === null) return Shape.Unknown;
    const { text, first } = parts;
    this.inspectAround(text, 0, first);
    const isCrLf = text[text.indexOf(Byte.Lf, first) - 1] === Byte.Cr;
    if (first > 0 && !isBehindLine(text, first, isCrLf)) return Shape.Ambiguous;
    while (parts.next()) {
      this.inspectPart(text, parts.from, parts.to);
      if (!this.inspector.value.steps.take(PART_STEPS)) return Shape.Ambiguous;
      if (!isLineEnd(text, parts.from, isCrLf)) return Shape.Ambiguous;
      if (parts.isFollowed && !isBehindLine(text, parts.to, isCrLf)) return Shape.Ambiguous;
    }
    return parts.isClosed ? this.inspectEnd(text, parts.from) : Shape.Parted;
  }

  private inspectPart(text: Buffer, from: number, to: number): void {
    const { inspector, findings } = this;
    const head = partHead(text, from, to);
    const name = latin1(head.name);
    inspector.setName(name, 0, name.length);
    for (const file of head.fileNames) this.inspectFileName(latin1(file));
    if (isFile(head)) {
      inspectUpload(inspector, findings, text, head.contentFrom, contentEnd(text, head.contentFrom, to));
      return;
    }
    if (head.isPacked) findings.found(UNREADABLE_BODY, 0);
    if (namesHidingCharset(head.type)) findings.found(HIDDEN_CHARSET, 0);
    this.inspectNames(head, name);
    const isFileByName = hasPlainFileName(head) && head.type === "";
    this.takeField(text, head.contentFrom, contentEnd(text, head.contentFrom, to), isFileByName);
  }

  private inspectFileName(file: Uint8Array): void {
    const { inspector } = this;
    inspector.value.load(file, 0, file.length);
    findScriptUpload(inspector.value, this.findings);
    inspector.inspect(file, 0, file.length);
  }

  /** The field's name, and all that is written beside it where readers do not agree on what the name is. */
  private inspectNames(head: PartHead, name: Uint8Array): void {
    const { inspector } = this;
    inspector.value.isName = true;
    inspector.value.load(name, 0, name.length);
    inspector.inspect(name, 0, name.length);
    if (head.isOdd) {
      const all = latin1(head.text);
      inspector.value.load(all, 0, all.length);
      inspector.inspect(all, 0, all.length);
    }
    inspector.value.isName = false;
  }

  /** What precedes the first delimiter: some readers find parts there. */
  private inspectAround(text: Buffer, from: number, to: number): void {
    this.inspector.nameNothing();
    if (to > from) this.takeField(text, from, to, false);
  }

  /** What follows the last delimiter, which is followed by the end of its line or by the text's. */
  private inspectEnd(text: Buffer, from: number): Shape {
    this.inspectAround(text, from, text.length);
    let at = from;
    while (isOws(text[at]!)) at++;
    return at >= text.length || text[at] === Byte.Cr || text[at] === Byte.Lf ? Shape.Parted : Shape.Ambiguous;
  }
}

/**
 * Shows the parts of a body one by one, each with its name, the names of files in it and its content.
 * @param boundary "" if there is none
 * @param take returns whether more is wanted
 * @returns whether there are parts
 */
export function eachPart(
  boundary: string,
  bytes: Uint8Array,
  take: (name: string, fileNames: readonly string[], content: Buffer) => boolean,
): boolean {
  const parts = PartScan.of(boundary, bytes, 0, bytes.length);
  if (parts === null) return false;
  const { text } = parts;
  while (parts.next()) {
    const { name, fileNames, contentFrom } = partHead(text, parts.from, parts.to);
    const contentTo = Math.max(contentFrom, contentEnd(text, contentFrom, parts.to));
    if (!take(name, fileNames, text.subarray(contentFrom, contentTo))) break;
  }
  return true;
}

/** Goes from part to part: the one way in which a multipart body is taken apart. */
class PartScan {
  readonly text: Buffer;
  /** Where the first delimiter is. */
  readonly first: number;
  /** The part at hand, from the end of its delimiter to the next one; after the last, where the text goes on. */
  from = 0;
  to = 0;
  /** Whether a delimiter ends the part at hand. */
  isFollowed = true;
  /** Whether the delimiter that closes the body has come. */
  isClosed = false;
  private readonly delimiter: Buffer;

  private constructor(text: Buffer, delimiter: Buffer, first: number) {
    this.text = text;
    this.delimiter = delimiter;
    this.first = first;
    this.to = first;
  }

  /** Null if there is no delimiter. */
  static of(boundary: string, bytes: Uint8Array, from: number, to: number): PartScan | null {
    if (boundary === "") return null;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
    const delimiter = Buffer.from(`--${boundary}`, "latin1");
    const first = nextDelimiter(text, delimiter, 0);
    return first < 0 ? null : new PartScan(text, delimiter, first);
  }

  /** Goes to the next part. @returns whether there is one */
  next(): boolean {
    if (!this.isFollowed) return false;
    const { text, delimiter } = this;
    this.from = this.to + delimiter.length;
    this.isClosed = text[this.from] === Byte.Dash && text[this.from + 1] === Byte.Dash;
    if (this.isClosed) this.from += 2;
    const next = this.isClosed ? -1 : nextDelimiter(text, delimiter, this.from);
    this.isFollowed = next >= 0;
    this.to = next < 0 ? text.length : next;
    return !this.isClosed;
  }
}

/** Offset of a delimiter at the beginning of a line, -1 if there is none. For some a line ends with a bare CR, too. */
function nextDelimiter(text: Buffer, delimiter: Buffer, from: number): number {
  let at = text.indexOf(delimiter, from);
  while (at > 0 && text[at - 1] !== Byte.Lf && text[at - 1] !== Byte.Cr) at = text.indexOf(delimiter, at + 1);
  return at;
}

/** Whether the line in front of a delimiter ends as the others do. */
function isBehindLine(text: Buffer, at: number, isCrLf: boolean): boolean {
  return text[at - 1] === Byte.Lf && isCrLf === (text[at - 2] === Byte.Cr);
}

/** Whether a line ends here, or the text, which may be cut off. */
function isLineEnd(text: Buffer, from: number, isCrLf: boolean): boolean {
  let at = from;
  while (isOws(text[at]!)) at++;
  if (isCrLf && text[at] === Byte.Cr) at++;
  else if (isCrLf && at < text.length) return false;
  return at + 1 >= text.length || text[at] === Byte.Lf;
}

/** Where the line break in front of a delimiter begins. */
function contentEnd(text: Buffer, from: number, to: number): number {
  let end = to;
  if (end > from && text[end - 1] === Byte.Lf) end--;
  if (end > from && text[end - 1] === Byte.Cr) end--;
  return end;
}

/** The fields in front of the content of a part. RFC 7578 §4. */
interface PartHead {
  /** Of all fields, their lines joined. */
  readonly text: string;
  /** "" if there is none. */
  readonly name: string;
  /** All that may be the name of a file, the empty ones too. */
  readonly fileNames: readonly string[];
  /** The value of Content-Type; "" if there is none. */
  readonly type: string;
  /** Whether some applications unpack the content. */
  readonly isPacked: boolean;
  /** Whether readers may find other names in it. */
  readonly isOdd: boolean;
  readonly contentFrom: number;
}

/** Reads the fields of the part at `from`, after its delimiter. */
function partHead(text: Buffer, from: number, to: number): PartHead {
  const { end, behind } = headEnd(text, from, to);
  const head = sliceText(text, from, end);
  // RFC 5322 §2.2.3: a line that begins with a blank belongs to the one before.
  const fields = head.replace(/\r?\n[ \t]+/g, " ").split("\n", MAX_FIELDS);
  const dispositions = fields.filter((field) => isNamed(field, "content-disposition"));
  const parameters = dispositions.flatMap(parametersOf);
  const names = parameters.filter(({ name }) => name === "name" || name.startsWith("name*"));
  const files = parameters.filter(({ name }) => name === "filename" || name.startsWith("filename*"));
  return {
    text: head,
    name: names[0]?.value ?? "",
    fileNames: files.map(({ value }) => value),
    type: fields.filter((field) => isNamed(field, "content-type")).join(),
    isPacked: fields.some(isPacked),
    isOdd: !dispositions.every(isPlainDisposition) || !isPlain(head, fields) || !areNamesPlain(names, files),
    contentFrom: behind,
  };
}

/**
 * Whether every application takes a part for a file. Some go by the type, not by the name, for some an empty name is none, and what
 * one reader takes for a file's name another takes for part of a quoted text.
 */
function isFile(head: PartHead): boolean {
  return hasPlainFileName(head) && FILE_TYPE.test(head.type) && !/multipart/i.test(head.type);
}

/** Whether all see the name of a file there. */
function hasPlainFileName(head: PartHead): boolean {
  return !head.isOdd && head.fileNames.length > 0;
}

/** Lines that end alike, without escapes and bytes that end texts for some. */
function isPlain(head: string, fields: readonly string[]): boolean {
  if (fields.length === MAX_FIELDS || /\\"|\0|\r(?!\n|$)|\r?\n[ \t]/.test(head)) return false;
  const breaks = head.split("\n").length - 1;
  const crLfs = head.split("\r\n").length - 1;
  return crLfs === 0 || crLfs === breaks;
}

/** A field that all readers read alike: no escapes, no quote that is not closed, nothing that a lenient one finds within a text. */
function isPlainDisposition(field: string, index: number): boolean {
  return index === 0 && field.length <= MAX_DISPOSITION_CHARS && PLAIN_DISPOSITION.test(field.trim());
}

/** One name, and if there is one of a file, that is not empty, with at most one in the extended form beside it. RFC 6266 §4.3. */
function areNamesPlain(names: readonly TypeParameter[], files: readonly TypeParameter[]): boolean {
  if (names.length > 1) return false;
  if (files.length === 0) return true;
  const plain = files.filter(({ name }) => name === "filename");
  const extended = files.filter(({ name }) => name === "filename*");
  if (plain.length !== 1 || extended.length > 1 || files.length !== plain.length + extended.length) return false;
  return plain[0]!.value.trim() !== "" && extended.every(({ value }) => /^[\w-]+'[^']*'.*[^\s'"]/.test(value));
}

function isPacked(field: string): boolean {
  return (
    isNamed(field, "content-transfer-encoding") && !["7bit", "8bit", "binary"].includes(fieldValue(field).toLowerCase())
  );
}

function isNamed(field: string, name: string): boolean {
  return field.slice(0, name.length).toLowerCase() === name && /^\s*:/.test(field.slice(name.length));
}

function fieldValue(field: string): string {
  return field.slice(field.indexOf(":") + 1).trim();
}

/** Where a part's fields end and where its content begins: at the first empty line. */
function headEnd(text: Buffer, from: number, to: number): { end: number; behind: number } {
  for (let at = text.indexOf(Byte.Lf, from); at >= 0 && at < to; at = text.indexOf(Byte.Lf, at + 1)) {
    const next = text[at + 1] === Byte.Cr ? at + 2 : at + 1;
    if (text[next] === Byte.Lf) return { end: at, behind: Math.min(to, next + 1) };
  }
  return { end: to, behind: to };
}

/** One parameter of a field such as `form-data; name="x"`; the name in lower case. */
interface TypeParameter {
  readonly name: string;
  readonly value: string;
}

/** The parameters of Content-Type or Content-Disposition. RFC 9110 §5.6.6, read leniently; a backslash is no escape. */
export function parametersOf(text: string): TypeParameter[] {
  const found: TypeParameter[] = [];
  for (let at = text.indexOf(";"); at >= 0 && at < text.length; ) {
    const end = endOfParameter(text, at + 1);
    const parameter = text.slice(at + 1, end);
    const equals = parameter.indexOf("=");
    if (equals >= 0) {
      const name = parameter.slice(0, equals).trim().toLowerCase();
      found.push({ name, value: unquoted(parameter.slice(equals + 1).trim()) });
    }
    at = end;
  }
  return found;
}

/** Offset of the semicolon after a parameter, which may have others between quotes. */
function endOfParameter(text: string, from: number): number {
  let at = from;
  for (; at < text.length && text[at] !== ";"; at++) {
    if (text[at] !== '"') continue;
    const close = text.indexOf('"', at + 1);
    if (close < 0) return text.length;
    at = close;
  }
  return at;
}

function unquoted(text: string): string {
  if (!text.startsWith('"')) return text;
  const close = text.indexOf('"', 1);
  return text.slice(1, close < 0 ? text.length : close);
}

/** What a part costs beside its bytes: its fields are taken apart as texts. */
const PART_STEPS = 1024;
const MAX_FIELDS = 20;
/** A type is there: an empty one is none for some. RFC 9110 §8.3.1. */
const FILE_TYPE = /:[ \t]*[\w!#$&^.+-]+\/[\w!#$&^.+-]/;
/** Longer than any name of a file needs; an expression with a choice for each character takes a microsecond for it. */
const MAX_DISPOSITION_CHARS = 4096;
const PLAIN_DISPOSITION =
  /^content-disposition:[ \t]*[\w-]+(?:;[ \t]*(?:[\w-]+=(?:"(?:[^"=\\]|\\[^"]|=(?!"))*"|[^\s";,=\\]+)|filename\*=[\w-]+'[\w-]*'[^\s";,=\\]+))*;?$/i;
