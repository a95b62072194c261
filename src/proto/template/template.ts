import { classOf } from "../../core/bytes.ts";
import type { Exchange } from "../../message/exchange.ts";
import { escapedByte } from "../target/percent-decoding.ts";
import { PLACEHOLDERS, type PlaceholderReader, type UrlForm } from "./placeholders.ts";

/** Placeholders of one template, and characters of a value that one is replaced with: the rest of it is left out. */
const MAX_PLACEHOLDERS = 64;
const MAX_PLACEHOLDER_CHARS = 8192;

/**
 * For what a template is rendered, which decides what of a value may stand in it. Literal parts stay as they are.
 * - `text`: a body in UTF-8. Control characters are dropped.
 * - `header`: a field's value, one character a byte. What may not stand in one is dropped (RFC 9110 §5.5).
 * - `cookie`: the value of Cookie or Set-Cookie. What may not stand in a cookie's own value is dropped (RFC 6265 §4.1.1).
 * - `url`: a URL. What may not stand in that part of it is percent-encoded, control bytes too.
 * - `html`: a page in UTF-8. Control characters are dropped, markup is escaped.
 * - `htmlUrl`: a URL in an attribute of a page: as `url`, then as `html`.
 * - `json`: within a string of a JSON text or a script in UTF-8. Control characters are dropped, what would end it is escaped.
 */
export type TemplateMode = "text" | "header" | "cookie" | "url" | "html" | "htmlUrl" | "json";

/** A placeholder in a template. */
export interface PlaceholderUse {
  /** As written, without braces. */
  readonly name: string;
  /** Null for a name of the template's own (`locals`). */
  readonly read: PlaceholderReader | null;
  readonly form: UrlForm;
  /** Whether it is after a `?` or `#` of the template, where other characters have a meaning than in a path. */
  readonly isInQuery: boolean;
}

/** Values of a template's own names, by name. */
type LocalValues = Readonly<Record<string, string>>;

/** Why a text is no template. */
interface TemplateFault {
  readonly fault: string;
  /** The unknown name, for a guess at the intended one; "" for another fault. */
  readonly unknown: string;
}

/** A text with placeholders, taken apart once. docs/placeholders.md */
export class Template {
  /** One more than placeholders: the text before each, and after the last. */
  readonly literals: readonly string[];
  readonly uses: readonly PlaceholderUse[];

  constructor(literals: readonly string[], uses: readonly PlaceholderUse[]) {
    this.literals = literals;
    this.uses = uses;
  }

  /** Whether there is no placeholder in it: then `literals[0]` is the whole text. */
  get isLiteral(): boolean {
    return this.uses.length === 0;
  }

  /**
   * The text with the values of an exchange in the place of the placeholders.
   * @param mode of all of them, or one for each
   */
  render(ex: Exchange, mode: TemplateMode | readonly TemplateMode[], locals: LocalValues = NO_LOCALS): string {
    let out = this.literals[0]!;
    for (let i = 0; i < this.uses.length; i++) {
      const use = this.uses[i]!;
      const value = use.read === null ? (locals[use.name] ?? "") : use.read(ex);
      const own = typeof mode === "string" ? mode : mode[i]!;
      if (value !== "") out += RENDERERS[own](value.slice(0, MAX_PLACEHOLDER_CHARS), use);
      out += this.literals[i + 1]!;
    }
    return out;
  }
}

/**
 * Takes a text apart. `{name}` is a placeholder, `{{` and `}}` are braces; a brace that no name follows is itself, so that
 * JSON can be written as it is. docs/placeholders.md#braces
 * @param locals further names, whose values are given to `render`
 */
