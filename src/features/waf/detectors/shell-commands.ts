import { Byte, classOf, EMPTY_BYTES, indexOfByte, isDigit } from "../../../core/bytes.ts";
import {
  classEnd,
  endsReference,
  FILE_NAME,
  isProgramByte,
  isQuote,
  isShellSpace,
  PROGRAM_NAME,
} from "../match/scan.ts";
import { StepBudget } from "../match/step-budget.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import {
  CRITICAL_SCORE,
  type DetectionListener,
  type Detector,
  type DetectorGroup,
  each,
  NAMES,
  NOTICE_SCORE,
  type WafRule,
  words,
} from "../rule.ts";
import { isCommandParameter } from "./parameter-names.ts";
import { findShellIdioms, IDIOM_RULES, idiomKeywords } from "./shell-idioms.ts";
import { behindMarks, isPrefixWord, Prefix, PrefixReader, SHELL_PREFIXES, shellVariableEnd } from "./shell-prefixes.ts";
import {
  COMMANDS,
  Command,
  isCmdlet,
  isExpansion,
  isLastNumber,
  isProcessOption,
  QUERY_COMMANDS,
  SERVICE_VERBS,
  SHELL_COMMANDS,
} from "./shell-words.ts";

const SHELL_COMMAND: WafRule = {
  id: "RCE-001",
  crs: [932235, 932230, 932236, 932250, 932260, 932380],
  category: "rce",
  score: CRITICAL_SCORE,
  description: "shell command after a command separator",
  keywords: [
    // What the parameters of web shells are tried with.
    ...words("^whoami ^uname ^ifconfig ^ipconfig ^netstat ^systeminfo ^/bin/ ^/usr/bin/ \\n/bin/ \\n/usr/"),
    ...["^cat /", "^ls -", "^ls /", "^id -", "^net u", "^type c", "^dir c", "^wget h", "^curl h", "^ping -", "^nc -"],
  ],
};
const SHELL_WORD: WafRule = {
  id: "RCE-002",
  crs: [932250, 932235, 932236],
  category: "rce",
  score: NOTICE_SCORE,
  description: "possible shell command, or a column of a list, or a line of a manual",
};
const SHELL_SUBSTITUTION: WafRule = {
  id: "RCE-003",
  crs: [932130],
  category: "rce",
  score: CRITICAL_SCORE,
  description: "shell command substitution",
};

/** Command lines. A User-Agent is a line of prose with semicolons, and the path as a whole has file names by right. */
export const SHELL_GROUP: DetectorGroup = {
  rules: [SHELL_COMMAND, SHELL_WORD, SHELL_SUBSTITUTION, ...IDIOM_RULES],
  locations: NAMES,
  keywords: () => [...commandKeywords(), ...idiomKeywords()],
  detectors: () => [new ShellCommands(), { analyse: findShellIdioms }],
};

/** What calls the detectors of all of them. Of commands the beginning tells enough. */
function commandKeywords(): string[] {
  const separators = [";", "; ", "|", "| ", "&", "& ", "\n", "\n ", "`", "$(", "$( ", "<(", ">(", "{"];
  const behindMark = ["  ", "(", " (", "'", "\\", "$", " $", "/", " /", "<", ">", "{", " {", "!", " !", "0>"];
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  return [
    ...separators.flatMap((before) => each(SHELL_COMMANDS, (command) => before + command.slice(0, 3))),
    // What stands in front of a command, or a command with a path behind something that it cannot stand in front of.
    ...separators.flatMap((before) => each(SHELL_PREFIXES, (prefix) => `${before}${prefix} `)),
    ...each(SHELL_COMMANDS, (command) => `${command} /`),
    // Or a command that needs no argument.
    ...each(QUERY_COMMANDS, (command) => ` ${command}`),
    ...[
      "$shell ",
      '$shell"',
      "${shell",
      "$bash ",
      '$bash"',
      "${bash",
      "(){",
      "() {",
      "^</",
      "$0 -c",
      '$0" -c',
      "${0} -c",
      '${0}" -c',
      " ls -",
      " wget h",
      " curl h",
    ],
    ...each(SHELL_PREFIXES, (prefix) => `^${prefix} `),
    // A file of commands.
    ...[";", "; ", "&", "& ", "|", "| "].map((mark) => `${mark}. `),
    // A command with quotes or backslashes in it, or after more blanks.
    ...[";", "|", "&", "\n"].flatMap((mark) => behindMark.map((next) => mark + next)),
    ...[";", "|", "&", "`", "\n", "; ", "| "].flatMap((mark) =>
      letters.flatMap((one) => [`${mark}${one}'`, `${mark}${one}\\`]),
    ),
    "$@",
  ];
}

