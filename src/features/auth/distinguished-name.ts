import { trimmedEnd } from "../../core/trimming.ts";

/**
 * Reads a distinguished name as RFC 4514 writes it, the last part first: `CN=client,O=Example`.
 * @returns one form of all spellings of the name, to be compared with another such; null if it is none
 */
export function canonicalName(text: string): string | null {
  const parts: string[] = [];
  for (const part of split(text, ",")) {
    const values = split(part, "+").map(attribute);
    if (values.includes(null)) return null;
    parts.push(values.sort().join("+"));
  }
  return parts.join(",");
}

/** The value of the first attribute with this name, such as `CN`, unescaped; "" if there is none. */
export function attributeOf(text: string, name: string): string {
  for (const one of split(text, ",").flatMap((part) => split(part, "+"))) {
    const equals = one.indexOf("=");
    if (one.slice(0, equals).trim().toUpperCase() === name) return unescaped(one.slice(equals + 1).trim());
  }
  return "";
}

/** Divides at a sign that is not escaped. */
function split(text: string, sign: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === sign) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)];
}

function attribute(text: string): string | null {
  const equals = text.indexOf("=");
  const type = text.slice(0, Math.max(equals, 0)).trim();
  const value = trimmedValue(text.slice(equals + 1));
  if (!TYPE.test(type) || value === "" || endsInEscape(value)) return null;
  return `${type.toUpperCase()}=${JSON.stringify(unescaped(value))}`;
}

/** Without blanks around it: one at the end that is escaped is part of the value. */
function trimmedValue(text: string): string {
  const whole = text.trimStart();
  const value = whole.trimEnd();
  return endsInEscape(value) ? whole.slice(0, value.length + 1) : value;
}

/** Whether it ends in a backslash without the sign that it escapes. */
function endsInEscape(value: string): boolean {
  return (value.length - trimmedEnd(value, "\\").length) % 2 === 1;
}

const TYPE = /^(?:[A-Za-z][\w-]*|\d+(?:\.\d+)*)$/;

/** RFC 4514 §2.4: a sign after a backslash, or a byte of UTF-8 as two digits. */
function unescaped(value: string): string {
  return value
    .replace(/(?:\\[0-9A-Fa-f]{2})+/g, (pairs) => Buffer.from(pairs.replaceAll("\\", ""), "hex").toString("utf8"))
    .replace(/\\(.)/gs, "$1");
}
