import { Byte, EMPTY_BYTES } from "../../../core/bytes.ts";
import { DotReading, dotsOf } from "../../../proto/target/dot-segments.ts";
import { BEYOND_ASCII, FILE_NAME, isDrive, isSeparator, PATH } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import {
  CRITICAL_SCORE,
  type DetectionListener,
  type Detector,
  type DetectorGroup,
  NAMES,
  WARNING_SCORE,
  type WafRule,
  words,
} from "../rule.ts";
import { ESCAPED_CLIMB, findEscapedClimbs } from "./escaped-climbs.ts";
import { isFetchParameter, isFileParameter, isIncludeParameter } from "./parameter-names.ts";

const CLIMBING_PATH: WafRule = {
  id: "LFI-001",
  crs: [930110, 930100],
  category: "lfi",
  score: WARNING_SCORE,
  description: "path traversal by three levels or more",
  keywords: ["../", "..\\", "..;"],
};
const SENSITIVE_FILE: WafRule = {
  id: "LFI-002",
  crs: [930120],
  category: "lfi",
  score: CRITICAL_SCORE,
  description: "system file, or file that holds secrets",
  keywords: [
    ...words("etc/ etc\\ proc/ proc\\ windows/ windows\\ winnt/ winnt\\ systemroot windir system32 inetpub"),
    ...words("/var/l /var/m /var/s /var/w /root/. /boot/g /home/. /users/. /run/sec"),
    ...words(".env .htaccess .htpasswd .git .svn .ssh .aws .bash_history wp-config.php web.config web-inf meta-inf"),
    ...words("id_rsa id_dsa boot.ini win.ini config.inc.php .npmrc .dockerenv .pgpass .my.cnf .netrc"),
    ...words("authorized_keys php.ini httpd.conf serviceaccount id_ed25519 id_ecdsa known_hosts database.yml"),
    ...words("secrets.yml wp-config env.php my.ini ntuser.dat unattend.xml tomcat-users .vscode .idea .ds_store"),
    ...words(".bashrc _history pearcmd"),
    // A climb whose separator is spelt so that only lenient decoders see it.
    "..\u0090",
    "..\u00e0",
    "..\u00ef",
  ],
};
const STREAM_WRAPPER: WafRule = {
  id: "LFI-003",
  crs: [933200, 933140],
  category: "lfi",
  score: CRITICAL_SCORE,
  description: "stream wrapper that reads files",
  keywords: words(
    "php:// phar:// expect:// zip:// zlib:// bzip2:// data:// glob:// ogg:// rar:// ssh2. file:// ^data:; ^data:text",
  ),
};

/** Names of local files. A User-Agent has none, and in the path as a whole they are by right. */
export const FILE_GROUP: DetectorGroup = {
  rules: [CLIMBING_PATH, SENSITIVE_FILE, STREAM_WRAPPER, ESCAPED_CLIMB],
  locations: NAMES,
  keywords: () => [],
  detectors: () => [new FileNames(), { analyse: findEscapedClimbs }],
};

/**
 * Finds names of files that no client has any business with: climbs out of folders, and, if the value is a file's
 * name and nothing else, files of the system, files that hold secrets, wrappers that read files. Prose that mentions
 * such a file is no match. Every byte is read twice at most.
 */
class FileNames implements Detector {
  private bytes: Uint8Array = EMPTY_BYTES;
  private length = 0;
  private listener: DetectionListener | null = null;

  /** Looks at every path in the value, and at the value as a path. */
  analyse(value: ValueReading, listener: DetectionListener): void {
    const { bytes, length } = value;
    this.bytes = bytes;
    this.length = length;
    this.listener = listener;
    this.judgeValue(value);
    this.judgeOverlong();
    for (let at = 0; at < length; ) {
      const isStart = isSeparator(bytes[at]!) || (bytes[at] === Byte.Dot && (at === 0 || PATH[bytes[at - 1]!] !== 1));
      at = isStart ? this.readClimbs(value, at) : at + 1;
    }
  }