/**
 * Finds commands that a shell would run after a separator or within a substitution. Each separator costs a look at
 * one word after it and at MAX_LOOK bytes before it. A line that begins with a command itself comes from a manual.
 */
class ShellCommands implements Detector {
  private bytes: Uint8Array = EMPTY_BYTES;
  private length = 0;
  private listener: DetectionListener | null = null;
  private steps: StepBudget = new StepBudget();
  /** Whether the value may be a text that a person wrote: it comes in a body. */
  private isText = false;
  /** Whether no blank has been met: line breaks are then blanks. */
  private isOneToken = true;
  /** Where the command that was read last begins, and where it ends. */
  private wordFrom = 0;
  private wordTo = 0;
  private readonly prefixes: PrefixReader = new PrefixReader();
  /** Whether a word of prose, such as then, stands in front of the command that was read last. */
  private isBehindWord = false;
  /** Whether a file is opened for the command that was read last. */
  private isOpened = false;

  /** Looks after every separator of the value. */
  analyse(value: ValueReading, listener: DetectionListener): void {
    this.bytes = value.bytes;
    this.length = value.length;
    this.listener = listener;
    this.steps = value.steps;
    this.isText = value.location === InputLocation.Body;
    const { bytes, length } = value;
    // The first line of a text has more than one word.
    this.isOneToken = bytes[0] !== Byte.Hash || bytes[1] !== Byte.Bang;
    if (isCommandParameter(value)) this.judgeParameter();
    else if (this.isOpening()) this.judgeStart();
    else if (!this.isText && this.isProgramLine()) this.report(SHELL_COMMAND, 0);
    // Whether a backtick has been opened.
    let isOpen = false;
    for (let at = 0; at < length && !value.steps.isSpent; at++) {
      switch (bytes[at]) {
        case Byte.Semicolon:
        case Byte.Bar:
        case Byte.Ampersand:
          // At the end of a line of a program it says no more than the line break.
          if (this.isOneToken || !this.endsLine(at)) this.judgeSeparator(at);
          break;
        case Byte.Lf:
          if (this.isOneToken) this.judgeSeparator(at);
          break;
        case Byte.Space:
          this.isOneToken = false;
          break;
        case Byte.Backtick:
          isOpen = !isOpen;
          if (isOpen) this.judgeBacktick(at);
          break;
        case Byte.OpenParen:
          if (bytes[at - 1] === Byte.Dollar || this.isProcess(at - 1)) this.judgeSubstitution(at);
          break;
        case Byte.OpenBrace:
          this.judgeBraces(at);
          break;
      }
    }
  }

  /** Whether nothing but blanks is between a separator and the end of its line. */
  private endsLine(at: number): boolean {
    let next = at + 1;
    while (next < at + MAX_CLOSERS && isShellSpace(this.bytes[next]!) && this.bytes[next] !== Byte.Lf) next++;
    return this.bytes[next] === Byte.Lf;
  }

  /** ?cmd=whoami: the value is a command by its name. */
  private judgeParameter(): void {
    const command = this.readCommand(0);
    if (command === 0 || command === Command.Manual) return;
    const isFound = this.isArgument(this.wordTo, command, false) || this.isQuery(command, false);
    if (isFound) this.report(SHELL_COMMAND, 0);
  }

