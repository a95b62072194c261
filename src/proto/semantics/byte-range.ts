/** What a Range field asks of a file. */
export const enum RangeVerdict {
  /** The whole file: the field is not a single well-formed byte range, or asks for several. */
  Whole = 0,
  /** The bytes `from` to `to`. */
  Part,
  /** No byte that the file has: 416. */
  Unsatisfiable,
}

const SINGLE_RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/** A single range, resolved against a length. RFC 9110 §14.1.2 and §14.2. */
export class ByteRange {
  /** First byte. */
  from = 0;
  /** After the last byte. */
  to = 0;

  /**
   * Resolves a Range field. Several ranges are answered with the whole file, which RFC 9110 §14.2 allows and which
   * spares the gateway multipart responses larger than the file; so are other units and malformed values.
   * @param text the field's value
   * @param sizeBytes length of the selected representation
   */
  resolve(text: string, sizeBytes: number): RangeVerdict {
    const m = SINGLE_RANGE.exec(text);
    if (m === null) return RangeVerdict.Whole;
    const first = m[1]!;
    const last = m[2]!;
    if (first === "") return this.resolveSuffix(last, sizeBytes);
    this.from = Number(first);
    if (last !== "" && Number(last) < this.from) return RangeVerdict.Whole;
    if (this.from >= sizeBytes) return RangeVerdict.Unsatisfiable;
    this.to = last === "" ? sizeBytes : Math.min(Number(last) + 1, sizeBytes);
    return RangeVerdict.Part;
  }

  /** RFC 9110 §14.1.2: the last N bytes; N above the length means all, N of 0 cannot be satisfied. */
  private resolveSuffix(digits: string, sizeBytes: number): RangeVerdict {
    if (digits === "") return RangeVerdict.Whole;
    const length = Number(digits);
    if (length === 0) return RangeVerdict.Unsatisfiable;
    // Satisfiable, yet Content-Range has no way to say "no bytes".
    if (sizeBytes === 0) return RangeVerdict.Whole;
    this.from = Math.max(0, sizeBytes - length);
    this.to = sizeBytes;
    return RangeVerdict.Part;
  }
}
