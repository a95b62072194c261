/** One request for firewalls, as bytes of HTTP/1.1. */
export interface WafCase {
  /** Where it comes from: a row of the table. */
  readonly set: string;
  /** What it is about: a row of the second table. */
  readonly group: string;
  readonly isAttack: boolean;
  /** How many requests it stands for. */
  readonly weight: number;
  readonly bytes: Uint8Array;
}

export const AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/** The bytes of a request; a length is added where there is a body. */
export function requestBytes(
  start: string,
  fields: readonly (readonly [string, string])[],
  body: Uint8Array | null = null,
): Uint8Array {
  const has = (wanted: string) => fields.some(([name]) => name.toLowerCase() === wanted);
  const lines = [`${start} HTTP/1.1`];
  if (!has("host")) lines.push("Host: localhost");
  if (!has("user-agent")) lines.push(`User-Agent: ${AGENT}`);
  if (!has("accept")) lines.push("Accept: text/html,application/xhtml+xml,*/*;q=0.8");
  for (const [name, value] of fields) lines.push(`${name}: ${value}`);
  if (body !== null && !has("content-length") && !has("transfer-encoding"))
    lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "utf8");
  return body === null ? head : Buffer.concat([head, body]);
}

/** All but letters, digits and `-._~` as `%41`. */
export function percentEncoded(bytes: Uint8Array): string {
  let out = "";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    out += /[\w.~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
}