  /** Whether the value begins as a command does and a text does not; X=1 is in many a text. */
  private isOpening(): boolean {
    const { bytes } = this;
    if (OPENING[bytes[0]!] === 1 || (bytes[0] === Byte.OpenParen && !this.isText)) return true;
    const to = classEnd(bytes, 0, PROGRAM_NAME);
    const behind = bytes[to];
    if (to > 0 && ((behind === Byte.Equals && !this.isText) || behind === Byte.OpenParen)) return true;
    if (isDigit(bytes[0]!) && (bytes[1] === Byte.Greater || bytes[1] === Byte.Less)) return true;
    const end = classEnd(bytes, 0, FILE_NAME);
    return isShellSpace(bytes[end]!) && isPrefixWord(bytes, 0, end) && this.isOneLine();
  }

  /** Whether the value has no line break within MAX_LINE bytes, and ends there: a text about commands has more. */
  private isOneLine(): boolean {
    const { bytes, length } = this;
    return length <= MAX_LINE && indexOfByte(bytes, Byte.Lf, 0, length) === length;
  }

  /** \n/usr/bin/id\n, /usr/bin/id|: a program by its path, in a line whose break was escaped, or in front of a pipe to nothing. */
  private isProgramLine(): boolean {
    const { bytes, length } = this;
    const from = isQuote(bytes[0]!) ? 1 : 0;
    const isEscaped = bytes[from] === Byte.Backslash && bytes[from + 1] === LOWER_N && bytes[from + 2] === Byte.Slash;
    if (!isEscaped && (bytes[0] !== Byte.Slash || bytes[length - 1] !== Byte.Bar)) return false;
    const limit = isEscaped ? indexOfByte(bytes, Byte.Backslash, from + 2, Math.min(length, MAX_LOOK)) : MAX_LOOK;
    const command = this.readName(isEscaped ? from + 2 : 0, limit);
    const next = bytes[this.wordTo];
    return command !== 0 && this.isInBin() && (next === Byte.Space || next === Byte.Bar || isEscaped);
  }

  /** { cat /etc/passwd;}, </etc/passwd cat, $SHELL -c id, X=1 cat /etc/passwd: a value begins as only a command does. */
  private judgeStart(): void {
    const command = this.readCommand(0);
    if (command === 0 || command === Command.Manual || (this.isBehindWord && this.isText)) return;
    const { bytes, wordTo } = this;
    const isBare = this.wordFrom === 0 && bytes[0] !== Byte.Dollar;
    const next = wordTo + 1;
    const isPath = bytes[wordTo] === Byte.Space && isPathOrUrl(bytes, next) && !this.isAsked(next);
    const isOption = command === Command.Shell && bytes[wordTo] === Byte.Space && bytes[next] === Byte.Dash;
    if (!isBare && (this.isOpened || isPath || isOption)) this.report(SHELL_COMMAND, 0);
  }

  /** sudo rm /var/lib/dpkg/lock, sudo cat /etc/passwd denied: what people ask about, unless it ends with a file of the system. */
  private isAsked(path: number): boolean {
    const { bytes } = this;
    const to = classEnd(bytes, 0, PROGRAM_NAME);
    if (ASKED.valueOf(bytes, 0, to) === 0 || to >= this.wordFrom) return false;
    const folder = classEnd(bytes, path + 1, PROGRAM_NAME);
    if (SYSTEM_FOLDERS.valueOf(bytes, path + 1, folder) === 0) return true;
    let end = folder;
    while (end < this.length && bytes[end]! > Byte.Space) end++;
    return !this.isOver(end);
  }

  private judgeSeparator(at: number): void {
    const { bytes } = this;
    if (bytes[at + 1] === bytes[at] || (bytes[at] === Byte.Semicolon && endsReference(bytes, at))) return;
    if (this.isSourced(at)) this.report(SHELL_COMMAND, at);
    const command = this.readCommand(at + 1);
    if (command === 0 || command === Command.Manual) return;
    const isBroken = !this.isBehindWord && this.isInjected(at);
    const isFound = this.isArgument(this.wordTo, command, isBroken) || this.isQuery(command, isBroken);
    if (isFound) this.report(this.isManual(at) || this.isGreeting(at) ? SHELL_WORD : SHELL_COMMAND, at);
    else if (command === Command.Short && bytes[at] !== Byte.Ampersand && this.isOver(this.wordTo))
      this.report(SHELL_WORD, at);
  }

