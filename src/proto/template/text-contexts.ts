import type { PlaceholderUse, TemplateMode } from "./template.ts";

/** How the value of a placeholder is written at its place, or why it may not stand there. */
type PlaceRule = { readonly mode: TemplateMode; readonly isInQuery?: boolean } | { readonly fault: string };

/**
 * Reads the literal parts of a template one after the other, and says of the place behind each how a value is written there. A request writes
 * the value: it must not be able to add markup, code, members or another server. docs/placeholders.md#what-a-value-may-hold
 */
interface TextContexts {
  take(literal: string): void;
  place(use: PlaceholderUse): PlaceRule;
  /** Why a place before turned out to be none, by what stands behind it; "" as a rule. */
  readonly fault: string;
}

/** The contexts of a body with this Content-Type. */
export function contextsOf(contentType: string): TextContexts {
  // The whole line: of several types behind commas, browsers take the last.
  if (/html|xml|svg|xsl/i.test(contentType)) return new MarkupContexts(!/^text\/html\b/i.test(contentType));
  if (/^[^;]*json/i.test(contentType)) return new ScriptContexts('"');
  if (/script/i.test(contentType)) return new ScriptContexts("\"'`");
  if (/css/i.test(contentType)) return STYLE;
  return PLAIN;
}

const PLAIN: TextContexts = { take: () => {}, place: () => ({ mode: "text" }), fault: "" };
const STYLE: TextContexts = {
  take: () => {},
  place: () => ({ fault: "in a style sheet, in which a value may load and hide anything" }),
  fault: "",
};

/**
 * A script, or JSON: a value may stand between quotes alone. After a slash that may begin a regular expression it is not known what a quote
 * means, and within `${…}` of a text in backticks there is code again.
 */
class ScriptContexts implements TextContexts {
  readonly fault = "";
  private readonly quotes: string;
  /** The quote of the text that is open; "" in code. */
  private quote = "";
  private isUnknown = false;
  private isEscaped = false;
  /** What ends the comment that is open. */
  private comment = "";
  private last = "";
  /** The last characters of the literal that is read. */
  private tail = "";

  constructor(quotes: string) {
    this.quotes = quotes;
  }

  take(literal: string): void {
    for (const char of literal) {
      this.tail = (this.tail + char).slice(-4);
      this.last = this.step(char);
    }
  }

  place(): PlaceRule {
    // A value may be empty: a $ before it and a { behind it are code again.
    const isCodeNext = this.quote === "`" && this.last === "$";
    const isText = this.quote !== "" && !this.isUnknown && !this.isEscaped && !isCodeNext;
    this.last = "x";
    this.tail = "";
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
    else if (char === this.quote) this.quote = "";
    // A text that is not closed in its line, or goes on: readers differ.
    else if (this.quote !== "`" && LINE_ENDS.includes(char)) this.isUnknown = true;
    else if (this.quote === "`" && `${this.last}${char}` === "${") this.isUnknown = true;
    return char;
  }

