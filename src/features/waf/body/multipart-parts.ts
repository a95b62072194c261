import { Byte, latin1 } from "../../../core/ascii.ts";
import { sliceText } from "../../../core/bytes.ts";
import type { Findings } from "../findings.ts";
import { Sign } from "../rules/sign.ts";
import { findScriptUpload } from "../signs/upload-names.ts";
import type { ValueInspector } from "../value-inspector.ts";
import { parameterOf, parametersOf, type TypeParameter } from "./type-parameters.ts";

/**
 * Inspects the fields of a multipart body, and the names of files; the contents of files are the application's
 * business. RFC 7578, read as leniently as applications do: bare line feeds, names without quotes. What applications
 * may take apart in two ways is not taken apart.
 * @returns false when the body cannot be taken apart
 */
export function inspectMultipart(
  inspector: ValueInspector,
  findings: Findings,
  boundary: string,
  bytes: Uint8Array,
  from: number,
  to: number,
): boolean {
  if (boundary === "" || boundary.length > MAX_BOUNDARY) return from === to;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
  const delimiter = Buffer.from(`--${boundary}`, "latin1");
  let at = nextDelimiter(text, delimiter, 0);
  if (at < 0) return from === to;
  const isCrLf = text[text.indexOf(Byte.Lf, at) - 1] === Byte.Cr;
  while (at >= 0) {
    at += delimiter.length;
    if (text[at] === Byte.Dash && text[at + 1] === Byte.Dash) break;
    const next = nextDelimiter(text, delimiter, at);
    inspectPart(inspector, findings, text, at, next < 0 ? text.length : next);
    if (!isLineEnd(text, at, isCrLf) || (next > 0 && isCrLf !== (text[next - 2] === Byte.Cr))) return false;
    at = next;
  }
  return true;
}

/** Offset of a delimiter at the beginning of a line, -1 where there is none. */
function nextDelimiter(text: Buffer, delimiter: Buffer, from: number): number {
  let at = text.indexOf(delimiter, from);
  while (at > 0 && text[at - 1] !== Byte.Lf) at = text.indexOf(delimiter, at + 1);
  return at;
}

/** Whether a line ends here, or the text, which may be cut off. */
function isLineEnd(text: Buffer, from: number, isCrLf: boolean): boolean {
  let at = from;
  while (text[at] === Byte.Space || text[at] === Byte.Tab) at++;
  if (isCrLf && text[at] === Byte.Cr) at++;
  else if (isCrLf && at < text.length) return false;
  return at + 1 >= text.length || text[at] === Byte.Lf;
}

function inspectPart(inspector: ValueInspector, findings: Findings, text: Buffer, from: number, to: number): void {
  const head = headEnd(text, from, to);
  const fields = sliceText(text, from, head.end).split("\n", MAX_FIELDS);
  const dispositions = fields.filter((field) => startsWith(field, "content-disposition"));
  const parameters = dispositions.flatMap(parametersOf);
  const name = latin1(parameterOf(parameters, "name") ?? parameterOf(parameters, "name*") ?? "");
  inspector.setName(name, 0, name.length);
  const fileName = parameterOf(parameters, "filename") ?? parameterOf(parameters, "filename*");
  if (fileName !== null) {
    const file = latin1(fileName);
    load(inspector, file, 0, file.length);
    findScriptUpload(inspector.value, findings);
    inspector.inspect(file, 0, file.length);
    if (isFile(fields, dispositions, parameters)) return;
  }
  if (fields.some(isPacked)) findings.found(Sign.UnreadableBody, 0);
  load(inspector, name, 0, name.length);
  inspector.value.isName = true;
  inspector.inspect(name, 0, name.length);
  inspector.value.isName = false;
  load(inspector, text, head.behind, behindLine(text, head.behind, to));
  inspector.inspect(text, head.behind, to);
}

/**
 * Whether every application takes a part for a file. Some tell files by their type, not by their name; and what one
 * reader takes for a file's name another takes for part of a quoted text.
 */
function isFile(
  fields: readonly string[],
  dispositions: readonly string[],
  parameters: readonly TypeParameter[],
): boolean {
  if (dispositions.length !== 1 || dispositions[0]!.includes('\\"') || fields.length === MAX_FIELDS) return false;
  return parameterOf(parameters, "filename") !== null && fields.some((field) => startsWith(field, "content-type:"));
}

/** Some applications unpack fields. */
function isPacked(field: string): boolean {
  return startsWith(field, "content-transfer-encoding:") && !["7bit", "8bit", "binary"].includes(valueOfField(field));
}

function valueOfField(field: string): string {
  return field
    .slice(field.indexOf(":") + 1)
    .trim()
    .toLowerCase();
}

function startsWith(field: string, name: string): boolean {
  return field.slice(0, name.length).toLowerCase() === name;
}

function load(inspector: ValueInspector, bytes: Uint8Array, from: number, to: number): void {
  inspector.value.load(bytes, from, to);
}

/** Where a part's fields end and where its content begins: at the first empty line. */
function headEnd(text: Buffer, from: number, to: number): { end: number; behind: number } {
  for (let at = text.indexOf(Byte.Lf, from); at >= 0 && at < to; at = text.indexOf(Byte.Lf, at + 1)) {
    const next = text[at + 1] === Byte.Cr ? at + 2 : at + 1;
    if (text[next] === Byte.Lf) return { end: at, behind: Math.min(to, next + 1) };
  }
  return { end: to, behind: to };
}

/** Where the line break in front of a delimiter begins. */
function behindLine(text: Buffer, from: number, to: number): number {
  let end = to;
  if (end > from && text[end - 1] === Byte.Lf) end--;
  if (end > from && text[end - 1] === Byte.Cr) end--;
  return end;
}

/** RFC 2046 §5.1.1 allows 70; some make longer ones. */
const MAX_BOUNDARY = 200;
const MAX_FIELDS = 20;
