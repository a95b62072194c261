import { Byte, latin1 } from "../../../core/ascii.ts";
import { sliceText } from "../../../core/bytes.ts";
import type { Findings } from "../findings.ts";
import { findScriptUpload } from "../signs/upload-names.ts";
import type { ValueInspector } from "../value-inspector.ts";
import { parameterOf } from "./body-type.ts";

/**
 * Inspects the fields of a multipart body, and the names of files; the contents of files are the application's
 * business. RFC 7578, read as leniently as applications do: bare line feeds, names without quotes.
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
  let at = text.indexOf(delimiter);
  if (at < 0) return from === to;
  while (at >= 0) {
    at += delimiter.length;
    if (text[at] === Byte.Dash && text[at + 1] === Byte.Dash) break;
    const next = text.indexOf(delimiter, at);
    inspectPart(inspector, findings, text, at, next < 0 ? text.length : next);
    at = next;
  }
  return true;
}

function inspectPart(inspector: ValueInspector, findings: Findings, text: Buffer, from: number, to: number): void {
  const head = headEnd(text, from, to);
  const fields = sliceText(text, from, Math.min(head.end, from + MAX_HEAD)).split("\n");
  const disposition = fields.find((field) => field.toLowerCase().startsWith("content-disposition")) ?? "";
  const name = latin1(parameterOf(disposition, "name") ?? "");
  inspector.setName(name, 0, name.length);
  const fileName = parameterOf(disposition, "filename") ?? parameterOf(disposition, "filename*");
  if (fileName !== null) {
    const file = latin1(fileName);
    load(inspector, file, 0, file.length);
    findScriptUpload(inspector.value, findings);
    inspector.inspect(file, 0, file.length);
    return;
  }
  load(inspector, name, 0, name.length);
  inspector.value.isName = true;
  inspector.inspect(name, 0, name.length);
  inspector.value.isName = false;
  load(inspector, text, head.behind, behindLine(text, head.behind, to));
  inspector.inspect(text, head.behind, to);
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
const MAX_HEAD = 4096;
