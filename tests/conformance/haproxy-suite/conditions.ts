/** Features that the suite may ask for and edge has something for; tests of all others are left out by the suite. */
const FEATURES: ReadonlySet<string> = new Set(["OPENSSL", "THREAD", "ZLIB", "PCRE2", "FAST-FORWARD"]);

/** Whether a condition of `-cc` or `.if` holds: calls with `!`, `&&` and `||`. */
export function isHeld(condition: string): boolean {
  const text = condition.trim();
  for (const [sign, isHeldByOne] of [["||", true] as const, ["&&", false] as const]) {
    const parts = partsOf(text, sign);
    if (parts.length > 1) return isHeldByOne ? parts.some(isHeld) : parts.every(isHeld);
  }
  if (text.startsWith("!")) return !isHeld(text.slice(1));
  if (text.startsWith("(") && text.endsWith(")")) return isHeld(text.slice(1, -1));
  const [, name = "", argument = ""] = /^(\w+)\((.*)\)$/s.exec(text) ?? [];
  if (name === "feature" || name === "enabled") return FEATURES.has(argument);
  if (name === "ssllib_name_startswith") return argument === "OpenSSL";
  return name === "version_atleast" || name === "openssl_version_atleast";
}

/** The parts of a text between signs that are in no parentheses. */
function partsOf(text: string, sign: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "(") depth++;
    else if (text[at] === ")") depth--;
    else if (depth === 0 && text.startsWith(sign, at)) {
      parts.push(text.slice(from, at));
      from = at + sign.length;
      at = from - 1;
    }
  }
  return [...parts, text.slice(from)];
}
