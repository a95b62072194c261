import type { PlaceholderUse, TemplateMode } from "./template.ts";

/** How the value of a placeholder is written at its place, or why it may not stand there. */
export type PlaceRule = { readonly mode: TemplateMode; readonly isInQuery?: boolean } | { readonly fault: string };

/**
 * Reads the literal parts of a template one after the other, and says of the place behind each how a value is written there. A request writes
 * the value: it must not be able to add markup, code, members or another server. docs/placeholders.md#what-a-value-may-hold
 */
export interface TextContexts {
  take(literal: string): void;
  place(use: PlaceholderUse): PlaceRule;
}

/** The contexts of a body with this Content-Type. */
export function contextsOf(contentType: string): TextContexts {
  if (/^[^;]*(html|xml|svg)/i.test(contentType)) return new MarkupContexts();
  if (/^[^;]*json/i.test(contentType)) return new ScriptContexts('"');
  if (/^[^;]*(javascript|ecmascript)/i.test(contentType)) return new ScriptContexts("\"'`");
  if (/^[^;]*css/i.test(contentType)) return STYLE;
  return PLAIN;
}

const PLAIN: TextContexts = { take: () => {}, place: () => ({ mode: "text" }) };
const STYLE: TextContexts = {
  take: () => {},
  place: () => ({ fault: "in a style sheet, where a value may load and hide anything" }),
};

/**
 * A script, or JSON: a value may stand between quotes alone. After a slash that may begin a regular expression it is not known what a quote
 * means, and within `${…}` of a text in backticks there is code again.
 */
class ScriptContexts implements TextContexts {
  private readonly quotes: string;
  /** The quote of the text that is open; "" in code. */
  private quote = "";
  private isUnknown = false;
  private isEscaped = false;
  /** What ends the comment that is open. */
  private comment = "";
  private last = "";

  constructor(quotes: string) {
    this.quotes = quotes;
  }

  take(literal: string): void {
    for (const char of literal) this.last = this.step(char);
  }

  place(): PlaceRule {
    const isText = this.quote !== "" && !this.isUnknown && !this.isEscaped;
    this.last = "x";
    this.isEscaped = false;
    return isText
      ? { mode: "json" }
      : { fault: "outside of a text in quotes: put quotes around it, or send it in a text" };
  }

  /** @returns what the next character stands behind; "" behind a comment */
  private step(char: string): string {
    if (this.comment !== "") {
      const isEnd = this.comment === "\n" ? LINE_ENDS.includes(char) : `${this.last}${char}` === this.comment;
      if (isEnd) this.comment = "";
      return isEnd ? "" : char;
    }
    if (this.quote === "") {
      this.stepInCode(char);
      // The star of a comment's beginning is no part of its end.
      return this.comment === "" ? char : "";
    }
    if (this.isEscaped) this.isEscaped = false;
    else if (char === "\\") this.isEscaped = true;
    else if (char === this.quote || (this.quote !== "`" && LINE_ENDS.includes(char))) this.quote = "";
    else if (this.quote === "`" && `${this.last}${char}` === "${") this.isUnknown = true;
    return char;
  }

  private stepInCode(char: string): void {
    if (this.last === "/") {
      if (char === "/") this.comment = "\n";
      else if (char === "*") this.comment = "*/";
      else this.isUnknown = true;
    } else if (this.quotes.includes(char)) this.quote = char;
  }
}

enum In {
  Text,
  TagOpen,
  TagName,
  Tag,
  AttributeName,
  BeforeValue,
  Value,
  BareValue,
  Comment,
  Declaration,
}

/** A page in HTML, or a document in XML. */
class MarkupContexts implements TextContexts {
  private state = In.Text;
  private tag = "";
  private isEndTag = false;
  /** The attributes of the tag that have been named, in lower case, each with a space before and after. */
  private named = " ";
  private attribute = "";
  private quote = "";
  /** Of the attribute, a character for each placeholder. */
  private value = "";
  /** The element whose content is no markup, within it. */
  private raw = "";
  /** Why it is not known what follows; "" as a rule. */
  private lost = "";
  private script = new ScriptContexts("\"'`");
  /** The last characters, as far as ends of comments and elements need them. */
  private tail = "";

