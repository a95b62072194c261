import { mediaTypes } from "../../config/media-types.ts";
import { list, type Spot } from "../../config/piece.ts";
import { block, type ConfigOf, isFaultyAt, orWritten, type Rows, type Values } from "../../config/row.ts";
import { flag, text } from "../../config/scalars.ts";
import { MAX_LITERAL_BYTES } from "../../proto/semantics/literal-search.ts";

/** Bytes of a text to find, and of a replacement, at most. */
const MAX_FIND_BYTES = 256;
const MAX_WITH_BYTES = 4096;

const rule = block({
  find: {
    type: text("a text"),
    required: "the text to replace, such as http://app.internal/",
    example: "http://app.internal/",
    doc: "the text as it stands in the body, up to 256 bytes",
  },
  with: {
    type: text("a text"),
    absent: "",
    example: "https://shop.example.com/",
    doc: "its replacement; empty by default",
  },
});

const rows = {
  rules: {
    type: list(rule, "rules"),
    example: [{ find: "http://app.internal/", with: "https://shop.example.com/" }],
    doc: "texts to replace: the match that begins first wins, then the longest",
  },
  types: {
    type: mediaTypes(),
    default: ["text/html"],
    doc: "media types whose bodies edge changes; * stands for any part",
  },
  ignore_case: { type: flag(), default: false, doc: "true: edge finds A to Z in either case" },
  once: { type: flag(), default: false, doc: "true: edge replaces each text once in a response" },
} as const satisfies Rows;

/** `rewrite_body`: a list of rules, or a section. docs/body-rewriting.md */
export const rewriteBody = orWritten(block(rows, { check }), { is: "list", item: rule.form, orOne: false }, (value) =>
  Array.isArray(value) ? { rules: value } : value,
);

function check({ rules, types, ignore_case: ignoresCase }: Values<typeof rows>, spot: Spot): void {
  const { log, path } = spot;
  if (isFaultyAt(spot, "rules")) return;
  if (rules.length === 0) log.fault([...path, "rules"], "needs a rule at least, such as { find: old, with: new }");
  if (types.length === 0) log.fault([...path, "types"], "needs a media type at least, such as text/html");
  const seen = new Map<string, number>();
  let bytes = 0;
  for (const [i, one] of rules.entries()) {
    const size = Buffer.byteLength(one.find);
    bytes += size;
    if (size === 0 || size > MAX_FIND_BYTES)
      log.fault([...path, "rules", i, "find"], `expected a text of 1 to ${MAX_FIND_BYTES} bytes, found ${size}`);
    if (Buffer.byteLength(one.with) > MAX_WITH_BYTES)
      log.fault([...path, "rules", i, "with"], `expected a text of at most ${MAX_WITH_BYTES} bytes`);
    const key = ignoresCase ? one.find.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : one.find;
    const before = seen.get(key);
    if (before === undefined) seen.set(key, i);
    else log.fault([...path, "rules", i, "find"], `is the text of rule ${before} as well: remove one`, true);
  }
  if (bytes > MAX_LITERAL_BYTES)
    log.fault([...path, "rules"], `expected texts of ${MAX_LITERAL_BYTES} bytes in all at most, found ${bytes}`);
}

/** The texts that a route replaces in the bodies of its responses. */
export type BodyRewriteConfig = ConfigOf<typeof rewriteBody>;