  /** ;. /tmp/x, ;. ~/x, 1;. file: a file of commands that the shell runs itself. */
  private isSourced(at: number): boolean {
    const { bytes } = this;
    let dot = at + 1;
    while (dot < at + MAX_CLOSERS && isShellSpace(bytes[dot]!) && bytes[dot] !== Byte.Lf) dot++;
    if (bytes[dot] !== Byte.Dot || bytes[dot + 1] !== Byte.Space || bytes[at] === Byte.Lf) return false;
    const file = dot + 2;
    const next = bytes[file + 1]!;
    switch (bytes[file]) {
      case Byte.Slash:
      case TILDE:
      case Byte.Dollar:
        return next > Byte.Space;
      case Byte.Dot:
        return next === Byte.Slash || (next === Byte.Dot && bytes[file + 2] === Byte.Slash);
    }
    if (!isProgramByte(bytes[file]!) || !this.isInjected(at)) return false;
    return this.isOver(classEnd(bytes, file, PROGRAM_NAME)) || this.isFileName(file);
  }

  /** Whether a line break follows "Hello," or "Steps:" of a text. */
  private isGreeting(at: number): boolean {
    const { bytes } = this;
    if (bytes[at] !== Byte.Lf || !this.isText) return false;
    let before = at - 1;
    while (before >= 0 && isShellSpace(bytes[before]!)) before--;
    return before >= 0 && GREETING_ENDS.includes(bytes[before]!);
  }

  /** Whether <( or >( is at `at` as shells have it, and no type of a program: a blank or nothing before it. */
  private isProcess(at: number): boolean {
    const isArrow = this.bytes[at] === Byte.Less || this.bytes[at] === Byte.Greater;
    return isArrow && (at === 0 || isShellSpace(this.bytes[at - 1]!));
  }

  /** Whether a command that needs no argument ends the value, or the body of a loop: do id; done. */
  private isQuery(command: Command, isBroken: boolean): boolean {
    const isInside = this.isBehindWord || this.bytes[this.wordFrom - 2] === Byte.OpenBrace;
    const isDone = isInside && !this.isText && this.bytes[this.wordTo] === Byte.Semicolon;
    if (isDone) return command === Command.Query || command === Command.Short;
    if (!this.isOver(this.wordTo)) return false;
    return (
      command === Command.Query ||
      this.isInBin() ||
      (isBroken && (command === Command.Short || command === Command.Shell))
    );
  }

  /** Whether the command has the path of a program in front: /usr/bin/id. */
  private isInBin(): boolean {
    const { bytes, wordTo } = this;
    let from = wordTo;
    while (from > this.wordFrom && bytes[from - 1] !== Byte.Slash) from--;
    return (
      from - this.wordFrom > 4 &&
      bytes[from - 2] === LOWER_N &&
      bytes[from - 3] === LOWER_I &&
      bytes[from - 4] === LOWER_B
    );
  }

  /** $(id), <(id): in a manual a command precedes it. */
  private judgeSubstitution(open: number): void {
    const command = this.readCommand(open + 1);
    if (command === 0 || command === Command.Manual) return;
    const next = this.bytes[this.wordTo]!;
    if (next === Byte.CloseParen || next === Byte.Space || next === Byte.Less || next === Byte.Dollar) {
      this.report(this.isManual(open - 1) ? SHELL_WORD : SHELL_SUBSTITUTION, open - 1);
    }
  }

  /** `id`: glued to what precedes it, alone, or last behind a separator. With a blank before it it is code within prose. */
  private judgeBacktick(open: number): void {
    const { bytes } = this;
    const command = this.readCommand(open + 1);
    if (command === 0 || command === Command.Manual) return;
    const limit = Math.min(this.length, open + MAX_LOOK);
    let close = this.wordTo;
    while (close < limit && bytes[close] !== Byte.Backtick) close++;
    if (bytes[close] !== Byte.Backtick || (bytes[this.wordTo]! !== Byte.Backtick && bytes[this.wordTo] !== Byte.Space))
      return;
    const before = bytes[open - 1]!;
    const isNested = before === Byte.OpenParen && bytes[open - 2] === Byte.Dollar;
    const isGlued = isNested || (open > 0 && before > Byte.Space && !BEFORE_CODE.includes(before));
    const isAlone = open === 0 && close === this.length - 1;
    const isLast = !this.isText && close === this.length - 1 && this.isBehindSeparator(open);
    if (isGlued || isAlone || isLast) this.report(SHELL_SUBSTITUTION, open);
  }

