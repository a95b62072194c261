import { Byte } from "../../../core/ascii.ts";
import { sliceText } from "../../../core/bytes.ts";
import { parametersOf, type TypeParameter } from "./type-parameters.ts";

/** The fields in front of the content of a part. RFC 7578 §4. */
export interface PartHead {
  /** Of all fields, their lines joined. */
  readonly text: string;
  /** "" where there is none. */
  readonly name: string;
  /** All that may be the name of a file, the empty ones too. */
  readonly fileNames: readonly string[];
  /** The value of Content-Type; "" where there is none. */
  readonly type: string;
  /** Whether some applications unpack the content. */
  readonly isPacked: boolean;
  /** Whether readers may find other names in it. */
  readonly isOdd: boolean;
  readonly contentFrom: number;
}

/** Reads the fields of the part at `from`, behind its delimiter. */
export function partHead(text: Buffer, from: number, to: number): PartHead {
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
export function isFile(head: PartHead): boolean {
  if (head.isOdd || head.fileNames.length === 0) return false;
  return FILE_TYPE.test(head.type) && !/multipart/i.test(head.type);
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
  return index === 0 && PLAIN_DISPOSITION.test(field.trim());
}

/** One name, and where there is one of a file, that is not empty, with at most one in the extended form beside it. RFC 6266 §4.3. */
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

const MAX_FIELDS = 20;
/** A type is there: an empty one is none for some. RFC 9110 §8.3.1. */
const FILE_TYPE = /:[ \t]*[\w!#$&^.+-]+\/[\w!#$&^.+-]/;
const PLAIN_DISPOSITION =
  /^content-disposition:[ \t]*[\w-]+(?:;[ \t]*(?:[\w-]+=(?:"(?:[^"=\\]|\\[^"]|=(?!"))*"|[^\s";,=\\]+)|filename\*=[\w-]+'[\w-]*'[^\s";,=\\]+))*;?$/i;