  private stepInCode(char: string): void {
    // A comment to the end of the line, at some places.
    if (/<!--$|-->$|#!$/.test(this.tail)) this.isUnknown = true;
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
  fault = "";
  /** Whether it is XML, where only markup itself says what is markup. */
  private readonly isXml: boolean;
  /** The open elements from a svg or math on, within which a page is read as XML is, nearly. */
  private readonly foreign: string[] = [];
  /** Of a declaration, an instruction or what is read as a comment, from behind < on. */
  private declaration = "";
  /** Whether a value stands in the content of the meta that is open. */
  private hasMetaValue = false;
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

  constructor(isXml: boolean) {
    this.isXml = isXml;
  }

  take(literal: string): void {
    for (const char of literal) {
      this.tail = (this.tail + char.toLowerCase()).slice(-TAIL_CHARS);
      if (this.raw === "") this.step(char);
      else this.stepInRaw(char);
      if (this.tail.endsWith("<![cdata[")) this.lost = "behind <![CDATA[, which pages and documents read differently";
    }
  }

  place(use: PlaceholderUse): PlaceRule {
    const { tail } = this;
    this.tail = "";
    if (this.lost !== "") return { fault: this.lost };
    if (this.raw !== "" && /<[!/a-z-]*$/.test(tail)) return { fault: "right behind <, so that a value makes a tag" };
    if (this.raw === "noscript") return { fault: "in noscript, which browsers read in two ways" };
    if (this.raw === "script") return inScript(this.script.place());
    if (this.raw === "style") return { fault: "in a style, in which a value may load and hide anything" };
    switch (this.state) {
      case In.Text:
      case In.Comment:
        return { mode: "html" };
      case In.Value:
        return this.placeInValue(use);
      case In.TagOpen:
        return { fault: "right behind <, so that a value makes a tag: write &lt;" };
      default:
        return { fault: "in a tag: put it in an attribute's value, with quotes around that" };
    }
  }

  private placeInValue(use: PlaceholderUse): PlaceRule {
    const { attribute, value } = this;
    const tag = this.elementName();
    if (attribute.startsWith("on")) return placeInHandler(value);
    if (CODE_ATTRIBUTES.has(attribute) || (tag.startsWith("animate") && ANIMATED.has(attribute)) || tag === "set") {
      return { fault: `in the attribute ${attribute}, in which a value may run code or change the page` };
    }
    if (tag === "meta" && attribute === "content") {
      if (!/ (name|property) /.test(this.named) || / http-equiv /.test(this.named)) return { fault: META_FAULT };
      this.hasMetaValue = true;
    }
    const isUrl = URL_ATTRIBUTES.has(attribute) || /:(href|base)$/.test(attribute);
    this.value += use.form === "host" ? "h" : use.name === "scheme" ? "http" : PLACEHOLDER;
    if (!isUrl) return { mode: "html" };
    if (!isSafeInUrl(value, use)) {
      return {
        fault: `in the attribute ${attribute}, in which it would choose scheme or server: begin the URL with / or https://HOST/`,
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
        else if (/^[-!]*>$/.test(this.tail)) this.lost = "behind a comment that a value may end: put a space before >";
        return;
      default:
        this.stepInDeclaration(char);
    }
  }

  private stepInDeclaration(char: string): void {
    this.declaration += char;
    const { declaration } = this;
    if (declaration === "!--") this.state = In.Comment;
    else if (this.isXml && char === "[") this.lost = "behind a declaration with declarations in it";
    else if (char === ">") {
      this.state = In.Text;
      const isCut = declaration.startsWith("?")
        ? !declaration.endsWith("?>")
        : declaration.split('"').length % 2 === 0 || declaration.split("'").length % 2 === 0;
      if (this.isXml && isCut) this.lost = "behind a declaration whose end is not known";
    }
  }

  private openTag(char: string): void {
    this.isEndTag ||= char === "/";
    this.tag = "";
    this.named = " ";
    this.hasMetaValue = false;
    if (/[a-z]/i.test(char)) {
      this.tag = char.toLowerCase();
      this.state = In.TagName;
    } else if (this.isEndTag && this.tail.endsWith("</")) {
      // The name follows.
    } else if (this.isEndTag || char === "!" || char === "?") {
      this.declaration = char;
      this.state = char === ">" ? In.Text : In.Declaration;
      this.isEndTag = false;
    } else if (char !== "<") this.state = In.Text;
  }

  private closeTag(): void {
    this.state = In.Text;
    const isClosed = this.tail.endsWith("/>");
    const tag = this.elementName();
    this.nest(isClosed);
    this.raw = !this.isEndTag && RAW_ELEMENTS.has(tag) && !(this.isXml && isClosed) ? tag : "";
    if (this.raw !== "" && isClosed) this.lost = `behind <${tag}/>, which only some readers take for its end`;
    this.isEndTag = false;
    this.script = new ScriptContexts("\"'`");
    this.tail = "";
  }

  /** In XML, without the prefix of its namespace. */
  private elementName(): string {
    return this.isXml ? this.tag.slice(this.tag.lastIndexOf(":") + 1) : this.tag;
  }

  /** Keeps `foreign`: elements that are not closed one by one leave it standing, as it is not known then what a browser closes. */
  private nest(isClosed: boolean): void {
    const { foreign, tag } = this;
    if (this.isEndTag) {
      if (foreign.at(-1) === tag) foreign.pop();
    } else if (!isClosed && (foreign.length > 0 || tag === "svg" || tag === "math")) foreign.push(tag);
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
    if (this.state === In.AttributeName) return;
    this.named += `${this.attribute} `;
    if (this.hasMetaValue && this.attribute === "http-equiv") this.fault = META_FAULT;
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
    const end = `</${this.raw}`;
    if (!isEndOfName(char) || !this.tail.endsWith(end + char)) return this.judgeRaw(end);
    this.tag = this.raw;
    this.raw = "";
    this.isEndTag = true;
    this.named = " ";
    this.state = In.Tag;
    this.step(char);
  }

  /** What is no markup within an element of a page is markup in XML, in a svg and in some other elements. */
  private judgeRaw(end: string): void {
    const isMarkup = this.isXml || this.foreign.length > 0;
    if ((this.raw === "script" || this.raw === "noscript") && !isMarkup) return;
    const from = this.tail.lastIndexOf("<");
    const isOther = from >= 0 && !end.startsWith(this.tail.slice(from));
    if (isOther || (this.raw === "script" && this.tail.endsWith("&")))
      this.lost = `behind markup in ${this.raw}, which browsers read in two ways`;
  }
}

/** Browsers undo references to characters in the script of an attribute: a quote may stand as one. */
function placeInHandler(value: string): PlaceRule {
  if (/&(?!amp;)/.test(value)) return { fault: "in a script, behind a & that is not written &amp;" };
  const script = new ScriptContexts("\"'`");
  script.take(value);
  return inScript(script.place());
}

function inScript(rule: PlaceRule): PlaceRule {
  return "fault" in rule ? { fault: `in a script, ${rule.fault}` } : rule;
}

/** Whether a value cannot change the scheme or the server of a URL that begins so. */
function isSafeInUrl(before: string, { form, name }: PlaceholderUse): boolean {
  const isPath = name === "path" || name === "uri" || name === "rest";
  if (before === "") return name === "scheme" || isPath;
  if (WITH_HOST.test(before)) return true;
  if (/^https?:\/\/$/i.test(before)) return form === "host";
  if (/^https?:\/\/[a-z0-9.:[\]-]+$/i.test(before)) return isPath;
  if (BEHIND_ROOT.test(before)) return true;
  return /^\/\ue000*$/.test(before) && form === "word";
}

function isBlank(char: string): boolean {
  return char === " " || char === "\n" || char === "\t" || char === "\r" || char === "\f";
}

function isEndOfName(char: string): boolean {
  return isBlank(char) || char === "/" || char === ">";
}

/** As long as the longest end tag of RAW_ELEMENTS, and a character. */
const TAIL_CHARS = 12;
const META_FAULT = "in the content of a meta without a name before it, or with http-equiv, which may lead elsewhere";
/** A relative URL whose beginning names no server, though values may be empty, browsers drop line ends and tabs, and a reference may be a slash. */
const BEHIND_ROOT = /^\/\ue000*[^/\\&\s\ue000]|^[?#]|^\.{1,2}\/./;
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