  private isBehindSeparator(at: number): boolean {
    let before = at - 1;
    while (before > at - MAX_CLOSERS && isShellSpace(this.bytes[before]!)) before--;
    const byte = this.bytes[before];
    return byte === Byte.Semicolon || byte === Byte.Bar || byte === Byte.Ampersand;
  }

  /** {cat,/etc/passwd}: a blank without a blank. */
  private judgeBraces(open: number): void {
    const command = this.readCommand(open + 1);
    if (command === 0 || this.bytes[this.wordTo] !== Byte.Comma) return;
    const next = this.bytes[this.wordTo + 1]!;
    if (next === Byte.Slash || next === Byte.Dash || next === Byte.Dot) this.report(SHELL_SUBSTITUTION, open);
  }

  /**
   * Reads a command's name, with what a shell takes in front of one. The last name counts: of `sudo cat` that is cat.
   * @returns its kind, or 0
   */
  private readCommand(from: number): Command | 0 {
    const limit = from + MAX_LOOK;
    this.isOpened = false;
    this.isBehindWord = false;
    let kind = this.readName(from, limit);
    let to = this.wordTo;
    let first = this.wordFrom;
    let at = from;
    let isWord = false;
    let isOpened = false;
    for (let count = 0; count < MAX_PREFIXES; count++) {
      const prefix = this.prefixes.read(this.bytes, at, limit);
      if (this.prefixes.hasLookedFar) this.steps.take(MAX_LOOK);
      // In a text, what stands in the next line is told by that line.
      const isLine = this.isOneToken || this.bytes[this.prefixes.end] !== Byte.Lf;
      if (prefix === Prefix.None || !isLine) break;
      if (prefix === Prefix.Value && this.bytes[from - 1] === Byte.Ampersand && this.isInUrl(from - 2)) break;
      isWord ||= prefix === Prefix.Word;
      // What runs programs needs no more than one.
      isOpened ||= prefix === Prefix.Input || kind === Command.Runner;
      at = this.prefixes.end;
      const inner = this.readName(at, limit);
      if (inner === 0 || (inner === Command.Manual && kind !== 0)) continue;
      kind = inner;
      to = this.wordTo;
      first = this.wordFrom;
      this.isBehindWord = isWord;
      this.isOpened = isOpened;
    }
    this.wordFrom = first;
    this.wordTo = to;
    return kind;
  }

  /** Reads a name with its path, with quotes and backslashes in it. @returns its kind, or 0 */
  private readName(from: number, limit: number): Command | 0 {
    const { bytes } = this;
    let at = behindMarks(bytes, from, limit);
    this.wordFrom = at;
    const behindShell = shellVariableEnd(bytes, at);
    if (behindShell > 0) {
      this.wordTo = behindShell;
      return Command.Shell;
    }
    let length = 0;
    const isPath = bytes[at] === Byte.Slash || bytes[at] === Byte.Dot || bytes[at] === TILDE;
    for (; at < limit && length < word.length; at++) {
      const byte = bytes[at]!;
      if (isProgramByte(byte)) word[length++] = byte;
      else if (byte === Byte.Slash && isPath) length = 0;
      else if (byte === Byte.Dollar && (bytes[at + 1] === Byte.At || bytes[at + 1] === Byte.Star)) at++;
      else if (byte !== Byte.Backslash && byte !== CARET && !isQuote(byte)) break;
    }
    const kind = COMMANDS.valueOf(word, 0, programEnd(length)) as Command | 0;
    this.steps.take(kind === 0 ? at - from + 1 : 2 * MAX_LOOK);
    this.wordTo = at;
    // A closing quote is not the command's.
    while (this.wordTo > from && isQuote(bytes[this.wordTo - 1]!)) this.wordTo--;
    return kind;
  }

