import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";

/** Takes out the fields of the plain content: its ranges, and its digests (RFC 9530 §3, §4). */
export function dropPlainFields(headers: HeaderBlock): void {
  headers.removeWhere(
    (_, i) => headers.ids[i] === HeaderId.Other && PLAIN_FIELDS.has(headers.nameText(i).toLowerCase()),
  );
}

/** Whether Cache-Control has no-transform. RFC 9111 §5.2.1.6, §5.2.2.6 */
export function forbidsTransforming(headers: HeaderBlock): boolean {
  for (let i = headers.find(HeaderId.CacheControl); i >= 0; i = headers.find(HeaderId.CacheControl, i + 1)) {
    if (NO_TRANSFORM.test(headers.valueText(i))) return true;
  }
  return false;
}

/** Whether a field, by its name in lower case, says something of the plain content alone. */
export function isOfPlainContent(name: string): boolean {
  return PLAIN_FIELDS.has(name);
}

/** Whether a value of Cache-Control has no-transform. */
export function hasNoTransform(value: string): boolean {
  return NO_TRANSFORM.test(value);
}

const PLAIN_FIELDS: ReadonlySet<string> = new Set([
  "accept-ranges",
  "content-digest",
  "repr-digest",
  "digest",
  "content-md5",
]);
const NO_TRANSFORM = /(?:^|[\s,])no-transform(?:$|[\s,;=])/i;
