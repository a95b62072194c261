// The entry of scripts/conformance-structured-fields: reads the cases of the HTTP working group with edge's reader of structured fields.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Member, parseDictionary, parseItem, parseList } from "../../src/proto/semantics/structured-fields.ts";
import { itemText, memberText } from "../../src/proto/semantics/structured-text.ts";
import { checkoutOf, versionOf, writeSuitePage } from "./suite-page.ts";

/** A case of the suite. */
interface FieldCase {
  readonly name: string;
  readonly raw?: readonly string[];
  readonly header_type: "item" | "list" | "dictionary";
  readonly must_fail?: boolean;
  readonly can_fail?: boolean;
  readonly canonical?: readonly string[];
}

const folder = checkoutOf(
  "param-dict.json",
  "scripts/conformance-structured-fields CHECKOUT, a checkout of github.com/httpwg/structured-field-tests",
);
const rows: string[][] = [];
let passed = 0;
for (const file of readdirSync(folder).filter((name) => name.endsWith(".json")))
  for (const one of JSON.parse(readFileSync(join(folder, file), "utf8")) as FieldCase[]) {
    if (one.raw === undefined) continue;
    const text = one.raw.join(", ");
    const found = written(one.header_type, text);
    const wanted = one.must_fail === true ? null : (one.canonical ?? one.raw).join(", ");
    if (found === wanted || (found === null && one.can_fail === true)) passed++;
    else rows.push([file, one.name, `\`${wanted ?? "refused"}\``, `\`${found ?? "refused"}\``]);
  }
writeSuitePage({
  name: "structured-fields",
  title: "Structured fields",
  intro:
    "The cases of github.com/httpwg/structured-field-tests, which edge reads and writes in their canonical form: `scripts/conformance-structured-fields CHECKOUT`.",
  version: versionOf(folder),
  counts: [
    ["passed", passed],
    ["failed", rows.length],
  ],
  columns: ["file", "case", "wanted", "found"],
  rows,
});
process.exit(rows.length === 0 ? 0 : 1);

/** A field in its canonical form, of which there is one for each value; null where it is malformed. RFC 9651 §4.1 */
function written(kind: FieldCase["header_type"], text: string): string | null {
  if (kind === "item") {
    const item = parseItem(text);
    return item === null ? null : itemText(item);
  }
  if (kind === "list") return parseList(text)?.map(memberText).join(", ") ?? null;
  const members = parseDictionary(text);
  return members === null ? null : [...members].map(([key, member]) => entryText(key, member)).join(", ");
}

function entryText(key: string, member: Member): string {
  return "item" in member && member.item.value === true
    ? key + memberText(member).slice("?1".length)
    : `${key}=${memberText(member)}`;
}
