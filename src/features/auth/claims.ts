/**
 * The claims of a user as text by name, for `{auth.claim.NAME}` and for fields: a list is joined with commas, and a member of an object
 * has its path with dots (`realm_access.roles`). docs/authentication.md#claims
 */
export function claimTexts(claims: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const texts: Record<string, string> = Object.create(null) as Record<string, string>;
  add(claims, "", 1, texts, { left: MAX_CLAIMS });
  return texts;
}

/** A text as the value of a field: its UTF-8, one character a byte. */
export function fieldBytes(text: string): string {
  return /[^\x20-\x7e]/.test(text) ? Buffer.from(text, "utf8").latin1Slice() : text;
}

function add(
  claims: object,
  prefix: string,
  depth: number,
  texts: Record<string, string>,
  room: { left: number },
): void {
  for (const [name, value] of Object.entries(claims)) {
    const path = prefix + name;
    if (room.left-- <= 0) return;
    if (Array.isArray(value)) texts[path] ??= value.filter(isPlain).join(",");
    else if (isPlain(value)) texts[path] ??= String(value);
    else if (value !== null && typeof value === "object" && depth < MAX_DEPTH)
      add(value, `${path}.`, depth + 1, texts, room);
  }
}

function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

const MAX_DEPTH = 3;
const MAX_CLAIMS = 256;
