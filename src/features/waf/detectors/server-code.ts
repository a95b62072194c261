import { Byte, EMPTY_BYTES, isDigit, isLowerLetter, latin1 } from "../../../core/bytes.ts";
import { hasTextAt, isQuote, isWordByte, wordEnd } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import {
  ANY_TEXT,
  CRITICAL_SCORE,
  type DetectionListener,
  type Detector,
  type DetectorGroup,
  ERROR_SCORE,
  each,
  type WafRule,
  words,
} from "../rule.ts";
import {
  findPackedObjects,
  isAssignment,
  isInterpolation,
  isPhpExpression,
  isPollution,
  isSelfInspection,
  isServerCall,
  isServerPage,
  isStaticReference,
  isTextExecuted,
  namesGadget,
  PACKED_RULES,
  SERIALIZED_OBJECT,
} from "./code-text.ts";
import { CODE_NAMES, CODE_WORDS, CodeWord, GADGET_CLASSES } from "./code-words.ts";

const PHP_CODE: WafRule = {
  id: "RCE-005",
  crs: [933160, 933120, 933150, 933151],
  category: "rce",
  score: CRITICAL_SCORE,
  description: "PHP code execution, or a PHP setting that enables it",
  keywords: [
    ...["<? ", ";$", "php:function"],
    ...words("{php} call_user_func( array_map(' |filter('s |map('s |sort('s $_ ${@ {${"),
    ...words(CODE_NAMES[CodeWord.PhpSetting]),
    ...each(CODE_NAMES[CodeWord.Php], called),
  ],
};
const PHP_TAG: WafRule = {
  id: "RCE-006",
  crs: [933100],
  category: "rce",
  score: ERROR_SCORE,
  description: "PHP open tag",
  keywords: ["<?p", "<?="],
};
const JAVA_CODE: WafRule = {
  id: "RCE-007",
  crs: [944130, 944100, 944110, 944250],
  category: "rce",
  score: CRITICAL_SCORE,
  description: "Java expression injection or deserialization gadget",
  keywords: [
    ...words("${# %{# ${(# %{(# ${script: ${dns: ${url: @java. t(java .classloader"),
    ...words(`${CODE_NAMES[CodeWord.Java]} ${CODE_NAMES[CodeWord.Ognl]} ${GADGET_CLASSES}`),
  ],
};
const SCRIPT_CODE: WafRule = {
  id: "RCE-008",
  crs: [934100, 934101, 934180],
  category: "rce",
  score: CRITICAL_SCORE,
  description: "Python, Ruby or Node.js code execution, or server-side template injection",
  keywords: [
    ...[
      "<!--#",
      "<%eval",
      "<% eval",
      "<%=",
      "<esi:",
      "<%execute",
      "<% execute",
      "'.execute()",
      ".child_process",
      ".mainmodule",
    ],
    ...each("config self request settings dump", (name) => [`^{{${name}`, `^{{ ${name}`]),
    // An expression that multiplies.
    ...each("{{ ${ #{ %{ *{ @{ <% <%=", (open) =>
      ["0", " 0", "'", " '", "(", " (", "=0", "= 0"].map((inside) => `${open}${inside}`),
    ),
    ...each(`${CODE_NAMES[CodeWord.Import]} ${CODE_NAMES[CodeWord.Require]} ${CODE_NAMES[CodeWord.System]}`, called),
    ...words(`${CODE_NAMES[CodeWord.Template]} ${CODE_NAMES[CodeWord.Dunder]}`),
  ],
};
const PROTOTYPE_POLLUTION: WafRule = {
  id: "RCE-011",
  crs: [934130],
  category: "rce",
  score: CRITICAL_SCORE,
  description: "prototype pollution",
  keywords: words("^prototype __proto__ [prototype .prototype"),
};

/** Programs for servers, and objects that unpack into them. */
export const CODE_GROUP: DetectorGroup = {
  rules: [PHP_CODE, PHP_TAG, JAVA_CODE, SCRIPT_CODE, ...PACKED_RULES, PROTOTYPE_POLLUTION],
  locations: ANY_TEXT,
  keywords: () => [],
  detectors: () => [new ServerCode()],
};

/** Keywords of the call of a function. */
function called(name: string): string[] {
  return [`${name}(`, `${name} (`];
}

