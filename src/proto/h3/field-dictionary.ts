import { Byte } from "../../core/bytes.ts";
import { FieldEvent, type FieldSource } from "../hpack/decoder.ts";
import { type FieldTag, tagOf } from "../hpack/field-kind.ts";
import type { LineBuffer } from "../hpack/line-buffer.ts";

/** Header fields as the runtime's HTTP/3 gives and takes them: one character a byte, several of one name as a list. */
export type FieldRecord = { readonly [name: string]: string | readonly string[] | undefined };

/**
 * Reads the fields of an HTTP/3 head. The runtime undoes QPACK (RFC 9204) and checks next to nothing: what stands here is
 * judged by the same reader as an HTTP/2 head. RFC 9114 §4.2, §4.3.
 *
 * Names that are whole numbers come first out of every object, wherever they were; here they come last, so that they are
 * never taken for regular fields before a pseudo-header.
 */
export class FieldDictionary implements FieldSource {
  nameFrom = 0;
  nameTo = 0;
  valueFrom = 0;
  valueTo = 0;
  tag: FieldTag = 0;
  private names: readonly string[] = [];
  private values: readonly string[] = [];
  private at = 0;

  /** Makes ready for a head. */
  begin(fields: FieldRecord): void {
    const names: string[] = [];
    const values: string[] = [];
    const keys = Object.keys(fields);
    const numbered = keys.findIndex((key) => !NUMBER.test(key));
    const split = numbered < 0 ? keys.length : numbered;
    for (const name of [...keys.slice(split), ...keys.slice(0, split)]) {
      const value = fields[name];
      for (const one of typeof value === "string" ? [value] : (value ?? [])) {
        names.push(name);
        values.push(one);
      }
    }
    this.names = names;
    this.values = values;
    this.at = 0;
  }

  next(line: LineBuffer): FieldEvent {
    if (this.at === this.names.length) return FieldEvent.Done;
    const name = this.names[this.at]!;
    const value = this.values[this.at++]!;
    const from = line.end;
    const out = line.reserve(name.length + value.length + LINE_EXTRA);
    this.nameFrom = from;
    this.nameTo = from + out.latin1Write(name, from, name.length);
    out[this.nameTo] = Byte.Colon;
    out[this.nameTo + 1] = Byte.Space;
    this.valueFrom = this.nameTo + 2;
    this.valueTo = this.valueFrom + out.latin1Write(value, this.valueFrom, value.length);
    out[this.valueTo] = Byte.Cr;
    out[this.valueTo + 1] = Byte.Lf;
    this.tag = tagOf(out, from, this.nameTo, this.valueFrom, this.valueTo);
    return FieldEvent.Field;
  }
}

const NUMBER = /^\d+$/;
/** Colon, space, CR and LF. */
const LINE_EXTRA = 4;