  /** Counts the climbs of the path at `from`, and looks where they lead. @returns the offset after the path */
  private readClimbs(value: ValueReading, from: number): number {
    const { bytes } = this;
    let climbs = 0;
    let leadsToSystem = false;
    let leadsToFile = false;
    let isRoot = false;
    let segment = from;
    let at = from;
    for (; ; at++) {
      const byte = bytes[at]!;
      const isBetween = isSeparator(byte);
      if (!isBetween && PATH[byte] === 1) continue;
      if (
        (bytes[segment] === Byte.Dot && dotsOf(bytes, segment, at, AS_FILTERED) === 2) ||
        isSplitClimb(bytes, segment, at)
      )
        climbs++;
      else if (climbs > 0) {
        const kind = FILE_WORDS.valueOf(bytes, segment, at);
        leadsToSystem ||= kind !== 0;
        leadsToFile ||= isRoot && SYSTEM_FILES.valueOf(bytes, segment, at) !== 0;
        isRoot = kind === FileWord.Root;
      }
      if (!isBetween) break;
      segment = at + 1;
    }
    const isSource = SOURCES.valueOf(bytes, behindDot(bytes, segment, at), at) !== 0;
    const isNamed = climbs >= MIN_CLIMBS_TO_SYSTEM && (leadsToSystem || isSource);
    const isAsked = (leadsToFile || climbs >= MIN_CLIMBS) && isFileParameter(value);
    if (isNamed || isAsked || climbs >= MANY_CLIMBS) this.report(SENSITIVE_FILE, from);
    if (climbs >= MIN_CLIMBS) this.report(CLIMBING_PATH, from);
    return at + 1;
  }

  private judgeValue(value: ValueReading): void {
    const { bytes } = this;
    let at = 0;
    while (at < this.length && (bytes[at]! <= Byte.Space || PREFIXES.includes(bytes[at]!))) at++;
    if (!this.isOnePath(at)) return;
    const path = this.judgeWrapper(at, value);
    const isAbsolute = isSeparator(bytes[path]!) || bytes[path] === Byte.Percent || isDrive(bytes, path);
    if (isAbsolute) this.judgeAbsolute(value, isDrive(bytes, path) ? path + 2 : path);
    else if (isFileParameter(value) && this.isRelativeSystem(path)) this.report(SENSITIVE_FILE, path);
    if (isAbsolute || isFileParameter(value)) this.judgeSegments(path);
  }

  /** php://filter/…, file:///…: something that reads files. @returns where the path within it begins */
  private judgeWrapper(from: number, value: ValueReading): number {
    const { bytes } = this;
    let at = from;
    while (FILE_NAME[bytes[at]!] === 1 || bytes[at] === Byte.Dot) at++;
    if (at - from >= MIN_SCHEME && bytes[at] === Byte.Colon && this.isPlainData(from, at + 1, value))
      this.report(STREAM_WRAPPER, from);
    if (at - from < MIN_SCHEME || bytes[at] !== Byte.Colon || bytes[at + 1] !== Byte.Slash) return from;
    const kind = WRAPPERS.valueOf(bytes, from, at);
    if (bytes[at + 2] !== Byte.Slash) return kind === LOCAL ? at + 1 : from;
    if (kind === 0) return from;
    if (kind !== LOCAL || isFileParameter(value) || isFetchParameter(value)) this.report(STREAM_WRAPPER, from);
    return at + 3;
  }

  /** data:;base64,… and data:text/plain,… in a query, where a part of a page is due. */
  private isPlainData(from: number, to: number, value: ValueReading): boolean {
    if (value.location !== InputLocation.Query || DATA.valueOf(this.bytes, from, to - 1) === 0) return false;
    const isText = this.bytes[to] === Byte.Semicolon || DATA.valueOf(this.bytes, to, to + 4) !== 0;
    return isText && isIncludeParameter(value);
  }