  take(literal: string): void {
    for (const char of literal) {
      this.tail = (this.tail + char.toLowerCase()).slice(-TAIL_CHARS);
      if (this.raw === "") this.step(char);
      else this.stepInRaw(char);
      if (this.tail.endsWith("<![cdata[")) this.lost = "behind <![CDATA[, which pages and documents read differently";
    }
  }

  place(use: PlaceholderUse): PlaceRule {
    this.tail = "";
    if (this.lost !== "") return { fault: this.lost };
    if (this.raw === "noscript") return { fault: "in noscript, which browsers read in two ways" };
    if (this.raw === "script") return inScript(this.script.place());
    if (this.raw === "style") return { fault: "in a style, where a value may load and hide anything" };
    switch (this.state) {
      case In.Text:
      case In.Comment:
        return { mode: "html" };
      case In.Value:
        return this.placeInValue(use);
      case In.TagOpen:
        return { fault: "right behind <, where a value makes a tag: write &lt;" };
      default:
        return { fault: "in a tag: put it in an attribute's value, with quotes around that" };
    }
  }

  private placeInValue(use: PlaceholderUse): PlaceRule {
    const { attribute, tag, value } = this;
    if (attribute.startsWith("on")) return inScript(scriptOf(value).place());
    if (CODE_ATTRIBUTES.has(attribute) || (tag.startsWith("animate") && ANIMATED.has(attribute)) || tag === "set") {
      return { fault: `in the attribute ${attribute}, where a value may run code or change the page` };
    }
    if (tag === "meta" && attribute === "content" && !/ (name|property) /.test(this.named)) {
      return { fault: "in the content of a meta without a name before it, which may lead elsewhere" };
    }
    const isUrl = URL_ATTRIBUTES.has(attribute) || attribute.endsWith(":href");
    this.value += use.form === "host" ? "h" : use.name === "scheme" ? "http" : PLACEHOLDER;
    if (!isUrl) return { mode: "html" };
    if (!isSafeInUrl(value, use)) {
      return {
        fault: `in the attribute ${attribute}, where it would choose scheme or server: begin the URL with / or https://HOST/`,
      };
    }
    return { mode: "htmlUrl", isInQuery: /[?#]/.test(value) };
  }

  private step(char: string): void {
    switch (this.state) {
      case In.Text:
        if (char === "<") this.state = In.TagOpen;
        return;
      case In.TagOpen:
        return this.openTag(char);
      case In.TagName:
        if (isEndOfName(char)) {
          this.state = In.Tag;
          this.step(char);
        } else this.tag += char.toLowerCase();
        return;
      case In.Tag:
        if (char === ">") this.closeTag();
        else if (!isBlank(char) && char !== "/") this.beginAttribute(char);
        return;
      case In.AttributeName:
        return this.stepInName(char);
      case In.BeforeValue:
        return this.beginValue(char);
      case In.Value:
        if (char === this.quote) this.state = In.Tag;
        else this.value += char;
        return;
      case In.BareValue:
        if (char === ">") this.closeTag();
        else if (isBlank(char)) this.state = In.Tag;
        return;
      case In.Comment:
        if (this.tail.endsWith("-->") || this.tail.endsWith("--!>")) this.state = In.Text;
        return;
      default:
        if (char === ">") this.state = In.Text;
        else if (this.tail.endsWith("<!--")) this.state = In.Comment;
    }
  }

  private openTag(char: string): void {
    this.isEndTag = char === "/";
    this.tag = "";
    this.named = " ";
    if (char === "!" || char === "?") this.state = In.Declaration;
    else if (char === "/") this.state = In.TagName;
    else if (/[a-z]/i.test(char)) {
      this.tag = char.toLowerCase();
      this.state = In.TagName;
    } else if (char !== "<") this.state = In.Text;
  }

  private closeTag(): void {
    this.state = In.Text;
    this.raw = !this.isEndTag && RAW_ELEMENTS.has(this.tag) ? this.tag : "";
    this.script = new ScriptContexts("\"'`");
    this.tail = "";
  }

  private beginAttribute(char: string): void {
    this.attribute = char.toLowerCase();
    this.value = "";
    this.state = In.AttributeName;
  }

  private stepInName(char: string): void {
    if (char === "=") this.state = In.BeforeValue;
    else if (char === ">") this.closeTag();
    else if (char === "/") this.state = In.Tag;
    else if (!isBlank(char)) {
      // A name without a value, and the next one.
      if (isBlank(this.tail.at(-2) ?? "")) this.beginAttribute(char);
      else this.attribute += char.toLowerCase();
    }
    if (this.state !== In.AttributeName) this.named += `${this.attribute} `;
  }

  private beginValue(char: string): void {
    if (char === ">") this.closeTag();
    else if (char === '"' || char === "'") {
      this.quote = char;
      this.value = "";
      this.state = In.Value;
    } else if (!isBlank(char)) this.state = In.BareValue;
  }

  private stepInRaw(char: string): void {
    if (this.raw === "script") this.script.take(char);
    if (this.raw === "script" && this.tail.endsWith("<!--"))
      this.lost = "behind <!-- in a script, whose end is not known";
    if (!this.tail.endsWith(`</${this.raw}`)) return;
    this.raw = "";
    this.isEndTag = true;
    this.tag = "";
    this.named = " ";
    this.state = In.Tag;
  }
}

function inScript(rule: PlaceRule): PlaceRule {
  return "fault" in rule ? { fault: `in a script, ${rule.fault}` } : rule;
}

function scriptOf(text: string): ScriptContexts {
  const script = new ScriptContexts("\"'`");
  script.take(text);
  return script;
}

/** Whether a value cannot change the scheme or the server of a URL that begins so. */
function isSafeInUrl(before: string, { form, name }: PlaceholderUse): boolean {
  const isPath = form === "path" || form === "uri";
  if (before === "") return name === "scheme" || name === "path" || name === "uri" || name === "rest";
  if (WITH_HOST.test(before)) return true;
  if (/^https?:\/\/$/i.test(before)) return form === "host";
  if (/^https?:\/\/[a-z0-9.:[\]-]+$/i.test(before)) return isPath;
  if (/^\/[^/\\]|^[?#]|^\.{1,2}\/./.test(before)) return true;
  return before === "/" && form === "word";
}

function isBlank(char: string): boolean {
  return char === " " || char === "\n" || char === "\t" || char === "\r" || char === "\f";
}

function isEndOfName(char: string): boolean {
  return isBlank(char) || char === "/" || char === ">";
}

/** As long as the longest end tag of RAW_ELEMENTS. */
const TAIL_CHARS = 11;
const RAW_ELEMENTS: ReadonlySet<string> = new Set(
  "script style title textarea xmp iframe noembed noframes noscript plaintext".split(" "),
);
const PLACEHOLDER = "\ue000";
const LINE_ENDS = "\n\r\u2028\u2029";
const WITH_HOST = /^https?:\/\/[^/?#\\\s]+[/?#]/i;
const CODE_ATTRIBUTES: ReadonlySet<string> = new Set(["style", "srcdoc", "srcset", "imagesrcset", "is", "ping"]);
const ANIMATED: ReadonlySet<string> = new Set(["from", "to", "by", "values"]);
const URL_ATTRIBUTES: ReadonlySet<string> = new Set(
  "href src action formaction poster data cite background manifest longdesc usemap profile codebase archive classid icon lowsrc dynsrc xmlns base".split(
    " ",
  ),
);
