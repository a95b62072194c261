/** In what a response may depart from HTTP/1.1 where `strict_origins` is false. docs/upstreams.md#old-origins */
export const enum Leniency {
  /** A line of the head, of a chunk's size or of the trailers that ends with LF alone, or chunk data that does. */
  BareLf = 0,
  /** A field of the head that goes on in the next line. */
  Folding,
  /** Content-Length several times with the same text, in one field or in several. */
  RepeatedLength,
  /** A 204 that announces a body. */
  BodyOf204,
  /** `Transfer-Encoding: chunked` in several fields. */
  RepeatedCoding,
}

/** The words for them in metrics and logs, in the same order. */
export const LENIENCIES: readonly string[] = [
  "bare_lf",
  "folding",
  "repeated_length",
  "body_of_204",
  "repeated_coding",
];

/** What `strict_origins: false` means, for warnings. docs/upstreams.md#old-origins */
export const LENIENT_MEANING: string =
  "old upstreams may end lines with a bare LF, fold fields, repeat Content-Length and send a body with 204";