  /** Whether what is at `from` is an argument that prose would not have there. */
  private isArgument(from: number, command: Command, isBroken: boolean): boolean {
    const { bytes } = this;
    if (this.isOpened || isExpansion(bytes, from) || this.isRedirection(from, command)) return true;
    if (!isShellSpace(bytes[from]!) || bytes[from] === Byte.Lf) return false;
    let at = from;
    while (isShellSpace(bytes[at]!)) at++;
    if (this.isBehindWord) return this.isArgumentBehindWord(at, command);
    const first = bytes[at]!;
    const next = bytes[at + 1]!;
    if (first === Byte.Dash)
      return next > Byte.Space && (next !== Byte.Dash || (isBroken && bytes[at + 2]! > Byte.Space));
    if (first === Byte.Slash && next === Byte.Space) return bytes[at + 2] === Byte.Dash;
    if (first === Byte.Slash || first === TILDE || first === Byte.Backslash) return next > Byte.Space;
    if (first === Byte.Greater) return this.isTarget(at + 1);
    if (first === Byte.Dollar) return true;
    if (first === Byte.Dot) return next === Byte.Slash || next === Byte.Dot || next <= Byte.Space;
    if (isBroken && (first === Byte.Star || isQuote(first))) return true;
    if ((isBroken || this.isGlued(from)) && isDigit(first) && command !== Command.Short && isLastNumber(bytes, at))
      return true;
    if (command === Command.Service) return this.isVerb(at);
    if ((command === Command.Runner || (isBroken && command === Command.Shell)) && this.isCommand(at)) return true;
    if (isBroken && command === Command.Query && !this.isText) return true;
    if (isBroken && command === Command.Short && isProcessOption(bytes, at)) return true;
    if (command === Command.Shell && word[0] === LOWER_P && isCmdlet(bytes, at)) return true;
    if ((command === Command.Tool || command === Command.Echo) && this.hasPath(at)) return true;
    return this.isFileName(at) || (isBroken && command === Command.Echo);
  }

  /** cat</etc/passwd, id>/tmp/x, and not the tag that ends an element. */
  private isRedirection(from: number, command: Command): boolean {
    const { bytes } = this;
    if (command === Command.Shell && isHereText(bytes, from)) return true;
    if (bytes[from] === Byte.Greater) return bytes[from + 1]! > Byte.Space && bytes[from + 1] !== Byte.Less;
    if (bytes[from] !== Byte.Less || (bytes[from + 1] !== Byte.Slash && bytes[from + 1] !== Byte.Dot)) return false;
    return bytes[classEnd(bytes, from + 2, PROGRAM_NAME)] === Byte.Slash;
  }

  /** Whether output goes to a file, and nothing is just greater: > /tmp/x, > a.php, >&2. */
  private isTarget(from: number): boolean {
    let at = from;
    while (isShellSpace(this.bytes[at]!)) at++;
    return this.bytes[at] === Byte.Slash || this.bytes[at] === Byte.Ampersand || this.isFileName(at);
  }

  /** chmod 777 /tmp/x, echo a > /var/www/b: a path within the next words. */
  private hasPath(from: number): boolean {
    const limit = Math.min(this.length, from + MAX_LOOK);
    for (let at = from; at < limit && this.bytes[at] !== Byte.Lf; at++) {
      const isWord = this.bytes[at] === Byte.Space && this.bytes[at + 1] === Byte.Slash;
      if (isWord && isProgramByte(this.bytes[at + 2]!)) return true;
    }
    return false;
  }

  private isCommand(from: number): boolean {
    const to = classEnd(this.bytes, from, PROGRAM_NAME);
    return COMMANDS.valueOf(this.bytes, from, to) !== 0;
  }

