import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";

/**
 * Whether a client would rather have HTML than JSON, by its Accept fields with their weights: text/html must weigh more than
 * application/json. A client that says nothing or a bare star is a program. RFC 9110 §12.5.1; docs/pages.md#who-gets-a-page
 */
export function prefersHtml(headers: HeaderBlock): boolean {
  let html = UNLISTED;
  let json = UNLISTED;
  for (let i = headers.find(HeaderId.Accept); i >= 0; i = headers.find(HeaderId.Accept, i + 1)) {
    for (const element of headers.valueText(i).split(",")) {
      const range = readRange(element);
      if (range === null) continue;
      html = closer(html, range, "text", "html");
      json = closer(json, range, "application", "json");
    }
  }
  return html.weight > json.weight;
}

/** What the closest range so far says of a media type. */
interface Standing {
  /** 3 for the type itself, 2 for its kind, 1 for any, 0 for none. */
  readonly closeness: number;
  /** From 0 to 1. */
  readonly weight: number;
}

const UNLISTED: Standing = { closeness: 0, weight: 0 };

interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  readonly weight: number;
}

/** The more specific range decides, whatever its weight. */
function closer(best: Standing, range: MediaRange, type: string, subtype: string): Standing {
  const closeness = closenessOf(range, type, subtype);
  if (closeness === 0 || closeness < best.closeness) return best;
  if (closeness === best.closeness && range.weight <= best.weight) return best;
  return { closeness, weight: range.weight };
}

function closenessOf(range: MediaRange, type: string, subtype: string): number {
  if (range.type === "*") return range.subtype === "*" ? 1 : 0;
  if (range.type !== type) return 0;
  if (range.subtype === "*") return 2;
  return range.subtype === subtype ? 3 : 0;
}

/** One element; null if it is malformed, or asks for a variant of a type by a parameter. */
function readRange(element: string): MediaRange | null {
  const [name = "", ...parameters] = element.split(";").map((part) => part.trim().toLowerCase());
  const parts = MEDIA_RANGE.exec(name);
  if (parts === null) return null;
  let weight = 1;
  for (const parameter of parameters) {
    const q = WEIGHT.exec(parameter);
    if (q !== null) weight = Number(q[1]);
    else if (parameter !== "" && !UTF8.test(parameter)) return null;
  }
  return { type: parts[1]!, subtype: parts[2]!, weight };
}

const MEDIA_RANGE = /^([!#$%&'*+.^_`|~0-9a-z-]+)\/([!#$%&'*+.^_`|~0-9a-z-]+)$/;
const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
const UTF8 = /^charset="?utf-8"?$/;