  /** /etc/passwd, /proc/self/environ, c:\windows\win.ini: a folder of the system and its content. */
  private judgeAbsolute(value: ValueReading, from: number): void {
    const { bytes } = this;
    const root = this.nextSegment(from);
    const rootEnd = segmentEnd(bytes, root);
    const kind = FILE_WORDS.valueOf(bytes, root, rootEnd);
    if (kind !== FileWord.Root && kind !== FileWord.Folder) return;
    const file = this.nextSegment(rootEnd);
    // Where a file is asked for, all that is in these folders is the system's; of the others programs and settings are.
    if (bytes[file]! > Byte.Space && isFileParameter(value) && (kind === FileWord.Root || this.isSource(value, file)))
      return this.report(SENSITIVE_FILE, from);
    if (SYSTEM_FILES.valueOf(bytes, file, nameEnd(bytes, file)) !== 0) this.report(SENSITIVE_FILE, from);
  }

  /** etc/passwd, which the application puts a slash in front of. */
  private isRelativeSystem(from: number): boolean {
    const rootEnd = segmentEnd(this.bytes, from);
    if (FILE_WORDS.valueOf(this.bytes, from, rootEnd) !== FileWord.Root) return false;
    const file = this.nextSegment(rootEnd);
    return SYSTEM_FILES.valueOf(this.bytes, file, nameEnd(this.bytes, file)) !== 0;
  }

  /** /var/www/html/config.php in a query: those who edit such files send their names in bodies. */
  private isSource({ location }: ValueReading, from: number): boolean {
    let to = from;
    while (this.bytes[to]! > Byte.Space) to++;
    return location === InputLocation.Query && SOURCES.valueOf(this.bytes, behindDot(this.bytes, from, to), to) !== 0;
  }

  /** ..%c0%af..%c0%af, ..%u2215..: climbs whose separators are overlong or look-alikes. */
  private judgeOverlong(): void {
    const { bytes, length } = this;
    let climbs = 0;
    for (let at = 0; at + 2 < length; at++) {
      if (bytes[at] !== Byte.Dot || bytes[at + 1] !== Byte.Dot || !isOverlong(bytes, at + 2)) continue;
      let next = at + 2;
      while (next < at + 6 && bytes[next]! >= 0x80) next++;
      if (bytes[next]! > Byte.Space) climbs++;
      if (climbs === 2) return this.report(SENSITIVE_FILE, at);
    }
  }

  /** .env, .git/config, wp-config.php: secret wherever they are. */
  private judgeSegments(from: number): void {
    const { bytes } = this;
    for (let at = this.nextSegment(from); bytes[at] !== Byte.Nul; at = this.nextSegment(segmentEnd(bytes, at))) {
      if (FILE_WORDS.valueOf(bytes, at, nameEnd(bytes, at)) === FileWord.Secret) this.report(SENSITIVE_FILE, at);
    }
  }

  /** Passes over separators and single dots. */
  private nextSegment(from: number): number {
    const { bytes } = this;
    let at = from;
    while (isSeparator(bytes[at]!) || (bytes[at] === Byte.Dot && isSeparator(bytes[at + 1]!))) at++;
    return at;
  }

  /** Whether no white space is from `from` on, but after a NUL. */
  private isOnePath(from: number): boolean {
    for (let at = from; at < this.length; at++) {
      if (this.bytes[at] === Byte.Nul) return true;
      if (this.bytes[at]! <= Byte.Space) return false;
    }
    return true;
  }

  private report(rule: WafRule, at: number): void {
    this.listener!.found(rule, at);
  }
}

/** `..././`: the rest of it when a filter takes out each `../`. */
function isSplitClimb(bytes: Uint8Array, from: number, to: number): boolean {
  const isThree =
    to - from === 3 && bytes[from] === Byte.Dot && bytes[from + 1] === Byte.Dot && bytes[from + 2] === Byte.Dot;
  return isThree && bytes[to + 1] === Byte.Dot && isSeparator(bytes[to + 2]!);
}

/** Whether an overlong slash, a wide one, one of mathematics, or a character that had an escape of its own is here. */
function isOverlong(bytes: Uint8Array, at: number): boolean {
  const first = bytes[at]!;
  const next = bytes[at + 1]!;
  if (first === 0xef) return next === 0xbc;
  if (first === 0xe2) return next === 0x88 || next === 0x81;
  return first === 0xc0 || first === 0xc1 || (first === BEYOND_ASCII && next < 0x80);
}

function segmentEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] !== Byte.Nul && !isSeparator(bytes[at]!)) at++;
  return at;
}

function nameEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (FILE_NAME[bytes[at]!] === 1 || bytes[at] === Byte.Dot) at++;
  return at;
}

/** Offset after the last dot of a name, or its end. */
function behindDot(bytes: Uint8Array, from: number, to: number): number {
  let at = to;
  while (at > from && bytes[at - 1] !== Byte.Dot) at--;
  return at > from ? at : to;
}

/** What a folder or a file says by its name alone. */
const enum FileWord {
  /** A folder at the root, as the start of a path or the end of a climb. */
  Root = 1,
  /** A folder that a climb may end in, and that absolute paths may begin with when a file of the system follows. */
  Folder,
  /** A file or folder that holds secrets wherever it is. */
  Secret,
}

/** Names of folders and files that attacks ask for. */
const FILE_WORDS: WordSet = new WordSet([
  [FileWord.Root, "etc proc windows winnt %systemroot% %windir%"],
  [FileWord.Folder, "var usr home root opt boot system32 inetpub sys dev mnt srv users run"],
  [
    FileWord.Secret,
    ".env .htaccess .htpasswd .git .svn .ssh .aws .bash_history wp-config.php web.config web-inf meta-inf",
  ],
  [FileWord.Secret, "id_rsa id_dsa boot.ini win.ini config.inc.php .npmrc .dockerenv .pgpass .my.cnf .netrc"],
  [
    FileWord.Secret,
    "authorized_keys .git-credentials php.ini httpd.conf serviceaccount id_ed25519 id_ecdsa known_hosts",
  ],
  [FileWord.Secret, "database.yml secrets.yml wp-config env.php my.ini ntuser.dat unattend.xml tomcat-users.xml"],
  [
    FileWord.Secret,
    ".ds_store .bashrc .mysql_history .psql_history .env.local .env.production .env.bak .env.old .env.dev .vscode .idea pearcmd pearcmd.php",
  ],
]);

/** What is within the folders of the system. */
const SYSTEM_FILES: WordSet = new WordSet([
  [
    1,
    "passwd shadow group gshadow hosts hostname issue fstab sudoers crontab resolv.conf mtab motd profile os-release",
  ],
  [1, "ssh nginx apache2 httpd mysql php ssl network environment passwd- shadow- security master.passwd exports"],
  [1, "self version cpuinfo cmdline mounts net sched_debug meminfo 1 log lib spool mail system32 win.ini system.ini"],
  [1, "repair php.ini panther debug .bash_history .ssh .mysql_history .profile .bashrc grub secrets logs"],
]);

/** Extensions of programs and settings: what a climb is after. */
const SOURCES: WordSet = new WordSet([
  [1, "php php5 asp aspx jsp ini conf cnf env bak sql sqlite htpasswd pem key cfg inc cgi properties"],
]);

/** Schemes that read files: 1 in every case, 2 for a local file, where a file or a URL is due. */
const WRAPPERS: WordSet = new WordSet([
  [1, "php phar expect zip compress.zlib compress.bzip2 glob ogg rar ssh2.exec ssh2.shell zlib data"],
  [2, "file"],
]);

/** `..`, also with parameters after it, or with what a filter leaves of `....//`. */
const AS_FILTERED: DotReading = DotReading.Parameters | DotReading.Filtered;
const DATA: WordSet = new WordSet([[1, "data text"]]);
const LOCAL = 2;
/** Program texts import from folders above; the root of a file system is rarely so near. */
const MIN_CLIMBS_TO_SYSTEM = 2;
const MIN_CLIMBS = 3;
const MANY_CLIMBS = 6;
const MIN_SCHEME = 3;
/** What precedes a path that is cut out of something: ' " ( [ { = < > @ | , */
const PREFIXES: readonly number[] = [0x27, 0x22, 0x28, 0x5b, 0x7b, 0x3d, 0x3c, 0x3e, 0x40, 0x7c, 0x2c];
