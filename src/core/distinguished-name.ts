/**
 * Reads a distinguished name as RFC 4514 writes it, the last part first: `CN=client,O=Example`.
 * @returns one form of all spellings of the name, to be compared with another such; null where it is none
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

/** The value of the first attribute with this name, such as `CN`, unescaped; "" where there is none. */
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
  const [, type, value] = /^\s*([A-Za-z][\w-]*|\d+(?:\.\d+)*)\s*=\s*((?:[^\\]|\\.)*?)\s*$/s.exec(text) ?? [];
  if (type === undefined || value === undefined || value === "") return null;
  return `${type.toUpperCase()}=${JSON.stringify(unescaped(value))}`;
}

/** RFC 4514 §2.4: a sign after a backslash, or a byte of UTF-8 as two digits. */
function unescaped(value: string): string {
  return value
    .replace(/(?:\\[0-9A-Fa-f]{2})+/g, (pairs) => Buffer.from(pairs.replaceAll("\\", ""), "hex").toString("utf8"))
    .replace(/\\(.)/gs, "$1");
}