/** Finds programs for a server: PHP, Java expressions, Python, Ruby, Node, templates. One pass over the words. */
class ServerCode implements Detector {
  private bytes: Uint8Array = EMPTY_BYTES;
  private length = 0;
  private value: ValueReading | null = null;
  private listener: DetectionListener | null = null;
  /** Whether an expression of a template language has begun: ${ #{ %{ *{ {{ {% <% T( */
  private isExpression = false;
  private isPhp = false;
  /** Offset after the last attribute of the kind __class__; 0 if there is none. */
  private dunderTo = 0;

  /** Looks at every word and every bracket that begins an expression. */
  analyse(value: ValueReading, listener: DetectionListener): void {
    const { bytes, length } = value;
    this.bytes = bytes;
    this.length = length;
    this.value = value;
    this.listener = listener;
    this.isExpression = false;
    this.isPhp = false;
    this.dunderTo = 0;
    findPackedObjects(value, listener);
    for (let at = 0; at < length; ) {
      if (isWordByte(bytes[at]!)) {
        const from = at;
        at = wordEnd(bytes, at);
        const word = CODE_WORDS.valueOf(bytes, from, at);
        if (word === 0) continue;
        this.judgeWord(word, from, at);
        if (!value.steps.take(STEPS)) return;
        continue;
      }
      this.judgeMark(at);
      at++;
    }
  }

  private judgeMark(at: number): void {
    const { bytes } = this;
    const next = bytes[at + 1]!;
    switch (bytes[at]) {
      case Byte.Less:
        if (next === Byte.Question && (bytes[at + 2] === LOWER_P || bytes[at + 2] === Byte.Equals)) {
          this.isPhp = true;
          this.report(PHP_TAG, at);
          if (this.value!.isQueryLine() && isServerCall(bytes, wordEnd(bytes, at + 2))) this.report(PHP_CODE, at);
        } else if (next === Byte.Question && bytes[at + 2] === Byte.Space) {
          this.isPhp = true;
          if (this.value!.isQueryLine() && isServerCall(bytes, at + 2)) this.report(PHP_CODE, at);
        } else if (next === Byte.Percent) {
          this.openExpression(at + 2);
          const isPrinted = this.value!.isQueryLine() && bytes[at + 2] === Byte.Equals;
          if (isServerPage(bytes, at + 2) || (isPrinted && isServerCall(bytes, at + 3))) this.report(SCRIPT_CODE, at);
        } else if (next === Byte.Hash && isLowerLetter(bytes[at + 2]!)) this.isExpression = true;
        else if (this.isInclude(at) || hasTextAt(bytes, at + 1, EDGE_INCLUDE)) this.report(SCRIPT_CODE, at);
        break;
      case Byte.Dollar:
      case Byte.Hash:
      case Byte.Percent:
      case Byte.Star:
      case Byte.At:
        if (bytes[at] === Byte.Dollar && next === Byte.Dollar && hasTextAt(bytes, at, NODE_FUNCTION))
          this.report(SERIALIZED_OBJECT, at);
        if (bytes[at] === Byte.Dollar && this.isVariableCalled(at)) this.report(PHP_CODE, at);
        if (bytes[at] === Byte.Hash && hasTextAt(bytes, at, VELOCITY_SET)) this.isExpression = true;
        if (next === Byte.OpenBrace) {
          this.openExpression(at + 2);
          if (isAssignment(bytes, at + 2) || isInterpolation(bytes, at + 2)) this.report(JAVA_CODE, at);
          if (bytes[at] === Byte.Dollar && isPhpExpression(bytes, at)) this.report(PHP_CODE, at);
        }
        break;
      case Byte.OpenBrace:
        if (at === 0 && this.value!.location === InputLocation.Query && isSelfInspection(bytes, this.length))
          this.report(SCRIPT_CODE, at);
        if (next === Byte.OpenBrace || next === Byte.Percent) this.openExpression(at + 2);
        else if (hasTextAt(bytes, at + 1, SMARTY_PHP) && bytes[at + 5]! > Byte.Space) this.report(PHP_CODE, at);
        break;
      case Byte.Colon:
        if (at > 2 && hasTextAt(bytes, at - 3, XSLT_CALL)) this.report(PHP_CODE, at);
        break;
      case Byte.Backtick:
        if (this.isPhp && this.isPhpCommand(at)) this.report(PHP_CODE, at);
        break;
      case Byte.Bang:
        if (next === Byte.Bang && hasTextAt(bytes, at + 2, PYTHON_OBJECT)) this.report(SERIALIZED_OBJECT, at);
        else if (hasTextAt(bytes, at + 1, RUBY_OBJECT)) this.report(SERIALIZED_OBJECT, at);
        break;
    }
  }

