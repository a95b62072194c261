/** One parameter of a field such as `form-data; name="x"`; the name in lower case. */
export interface TypeParameter {
  readonly name: string;
  readonly value: string;
}

/** The parameters of Content-Type or Content-Disposition. RFC 9110 §5.6.6, read leniently; a backslash is no escape. */
export function parametersOf(text: string): TypeParameter[] {
  const found: TypeParameter[] = [];
  for (let at = text.indexOf(";"); at >= 0 && at < text.length; ) {
    const end = endOfParameter(text, at + 1);
    const parameter = text.slice(at + 1, end);
    const equals = parameter.indexOf("=");
    if (equals >= 0) {
      const name = parameter.slice(0, equals).trim().toLowerCase();
      found.push({ name, value: unquoted(parameter.slice(equals + 1).trim()) });
    }
    at = end;
  }
  return found;
}

/** The value of the first parameter of that name, null where there is none. */
export function parameterOf(parameters: readonly TypeParameter[], name: string): string | null {
  return parameters.find((parameter) => parameter.name === name)?.value ?? null;
}

/** Offset of the semicolon behind a parameter, which may have others between quotes. */
function endOfParameter(text: string, from: number): number {
  let at = from;
  for (; at < text.length && text[at] !== ";"; at++) {
    if (text[at] !== '"') continue;
    const close = text.indexOf('"', at + 1);
    if (close < 0) return text.length;
    at = close;
  }
  return at;
}

function unquoted(text: string): string {
  if (!text.startsWith('"')) return text;
  const close = text.indexOf('"', 1);
  return text.slice(1, close < 0 ? text.length : close);
}
