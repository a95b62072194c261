/** Bytes of a claim that goes on in a field; a longer one does not, since a part of it would say something else. */
const MAX_CLAIM_BYTES = 4096;
/** Claims of a user that placeholders can name. */
const MAX_CLAIMS = 256;

/**
 * The claims of a user as text by name, for `{auth.claim.NAME}`: a list is joined with commas, and a member of an object has its path
 * with dots (`realm_access.roles`), after claims that have such a name themselves. docs/authentication.md#claims
 */
export function claimTexts(claims: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const texts: Record<string, string> = Object.create(null) as Record<string, string>;
  add(claims, "", 1, texts, { left: MAX_CLAIMS });
  return texts;
}

/**
 * A claim as one text; "" for one that cannot be told exactly. Lists are joined with commas, without entries that have commas
 * themselves, which would read as two; objects are JSON. Text with control characters, with space around it or longer than
 * MAX_CLAIM_BYTES is not cut or mended: the rest of it could be another user's.
 */
export function claimText(value: unknown): string {
  if (Array.isArray(value)) return exactText(value.filter(isEntry).join(","));
  if (isPlain(value)) return exactText(String(value));
  return typeof value === "object" && value !== null ? exactText(JSON.stringify(value)) : "";
}

/** A text as the value of a field: its UTF-8, one character a byte. */
export function fieldBytes(text: string): string {
  return /[^\x20-\x7e]/.test(text) ? Buffer.from(text, "utf8").latin1Slice() : text;
}

/** Whether a claim, or an entry of one, is a text, a number, true or false. */
export function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function add(
  claims: object,
  prefix: string,
  depth: number,
  texts: Record<string, string>,
  room: { left: number },
): void {
  const inner: [string, object][] = [];
  for (const [name, value] of Object.entries(claims)) {
    const path = prefix + name;
    if (room.left-- <= 0) return;
    if (Array.isArray(value) || isPlain(value)) texts[path] ??= claimText(value);
    else if (value !== null && typeof value === "object" && depth < MAX_DEPTH) inner.push([path, value]);
  }
  for (const [path, value] of inner) add(value, `${path}.`, depth + 1, texts, room);
}

function isEntry(value: unknown): boolean {
  return isPlain(value) && !String(value).includes(",") && exactText(String(value)) !== "";
}

function exactText(text: string): string {
  if (text.length > MAX_CLAIM_BYTES || /\p{Cc}|\p{Cs}/u.test(text) || text.trim() !== text) return "";
  return Buffer.byteLength(text) <= MAX_CLAIM_BYTES ? text : "";
}

const MAX_DEPTH = 3;