  /** $a='sys'.'tem';$a(…: a call of what the value begins with. */
  private isVariableCalled(at: number): boolean {
    const { bytes } = this;
    const to = wordEnd(bytes, at + 1);
    if (at === 0 || bytes[0] !== Byte.Dollar || bytes[at - 1] !== Byte.Semicolon || bytes[to] !== Byte.OpenParen)
      return false;
    for (let i = at; i < Math.min(to, at + MAX_GADGET); i++) if (bytes[i] !== bytes[i - at]) return false;
    return bytes[to - at] === Byte.Equals && isQuote(bytes[to - at + 1]!);
  }

  /** <?=`$_GET[1]`?>, <?php echo `id`;?>: in prose backticks are for code. */
  private isPhpCommand(at: number): boolean {
    const next = this.bytes[at + 1]!;
    if (next === Byte.Dollar) return this.bytes[at + 2] === Byte.Underscore;
    return this.value!.location !== InputLocation.Body && isLowerLetter(next);
  }

  /** <!--#exec cmd="…"-->: a server that includes files runs it. */
  private isInclude(at: number): boolean {
    const { bytes } = this;
    const isOpen = bytes[at + 1] === Byte.Bang && bytes[at + 2] === Byte.Dash && bytes[at + 3] === Byte.Dash;
    return isOpen && bytes[at + 4] === Byte.Hash && isWordByte(bytes[at + 5]!);
  }

  /** {{7*7}}, ${7*7}, <%= 7*7 %>: the first thing that is tried of a template. */
  private openExpression(from: number): void {
    const { bytes } = this;
    this.isExpression = true;
    let at = from;
    while (bytes[at] === Byte.Space || bytes[at] === Byte.Equals || bytes[at] === Byte.OpenParen || isQuote(bytes[at]!))
      at++;
    const first = at;
    while (isDigit(bytes[at]!)) at++;
    if (at === first || at - first > MAX_DIGITS) return;
    while (bytes[at] === Byte.Space) at++;
    if (bytes[at] !== Byte.Star && bytes[at] !== Byte.Plus && bytes[at] !== Byte.Dash) return;
    at++;
    while (bytes[at] === Byte.Space || isQuote(bytes[at]!)) at++;
    if (isDigit(bytes[at]!)) this.report(SCRIPT_CODE, from);
  }

  private judgeWord(word: CodeWord, from: number, to: number): void {
    const { bytes } = this;
    const next = this.skipSpaces(to);
    const isCall = bytes[next] === Byte.OpenParen;
    const isIn = this.isExpression;
    switch (word) {
      case CodeWord.Php:
        // The first part of the packages of .NET, too.
        if (bytes[to] === Byte.Dot) return this.reportIf(namesGadget(this.value!, from), JAVA_CODE, from);
        return this.reportIf(isCall ? this.isPhpCall(from, next + 1) : this.isFilter(from, to), PHP_CODE, from);
      case CodeWord.PhpFile:
        return this.reportIf(isCall && (this.isSuperglobal(next + 1) || this.isFunctionName(next + 1)), PHP_CODE, from);
      case CodeWord.PhpSetting:
        return this.reportIf(bytes[next] === Byte.Equals, PHP_CODE, from);
      case CodeWord.Java:
        return this.reportIf(isIn || (isCall && (this.isChained(from) || this.isMade(from))), JAVA_CODE, from);
      case CodeWord.Ognl:
        return this.reportIf(true, JAVA_CODE, from);
      case CodeWord.ClassLoader:
        return this.reportIf(
          isIn || (bytes[from - 1] === Byte.Dot && (this.value!.isName || hasTextAt(bytes, 0, CLASS))),
          JAVA_CODE,
          from,
        );
      case CodeWord.Package:
        return this.reportIf(this.isClassReference(from) || namesGadget(this.value!, from), JAVA_CODE, from);
      case CodeWord.Groovy:
        return this.reportIf(isTextExecuted(bytes, from - 1, to), SCRIPT_CODE, from);
      case CodeWord.Import:
        return this.reportIf(isCall && (isIn || !this.isLine(next)), SCRIPT_CODE, from);
      case CodeWord.Dunder:
        return this.judgeDunder(from, to);
      case CodeWord.Template:
        return this.reportIf(isIn, SCRIPT_CODE, from);
      case CodeWord.System:
        return this.reportIf(
          isCall && (isIn || this.isChained(from) || this.isPhpCall(from, next + 1)),
          SCRIPT_CODE,
          from,
        );
      case CodeWord.Require:
        return this.reportIf(isCall && (this.isModule(next + 1) || this.isUsed(from)), SCRIPT_CODE, from);
      case CodeWord.Main:
        return this.reportIf(bytes[from - 1] === Byte.Dot, SCRIPT_CODE, from);
      case CodeWord.Prototype:
        return this.reportIf(isPollution(this.value!, from, to), PROTOTYPE_POLLUTION, from);
    }
  }