  /** x;sleep 5: one word, a separator and a command without a blank, and an argument that ends the value. */
  private isGlued(from: number): boolean {
    const { bytes } = this;
    for (let at = Math.min(from, MAX_NAME); at > 0; at--)
      if (at < this.wordFrom && isShellSpace(bytes[at - 1]!)) return false;
    if (from > MAX_NAME || isShellSpace(bytes[this.wordFrom - 1]!)) return false;
    let to = from;
    while (isShellSpace(bytes[to]!)) to++;
    return this.isOver(classEnd(bytes, to, PROGRAM_NAME));
  }

  /** Whether a path or a URL is at `from`, options aside: loops and conditions that people show each other have names and variables there. */
  private isArgumentBehindWord(from: number, command: Command): boolean {
    const { bytes } = this;
    const isAsked = command === Command.Query || command === Command.Short || command === Command.Shell;
    if (isAsked && !this.isText && bytes[from] === Byte.Dash && bytes[from + 1]! > Byte.Space) return true;
    const limit = from + MAX_LOOK;
    let at = from;
    while (bytes[at] === Byte.Dash) {
      while (at < limit && bytes[at]! > Byte.Space) at++;
      while (at < limit && bytes[at] === Byte.Space) at++;
    }
    return isPathOrUrl(bytes, at);
  }

  private isVerb(from: number): boolean {
    const to = classEnd(this.bytes, from, PROGRAM_NAME);
    return SERVICE_VERBS.valueOf(this.bytes, from, to) !== 0;
  }

  /** Whether a name with a dot, a slash or a colon in it is at `from`: a host, a path, a URL. */
  private isFileName(from: number): boolean {
    const { bytes } = this;
    const limit = from + MAX_NAME;
    for (let at = from; at < limit && bytes[at]! > Byte.Space; at++) {
      const isMark =
        bytes[at] === Byte.Dot || bytes[at] === Byte.Slash || bytes[at] === Byte.Colon || bytes[at] === Byte.Backslash;
      if (isMark && at > from && bytes[at + 1]! > Byte.Space) return true;
    }
    return false;
  }

  /** Whether the value ends here, but for what closes or comments. */
  private isOver(from: number): boolean {
    const { bytes } = this;
    let at = from;
    while (CLOSERS.includes(bytes[at]!) && at < this.length && at < from + MAX_CLOSERS) at++;
    return at >= this.length || bytes[at] === 0;
  }

  /** Whether what precedes a separator looks like data that an attack leaves: a number, an end of something. */
  private isInjected(at: number): boolean {
    const { bytes } = this;
    if (at > 0 && bytes[at - 1] === bytes[at] && bytes[at] !== Byte.Lf) return true;
    let before = at - 1;
    while (before >= 0 && isShellSpace(bytes[before]!)) before--;
    if (before < 0) return bytes[0] !== Byte.Bar || this.length < MAX_TABLE_BYTES;
    if (bytes[at] === Byte.Ampersand && this.isInUrl(before)) return false;
    const byte = bytes[before]!;
    const isEnd =
      byte === Byte.CloseParen || byte === Byte.RightBracket || byte === Byte.CloseBrace || byte === Byte.Star;
    return isEnd || isDigit(byte) || isQuote(byte) || this.isPlace(before);
  }

  /** Whether a host, a file or a path ends at `last`. */
  private isPlace(last: number): boolean {
    const limit = Math.max(0, last - MAX_NAME);
    for (let at = last; at >= limit && this.bytes[at]! > Byte.Space; at--) {
      if (at < last && (this.bytes[at] === Byte.Dot || this.bytes[at] === Byte.Slash)) return true;
    }
    return false;
  }

  /** Whether an ampersand after `before` separates the parameters of a URL. */
  private isInUrl(before: number): boolean {
    const limit = Math.max(0, before - MAX_LOOK);
    for (let at = before; at >= limit && this.bytes[at]! > Byte.Space; at--) {
      if (this.bytes[at] === Byte.Question || this.bytes[at] === Byte.Equals) return true;
    }
    return false;
  }

