import type { MmdbReader } from "./mmdb-reader.ts";

/**
 * The country of a record as two capital letters (ISO 3166-1), "" if it names none: `country.iso_code`, as MaxMind and DB-IP have
 * it, or `country_code` or `country` itself. Nothing else can come out, whatever the file says.
 */
export function countryIn({ data }: MmdbReader, record: number): string {
  const country = data.memberAt(record, "country");
  const nested = country < 0 ? -1 : data.memberAt(country, "iso_code");
  if (nested >= 0) return codeOf(data.textAt(nested));
  return codeOf(data.textAt(data.memberAt(record, "country_code"))) || codeOf(data.textAt(country));
}

/** The number of the autonomous system of a record, 0 if it names none: `autonomous_system_number`, or `asn` as `AS64500`. */
export function asnIn({ data }: MmdbReader, record: number): number {
  const number = data.numberAt(data.memberAt(record, "autonomous_system_number"));
  if (number >= 0) return number <= MAX_ASN ? number : 0;
  const at = data.memberAt(record, "asn");
  const asn = Math.max(data.numberAt(at), Number(/^AS(\d{1,10})$/.exec(data.textAt(at))?.[1] ?? 0));
  return asn <= MAX_ASN ? asn : 0;
}

function codeOf(text: string): string {
  if (text.length !== 2) return "";
  const first = (text.charCodeAt(0) & ~0x20) - LETTER_A;
  const second = (text.charCodeAt(1) & ~0x20) - LETTER_A;
  return first >= 0 && first < 26 && second >= 0 && second < 26 ? CODES[first * 26 + second]! : "";
}

const LETTER_A = 0x41;
/** RFC 6793: four octets. */
const MAX_ASN = 4_294_967_295;
/** Every pair of letters, so that a lookup makes no text. */
const CODES: readonly string[] = Array.from({ length: 26 * 26 }, (_, i) =>
  String.fromCharCode(LETTER_A + Math.floor(i / 26), LETTER_A + (i % 26)),
);