  /** __class__.__mro__: one after the other, or one within an expression. */
  private judgeDunder(from: number, to: number): void {
    const before = this.bytes[from - 1];
    if (before !== Byte.Dot && before !== Byte.Apostrophe && before !== Byte.Quote) return;
    const isChain = this.dunderTo > 0 && from - this.dunderTo < MAX_BLANKS;
    this.dunderTo = to;
    this.reportIf(isChain || this.isExpression, SCRIPT_CODE, from);
  }

  /** A call of a function that runs programs: in PHP, with a superglobal, or if no formatted program has it. */
  private isPhpCall(from: number, inside: number): boolean {
    const { bytes } = this;
    if (this.isPhp || this.isSuperglobal(inside)) return true;
    const first = bytes[this.skipSpaces(inside)]!;
    const isArgument =
      isQuote(first) || first === Byte.Dollar || this.isInformation(from, first) || (isDigit(first) && from > 0);
    return (isArgument || this.isDecoder(inside)) && (this.isExpression || this.isDirect(from));
  }

  /** phpinfo() alone needs no argument: "eval()" is a question about PHP. */
  private isInformation(from: number, first: number): boolean {
    return first === Byte.CloseParen && this.bytes[from] === LOWER_P;
  }

  /** {{ list|filter('system') }}: a template's filter that calls a function. */
  private isFilter(from: number, to: number): boolean {
    const { bytes } = this;
    const isText = isQuote(bytes[from - 1] ?? 0) && bytes[from - 1] === bytes[to];
    return this.isExpression && isText && bytes[from - 2] === Byte.OpenParen && bytes[to + 1] === Byte.CloseParen;
  }

  /** eval(base64_decode(…)) */
  private isDecoder(inside: number): boolean {
    const from = this.skipSpaces(inside);
    const to = wordEnd(this.bytes, from);
    return this.bytes[to] === Byte.OpenParen && CODE_WORDS.valueOf(this.bytes, from, to) === CodeWord.PhpFile;
  }

  /** $_GET[…] and the like: the client's own data. */
  private isSuperglobal(inside: number): boolean {
    const { bytes } = this;
    const limit = Math.min(this.length, inside + MAX_ARGUMENTS);
    for (let at = inside; at < limit && bytes[at] !== Byte.CloseParen; at++) {
      const isFirst = bytes[at - 1] === Byte.OpenParen || bytes[at - 1] === Byte.Comma || bytes[at - 1] === Byte.Space;
      if (bytes[at] === Byte.Dollar && bytes[at + 1] === Byte.Underscore && isFirst) return true;
    }
    return false;
  }

  /** Whether a call is all of the value, or is right after an operator. */
  private isDirect(from: number): boolean {
    const { bytes } = this;
    if (from === 0) return ENDS.includes(bytes[this.length - 1]!);
    const before = bytes[from - 1]!;
    if (before === Byte.Dot) return isQuote(bytes[from - 2] ?? 0) || this.isChained(from);
    return DIRECT.includes(before) || this.isFirst(from);
  }

  /** Whether the value is one call, with nothing but names and dots before it: os.system("x"). */
  private isChained(from: number): boolean {
    const { bytes } = this;
    let at = Math.max(from - 1, 0);
    while (at > 0 && (isWordByte(bytes[at]!) || bytes[at] === Byte.Dot)) at--;
    const isNew = at === NEW.length - 1 && hasTextAt(bytes, 0, NEW);
    return (at === 0 || isNew) && bytes[from - 1] === Byte.Dot && isWordByte(bytes[0]!) && this.isEnded();
  }

  /** Whether nothing follows the call at `open` in its line: a statement of a program, whose value is not used. */
  private isLine(open: number): boolean {
    const { bytes } = this;
    let at = open;
    while (at < open + MAX_GADGET && bytes[at] !== Byte.CloseParen && bytes[at] !== Byte.Nul) at++;
    return bytes[at] === Byte.CloseParen && (bytes[at + 1] === Byte.Lf || bytes[at + 1] === Byte.Cr);
  }

