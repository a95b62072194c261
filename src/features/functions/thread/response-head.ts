/** Fields as names and values. */
export type ResponseFields = readonly (readonly [name: string, value: string])[];

/** The fields of a message; all that may come several times, such as Set-Cookie, are apart. */
export function responseFields(headers: Headers): [string, string][] {
  const fields: [string, string][] = [];
  forEach.call(headers, (value, name) => fields.push([name, value]));
  return fields;
}

/** As it was before the module was loaded. */
const { forEach } = Headers.prototype;

/** Whether these are the same fields, in the same order. */
export function hasSameFields(one: ResponseFields, other: ResponseFields): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i]![0] !== other[i]![0] || one[i]![1] !== other[i]![1]) return false;
  return true;
}

/** Why what a function gave is no response that can be sent, or "". */
export function headFault(response: unknown, name: string): string {
  if (!(response instanceof Response)) return `${name} gave ${nameOf(response)}, and no Response`;
  if (response.type === "error") return `${name} gave Response.error()`;
  // A property of the object's own may be in the place of the runtime's.
  const { status } = response;
  if (status === 101) return `${name} gave a Response with status 101, which ctx.upgrade() alone may give`;
  if (!Number.isInteger(status) || status < 200 || status > 599) return `${name} gave a Response whose status is none`;
  if (response.bodyUsed) return `${name} gave a Response whose body has been used`;
  return "";
}

/**
 * Takes out Content-Length, and fields about a connection, which a response of `fetch` may have: what follows frames the message anew.
 * RFC 9110 §7.6.1
 * @returns the length that is declared, in bytes; -1 if none is, or none that is one
 */
export function splitLength(all: ResponseFields): { readonly fields: ResponseFields; readonly length: number } {
  let length = -1;
  let dropped = 0;
  for (const [name, value] of all) {
    if (!CONNECTION_FIELDS.has(name)) continue;
    dropped++;
    if (name === "content-length" && /^\d{1,15}$/.test(value)) length = Number(value);
  }
  return { fields: dropped === 0 ? all : all.filter(([name]) => !CONNECTION_FIELDS.has(name)), length };
}

const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  "content-length",
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
