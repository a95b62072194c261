/** The analysers of values, as bits: what a keyword calls. */
export const enum Family {
  Sql = 1,
  Mongo = 2,
  Script = 4,
  Shell = 8,
  Code = 16,
  File = 32,
  Url = 64,
  Lookup = 128,
  Scanner = 256,
  /** Line breaks where a value may become a header. */
  Break = 512,
  Nul = 1024,
  /** Escapes that are left after the first decoding. */
  Escape = 2048,
  /** Character references of HTML, in which some pages write what they are sent as it is. */
  Reference = 4096,
  /** A backslash, which in quoted cookies begins an escape of any character. */
  Backslash = 8192,
}

/** All bits but those that only headers have. */
export const QUERY_FAMILIES: number =
  Family.Sql |
  Family.Mongo |
  Family.Script |
  Family.Shell |
  Family.Code |
  Family.File |
  Family.Url |
  Family.Lookup |
  Family.Break |
  Family.Nul |
  Family.Escape |
  Family.Reference;
/** Texts in a body have line breaks, and articles that show tags have references. */
export const BODY_FAMILIES: number = QUERY_FAMILIES & ~(Family.Break | Family.Reference);
/** The path: what expands or runs wherever it is logged or shown. File names and prose stand there by right. */
export const PATH_FAMILIES: number = Family.Script | Family.Code | Family.Lookup | Family.Break | Family.Escape;
/**
 * A segment of the path, which is a value to many an application. What is left out is noise: addresses within URLs of proxies,
 * and the operators with which APIs begin names.
 */
export const SEGMENT_FAMILIES: number = QUERY_FAMILIES & ~(Family.Url | Family.Mongo | Family.Break | Family.Nul);
/** The path from a segment on: what has slashes in it, and is not found in the path as a whole. */
export const PATH_REST_FAMILIES: number = Family.Sql | Family.Shell | Family.File | Family.Escape;
/** User-Agent: a line of prose with semicolons. */
export const AGENT_FAMILIES: number = Family.Scanner | Family.Sql | Family.Script | Family.Code | Family.Lookup;
/** Referer and cookies: nothing is fetched or looked up in a database of documents by them. */
export const HEADER_FAMILIES: number =
  (QUERY_FAMILIES | Family.Backslash) & ~(Family.Url | Family.Mongo | Family.Reference);
/** Headers that clients make up, where scanners say who they are. */
export const EXTENSION_FAMILIES: number = HEADER_FAMILIES | Family.Scanner;