  /** require('fs').readFileSync('x'), and nothing else. */
  private isUsed(from: number): boolean {
    const { bytes } = this;
    let at = from;
    while (at < from + MAX_GADGET && bytes[at] !== Byte.CloseParen && bytes[at] !== Byte.Nul) at++;
    return from === 0 && this.isEnded() && bytes[at + 1] === Byte.Dot;
  }

  /** new ProcessBuilder(…).start(), and nothing else. */
  private isMade(from: number): boolean {
    return from === NEW.length && hasTextAt(this.bytes, 0, NEW) && this.isEnded();
  }

  private isEnded(): boolean {
    const last = this.bytes[this.length - 1]!;
    return last === Byte.CloseParen || last === Byte.Semicolon;
  }

  /** call_user_func('system', …) */
  private isFunctionName(inside: number): boolean {
    const from = this.skipSpaces(inside) + 1;
    const to = wordEnd(this.bytes, from);
    const isText = isQuote(this.bytes[from - 1]!) && this.bytes[to] === this.bytes[from - 1];
    return isText && CODE_WORDS.valueOf(this.bytes, from, to) === CodeWord.Php;
  }

  /** Whether nothing but operators precedes a call, as in "|| system('x')". */
  private isFirst(from: number): boolean {
    let at = from - 1;
    while (at >= 0 && at > from - MAX_BLANKS && (this.bytes[at] === Byte.Space || DIRECT.includes(this.bytes[at]!)))
      at--;
    return at < 0 && DIRECT.includes(this.bytes[0]!);
  }

  /** T(java.lang.Runtime), @java.lang.Runtime@ */
  private isClassReference(from: number): boolean {
    const { bytes } = this;
    const before = bytes[from - 1];
    return before === Byte.OpenParen
      ? bytes[from - 2] === LOWER_T && !isWordByte(bytes[from - 3] ?? 0)
      : before === Byte.At && (this.isExpression || isStaticReference(bytes, from));
  }

  private isModule(at: number): boolean {
    const { bytes } = this;
    const from = isQuote(bytes[at]!) ? at + 1 : at;
    let to = wordEnd(bytes, from);
    if (CODE_WORDS.valueOf(bytes, from, to) !== CodeWord.Main) return false;
    // A program keeps the module under a name first.
    while (isQuote(bytes[to]!) || bytes[to] === Byte.CloseParen) to++;
    return bytes[to] === Byte.Dot;
  }

  private skipSpaces(from: number): number {
    let at = from;
    while (at < from + MAX_BLANKS && this.bytes[at] === Byte.Space) at++;
    return at;
  }

  private report(rule: WafRule, at: number): void {
    this.listener!.found(rule, at);
  }

  private reportIf(isFound: boolean, rule: WafRule, at: number): void {
    if (isFound) this.listener!.found(rule, at);
  }
}

/** <#…, #set(…: how programs of template engines begin. */
const VELOCITY_SET: Uint8Array = latin1("#set(");
const SMARTY_PHP: Uint8Array = latin1("php}");
const PYTHON_OBJECT: Uint8Array = latin1("python/");
const RUBY_OBJECT: Uint8Array = latin1("ruby/");
/** What a cache at the edge includes. */
const EDGE_INCLUDE: Uint8Array = latin1("esi:");
const NODE_FUNCTION: Uint8Array = latin1("$$nd_func$$");
const XSLT_CALL: Uint8Array = latin1("php:function");
const CLASS: Uint8Array = latin1("class.");
const NEW: Uint8Array = latin1("new ");
/** What a call is glued to: ( ; @ { | & - ! ` + , */
const DIRECT: readonly number[] = [0x28, 0x3b, 0x40, 0x7b, 0x7c, 0x26, 0x2d, 0x21, 0x60, 0x2b, 0x2c];
/** What a value that is one call ends in: ) ; # / } and quotes. */
const ENDS: readonly number[] = [0x29, 0x3b, 0x23, 0x2f, 0x7d, 0x22, 0x27];
/** What is examined around a word. */
const STEPS = 128;
const MAX_DIGITS = 8;
const MAX_BLANKS = 8;
const MAX_GADGET = 64;
const MAX_ARGUMENTS = 64;
const LOWER_P = 0x70;
const LOWER_T = 0x74;
