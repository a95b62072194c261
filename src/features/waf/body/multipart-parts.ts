import { Byte, latin1 } from "../../../core/ascii.ts";
import type { Findings } from "../findings.ts";
import { Sign } from "../rules/sign.ts";
import { findScriptUpload } from "../signs/upload-names.ts";
import type { ValueInspector } from "../value-inspector.ts";
import { namesHidingCharset } from "./declared-types.ts";
import { isFile, type PartHead, partHead } from "./part-head.ts";
import { inspectUpload } from "./xml-values.ts";

/** What a multipart body is. */
export const enum Shape {
  /** All readers take it apart alike. */
  Parted = 0,
  /** Readers may take it apart in different ways. */
  Ambiguous,
  /** There is no part in it. */
  Unknown,
}

/** Inspects the content of a part that is no file; the reading has its name. */
export type FieldTaker = (bytes: Uint8Array, from: number, to: number) => void;

/**
 * Takes multipart bodies apart and inspects their fields, all that stands around them, and the names of files; the contents of files
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

  /** @param boundary "" where there is none */
  inspect(boundary: string, bytes: Uint8Array, from: number, to: number): Shape {
    if (from === to) return Shape.Parted;
    if (boundary === "") return Shape.Unknown;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
    const delimiter = Buffer.from(`--${boundary}`, "latin1");
    let at = nextDelimiter(text, delimiter, 0);
    if (at < 0) return Shape.Unknown;
    this.inspectAround(text, 0, at);
    const isCrLf = text[text.indexOf(Byte.Lf, at) - 1] === Byte.Cr;
    if (at > 0 && !isBehindLine(text, at, isCrLf)) return Shape.Ambiguous;
    while (at >= 0) {
      at += delimiter.length;
      if (text[at] === Byte.Dash && text[at + 1] === Byte.Dash) return this.inspectEnd(text, at + 2);
      const next = nextDelimiter(text, delimiter, at);
      this.inspectPart(text, at, next < 0 ? text.length : next);
      if (!this.inspector.value.steps.take(PART_STEPS)) return Shape.Ambiguous;
      if (!isLineEnd(text, at, isCrLf)) return Shape.Ambiguous;
      if (next > 0 && !isBehindLine(text, next, isCrLf)) return Shape.Ambiguous;
      at = next;
    }
    return Shape.Parted;
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
    if (head.isPacked) findings.found(Sign.UnreadableBody, 0);
    if (namesHidingCharset(head.type)) findings.found(Sign.HiddenCharset, 0);
    this.inspectNames(head, name);
    this.takeField(text, head.contentFrom, contentEnd(text, head.contentFrom, to));
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

  /** What stands in front of the first delimiter: some readers find parts there. */
  private inspectAround(text: Buffer, from: number, to: number): void {
    this.inspector.nameNothing();
    if (to > from) this.takeField(text, from, to);
  }

  /** What stands behind the last delimiter, which is followed by the end of its line or by the text's. */
  private inspectEnd(text: Buffer, from: number): Shape {
    this.inspectAround(text, from, text.length);
    let at = from;
    while (text[at] === Byte.Space || text[at] === Byte.Tab) at++;
    return at >= text.length || text[at] === Byte.Cr || text[at] === Byte.Lf ? Shape.Parted : Shape.Ambiguous;
  }
}

/** What a part costs beside its bytes: its fields are taken apart as texts. */
const PART_STEPS = 1024;

/** Offset of a delimiter at the beginning of a line, -1 where there is none. For some a line ends with a bare CR, too. */
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
  while (text[at] === Byte.Space || text[at] === Byte.Tab) at++;
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
