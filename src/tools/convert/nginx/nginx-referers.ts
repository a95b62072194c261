import { escapedRegex, expressionOf } from "../expression.ts";
import type { Keys } from "../keys.ts";

/**
 * What `valid_referers` says as a map of `Referer`: nothing for valid values, 1 for others; null if maps cannot say it. It is no
 * more generous: an empty field counts as none.
 * @param names those of the server
 */
export function referersMap(words: readonly string[], names: readonly string[]): Keys | null {
  const isBlocked = words.includes("blocked");
  const all = words
    .filter((word) => word !== "none" && word !== "blocked")
    .flatMap((word) => (word === "server_names" ? names : [word]));
  const expressions: { regex: string; value: string }[] = [];
  for (const word of all) {
    const regex = refererOf(word);
    if (regex === null) return null;
    expressions.push({ regex, value: "" });
  }
  // A proxy or a firewall took the scheme off.
  if (isBlocked) expressions.push({ regex: `(?i)${SCHEME}`, value: "1" }, { regex: ".", value: "" });
  return {
    of: "{header.Referer}",
    expressions: [{ regex: "^$", value: words.includes("none") ? "" : "1" }, ...expressions],
    default: "1",
  };
}

function refererOf(word: string): string | null {
  if (word.startsWith("~")) {
    const isExact = word.startsWith("~(?-i)");
    const pattern = expressionOf(word.slice(isExact ? 6 : 1), false);
    if (pattern === null) return null;
    const rest = pattern.startsWith("^") ? `(?:${pattern.slice(1)})` : `.*(?:${pattern})`;
    return `(?i)${SCHEME}${isExact ? `(?-i:${rest})` : rest}`;
  }
  const [, host = "", path = ""] = /^([^/]*)(\/.*)?$/.exec(word) ?? [];
  if (!/^(\*?\.)?[\w-]+(\.[\w-]+)*(\.\*)?\.?$/.test(host)) return null;
  const isBelow = host.startsWith("*.");
  const isOpen = host.endsWith(".*");
  const middle = host.replace(/^\*?\.|\.\*$/g, "");
  const before = isBelow ? "[^/:]+\\." : host.startsWith(".") ? "([^/:]+\\.)?" : "";
  const server = `${before}${escapedRegex(middle)}${isOpen ? "\\.[^/:]+" : ""}`;
  return `(?i)${SCHEME}${server}(:[^/]*)?${path === "" ? "(/|$)" : escapedRegex(path)}`;
}

const SCHEME = "^https?://";