  /** Whether a command is in the line before `at`: then it is a line of a manual. */
  private isManual(at: number): boolean {
    const { bytes } = this;
    const limit = Math.max(0, at - MAX_LOOK);
    let from = at;
    while (from > limit && bytes[from - 1] !== Byte.Lf) from--;
    for (let start = from; start < at; ) {
      while (start < at && !isProgramByte(bytes[start]!)) start++;
      let end = start;
      while (end < at && isProgramByte(bytes[end]!)) end++;
      const isGlued = start > 0 && (bytes[start - 1] === Byte.Dot || bytes[start - 1] === Byte.Slash);
      const command = isGlued ? 0 : COMMANDS.valueOf(bytes, start, end);
      if (command !== 0 && bytes[end] === Byte.Space) return !this.isBehindData(start);
      start = end;
    }
    return false;
  }

  /** Whether the command at `from` is itself one that an attack runs after data: 1;cd /tmp;wget … */
  private isBehindData(from: number): boolean {
    let at = from - 1;
    while (at >= 0 && isShellSpace(this.bytes[at]!)) at--;
    const isSeparator = this.bytes[at] === Byte.Semicolon || this.bytes[at] === Byte.Ampersand;
    return at >= 0 && isSeparator && this.isInjected(at);
  }

  private report(rule: WafRule, at: number): void {
    this.listener!.found(rule, at);
  }
}

/** /etc/passwd, ~/x, http://x */
function isPathOrUrl(bytes: Uint8Array, at: number): boolean {
  if (bytes[at] === Byte.Slash || bytes[at] === TILDE) return bytes[at + 1]! > Byte.Space;
  const to = classEnd(bytes, at, PROGRAM_NAME);
  return bytes[to] === Byte.Colon && bytes[to + 1] === Byte.Slash && bytes[to + 2] === Byte.Slash;
}

/** sh<<<id, sh <<<'id': what a shell reads. */
function isHereText(bytes: Uint8Array, from: number): boolean {
  const at = bytes[from] === Byte.Space ? from + 1 : from;
  return bytes[at] === Byte.Less && bytes[at + 1] === Byte.Less && bytes[at + 2] === Byte.Less;
}

/** Where the name in `word` ends: an extension of Windows is none of it. */
function programEnd(length: number): number {
  const from = length - 4;
  return from > 0 && EXTENSIONS.valueOf(word, from, length) !== 0 ? from : length;
}

/** What a command may begin with, and hardly a text. */
const OPENING: Uint8Array = classOf("{!<>$");
const MAX_LOOK = 64;
/** `if ! sudo -u x nohup X=1 cat`: more of them are made up. */
const MAX_PREFIXES = 6;
const MAX_NAME = 32;
/** A longer value that begins with sudo is a text about it. */
const MAX_LINE = 128;
/** A longer value that begins with a bar is a table. */
const MAX_TABLE_BYTES = 32;
const MAX_CLOSERS = 4;
const TILDE = 0x7e;
/** The backslash of the shell of Windows. */
const CARET = 0x5e;
const LOWER_B = 0x62;
const LOWER_I = 0x69;
const LOWER_N = 0x6e;
const LOWER_P = 0x70;
/** ; & | # ' " ) } ` and white space: what may stand between a command and the end of the value. */
const CLOSERS: readonly number[] = [0x3b, 0x26, 0x7c, 0x23, 0x27, 0x22, 0x29, 0x7d, 0x60, 0x20, 0x09, 0x0a, 0x0d];
/** ( [ { , . ` * _ # > and quotes: what precedes code in prose, in SQL and in lists. */
const BEFORE_CODE: readonly number[] = [0x28, 0x5b, 0x7b, 0x2c, 0x2e, 0x60, 0x2a, 0x5f, 0x23, 0x3e, 0x22, 0x27, 0x7c];
/** , : ! ? */
const GREETING_ENDS: readonly number[] = [0x2c, 0x3a, 0x21, 0x3f];
const word: Uint8Array = new Uint8Array(24);
/** What people type in front of commands that they ask about. */
const ASKED: WordSet = new WordSet([[1, "sudo doas"]]);
const SYSTEM_FOLDERS: WordSet = new WordSet([[1, "etc proc root"]]);
const EXTENSIONS: WordSet = new WordSet([[1, ".exe .com .bat .cmd .ps1"]]);