export function parseTemplate(text: string, locals: readonly string[] = []): Template | TemplateFault {
  const literals: string[] = [];
  const uses: PlaceholderUse[] = [];
  let literal = "";
  // Braces that are open as themselves: `}}` closes two of them rather than being an escape.
  let open = 0;
  let isInQuery = false;
  for (let at = 0; at < text.length; ) {
    const char = text[at]!;
    const isDouble = text[at + 1] === char;
    if (char === "{" && !isDouble) {
      const name = nameAt(text, at);
      if (typeof name !== "string") return name;
      if (name !== "") {
        const use = useOf(name, locals, isInQuery || /[?#]/.test(literal));
        if (use === null) return { fault: `unknown placeholder {${name}}`, unknown: name };
        if (uses.length === MAX_PLACEHOLDERS) {
          return { fault: `expected at most ${MAX_PLACEHOLDERS} placeholders`, unknown: "" };
        }
        isInQuery = use.isInQuery || use.form === "uri";
        literals.push(literal);
        uses.push(use);
        literal = "";
        at += name.length + 2;
        continue;
      }
      open++;
    } else if (char === "}" && open > 0) open--;
    else if ((char === "{" || char === "}") && isDouble) at++;
    literal += char;
    at++;
  }
  return new Template([...literals, literal], uses);
}

/** The template of a text that has been checked before. */
export function templateOf(text: string, locals: readonly string[] = []): Template {
  const template = parseTemplate(text, locals);
  if (!(template instanceof Template)) throw new Error(template.fault);
  return template;
}

/** A literal text as a template says it. */
export function escapedTemplate(text: string): string {
  return text.replace(/[{}]/g, "$&$&");
}

/** The name that the brace at `at` begins; "" if it is a brace and nothing else. */
function nameAt(text: string, at: number): string | TemplateFault {
  NAME.lastIndex = at + 1;
  const name = NAME.exec(text)?.[0] ?? "";
  const end = text[at + 1 + name.length];
  if (name === "" || end === "}") return name;
  // JSON, styles and scripts go on after a word; what is cut off, or a name that is known, was meant as a placeholder.
  const isMeant = end === undefined || findPlaceholder(name) !== null;
  return isMeant ? { fault: `expected "}" after {${name}, or {{ for a brace`, unknown: "" } : "";
}

function useOf(name: string, locals: readonly string[], isInQuery: boolean): PlaceholderUse | null {
  if (locals.includes(name)) return { name, read: null, form: "word", isInQuery };
  const found = findPlaceholder(name);
  return found === null ? null : { name, ...found, isInQuery };
}

function findPlaceholder(name: string): Pick<PlaceholderUse, "read" | "form"> | null {
  for (const row of PLACEHOLDERS) {
    const { form } = row;
    if (row.argument === undefined) {
      if (row.name === name) return { read: row.reader(""), form };
      continue;
    }
    const family = row.name.slice(0, row.name.lastIndexOf(".") + 1);
    const argument = name.slice(family.length);
    if (name.startsWith(family) && row.argument.test(argument)) return { read: row.reader(argument), form };
  }
  return null;
}

const RENDERERS: Readonly<Record<TemplateMode, (value: string, use: PlaceholderUse) => string>> = {
  text: (value, use) => readable(value, use),
  header: (value) => value.replace(NOT_IN_FIELD, ""),
  cookie: (value) => value.replace(NOT_IN_COOKIE, ""),
  url: urlPart,
  html: (value, use) => readable(value, use).replace(/[&<>"']/g, (char) => ENTITIES[char]!),
  htmlUrl: (value, use) => urlPart(value, use).replace(/[&']/g, (char) => ENTITIES[char]!),
  // Within HTML, a script ends at a tag.
  json: (value, use) =>
    readable(value, use).replace(/["'\\<>&\u2028\u2029`$]/g, (char) => {
      return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
    }),
};

/** Bytes of a request as the text that they are in UTF-8, without control characters. */
function readable(value: string, { read }: PlaceholderUse): string {
  const text = read === null || !/[\x80-\xff]/.test(value) ? value : Buffer.from(value, "latin1").toString("utf8");
  return text.replace(/\p{Cc}/gu, "");
}

function urlPart(value: string, { form, isInQuery }: PlaceholderUse): string {
  if (form === "host") return encoded(value, IN_HOST, false);
  // What stands for the whole query there, or for a whole URI in the place of a path, keeps its own escapes.
  if (form === "query" && isInQuery) return encoded(value, IN_QUERY, true);
  if (isInQuery) return encoded(value, form === "word" ? UNRESERVED : IN_PARAMETER, false);
  if (form === "path") return encoded(value, IN_PATH, true);
  if (form === "uri") {
    const end = value.indexOf("?");
    if (end < 0) return encoded(value, IN_PATH, true);
    return encoded(value.slice(0, end), IN_PATH, true) + encoded(value.slice(end), IN_QUERY, true);
  }
  return encoded(value, UNRESERVED, false);
}

/** @param keepsEscapes whether an escape in the value stays one, or is a text whose `%` is encoded too */
function encoded(value: string, allowed: Uint8Array, keepsEscapes: boolean): string {
  let out = "";
  for (let i = 0; i < value.length; i++) {
    const byte = value.charCodeAt(i) & 0xff;
    const stays = allowed[byte] === 1 || (keepsEscapes && escapedByte(value, i) >= 0);
    out += stays ? value[i] : `%${HEX[byte >> 4]}${HEX[byte & 15]}`;
  }
  return out;
}

const NAME = /[A-Za-z_][\w!#$%&'*+.^`|~-]*/y;
const NO_LOCALS: LocalValues = {};
const HEX = "0123456789ABCDEF";
const NOT_IN_FIELD = /[^\t\x20-\x7e\x80-\xff]/g;
/** With a semicolon a value would add an attribute, or another cookie. */
const NOT_IN_COOKIE = /[^\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]/g;
const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const UNRESERVED = classOf("a-zA-Z0-9-._~");
const IN_PARAMETER = classOf("a-zA-Z0-9-._~/");
/** A name or an address: what requests may have there beside it, such as sub-delimiters, is no host of a route. */
const IN_HOST = classOf("a-zA-Z0-9-._~:[]");
/** RFC 3986 §3.3 */
const IN_PATH = classOf("a-zA-Z0-9-._~!$&'()*+,;=:@/");
/** RFC 3986 §3.4, and brackets, which applications use and parsers leave alone. */
const IN_QUERY = classOf("a-zA-Z0-9-._~!$&'()*+,;=:@/?[]");
