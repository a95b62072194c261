import { Byte } from "../../../core/bytes.ts";
import { FILE_NAME, isDrive, isSeparator, isWebAddress } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, type DetectorGroup, each, type WafRule, words } from "../rule.ts";
import { climbs, nameStart } from "./strict-paths.ts";

const SYSTEM_PATH: WafRule = {
  id: "LFI-007",
  category: "lfi",
  score: CRITICAL_SCORE,
  description: "parameter that is a path of the server's system, or a climb that no page writes",
  keywords: [
    ...[
      "..\\",
      "..%",
      "../",
      "..?",
      ".?",
      ".\\",
      "\\.",
      "?./",
      "?.\\",
      "/.../",
      "0x0e",
      "%0%",
      "%%",
      "%u",
      "%c0",
      "%c1",
    ],
    ...["..\u00c0", "..0f", "..0c", "..\u00e0", "\u00c0", "\u00ef", "\u0090", "\u00e0"],
    ...each("etc proc var usr opt", (folder) => [`^/${folder}/`, `^\\${folder}\\`, `^${folder}/`]),
    ...words("windows/ windows\\ winnt/ winnt\\ system32 inetpub ^c:/ ^c:\\ ^d:/ ^d:\\ ^e:/ ^e:\\"),
    ...words("^-- access_log error_log access.log error.log .htaccess .htpasswd .rhosts .passwd .xauthority"),
    ...words(
      "config.inc httpd.conf nginx.conf php.ini my.cnf my.ini .env .git/ .svn/ sendmail.ini webserver/ var/log/",
    ),
  ],
  crs: [930120, 930100, 930110],
};

/** Paths that are all of a parameter of the query. Bodies hold the files that people edit, and the path of the target has rules of its own. */
export const SYSTEM_PATH_GROUP: DetectorGroup = {
  rules: [SYSTEM_PATH],
  locations: [InputLocation.Query],
  keywords: () => [],
  detectors: () => [{ analyse: findSystemPaths }],
};

/**
 * Finds, in a value that is one path and nothing else, a folder of the system with something in it, a log, a setting or a secret of a
 * server, and a climb in a spelling that no page writes: `..\\x`, `..//..//x`, `.../.../x`, `..%5cx`.
 */
function findSystemPaths(value: ValueReading, listener: DetectionListener): void {
  const { bytes } = value;
  if (value.isName || value.length > MAX_PATH || isWebAddress(bytes)) return;
  let length = value.length;
  while (length > 0 && bytes[length - 1]! <= Byte.Space) length--;
  let blanks = 0;
  for (let at = 0; at < length; at++) if (bytes[at]! <= Byte.Space && bytes[at] !== Byte.Nul) blanks++;
  if (blanks > MAX_BLANKS || (blanks > 0 && isPhrase(bytes, length))) return;
  const from = optionEnd(bytes);
  if (isSystemPath(bytes, from, length, blanks > 0) || (blanks === 0 && isOddClimb(bytes, length)))
    listener.found(SYSTEM_PATH, from);
}

/** Whether a blank is behind the last separator: "c:\windows\system32 size" is a question. */
function isPhrase(bytes: Uint8Array, length: number): boolean {
  for (let at = length - 1; at >= 0 && !isSeparator(bytes[at]!); at--) {
    if (bytes[at]! <= Byte.Space && bytes[at] !== Byte.Nul) return true;
  }
  return false;
}

/** --output=/var/www/x.php: where the path begins that an option of a command is given. */
function optionEnd(bytes: Uint8Array): number {
  if (bytes[0] !== Byte.Dash || bytes[1] !== Byte.Dash) return 0;
  let at = 2;
  while (FILE_NAME[bytes[at]!] === 1) at++;
  return bytes[at] === Byte.Equals ? at + 1 : 0;
}

/** @param hasBlanks only paths of Windows have them */
function isSystemPath(bytes: Uint8Array, from: number, length: number, hasBlanks: boolean): boolean {
  const hasDrive = isDrive(bytes, from);
  const start = hasDrive ? from + 2 : from;
  const isRooted = isSeparator(bytes[start]!);
  const isWindows = hasDrive || bytes[start] === Byte.Backslash;
  if (hasBlanks && !isWindows && !(isRooted && isSystemFile(bytes, start, length))) return false;
  const first = nameStart(bytes, start);
  const firstEnd = nameEnd(bytes, first, length);
  const second = nameStart(bytes, firstEnd);
  if (second < length) {
    const folder = FOLDERS.valueOf(bytes, first, firstEnd);
    if (folder === Folder.Anywhere && (isRooted || isNamed(bytes, second, length))) return true;
    if (folder === Folder.Drive && hasDrive) return true;
    if (folder === Folder.Unix && isRooted && INNER.valueOf(bytes, second, nameEnd(bytes, second, length)) !== 0)
      return true;
  }
  return isSystemFile(bytes, start, length);
}

/** Whether what a folder without a root has in it is a file of the system: etc/passwd, but not etc/app.conf. */
function isNamed(bytes: Uint8Array, from: number, length: number): boolean {
  return ACCOUNTS.valueOf(bytes, from, nameEnd(bytes, from, length)) !== 0;
}

/** Whether the last part of a path names a log, a setting or a secret of a server. */
function isSystemFile(bytes: Uint8Array, start: number, length: number): boolean {
  let end = start;
  while (end < length && bytes[end] !== Byte.Nul && bytes[end] !== Byte.Semicolon) end++;
  const from = partStart(bytes, start, end);
  if (from === start) return false;
  if (FILES.valueOf(bytes, from, end) !== 0) return true;
  if (bytes[from] === Byte.Dot && SECRETS.valueOf(bytes, from, end) !== 0) return true;
  // .git/config: the folder in front.
  const folder = partStart(bytes, start, from - 1);
  return bytes[folder] === Byte.Dot && SECRETS.valueOf(bytes, folder, from - 1) !== 0;
}

/** Where the part of a path begins that ends at `to`. */
function partStart(bytes: Uint8Array, start: number, to: number): number {
  let at = to;
  while (at > start && !isSeparator(bytes[at - 1]!)) at--;
  return at;
}

/** A climb, but for one as pages have it: `../a`, `../../a/b.png`. */
function isOddClimb(bytes: Uint8Array, length: number): boolean {
  return climbs(bytes, length) && !isPlain(bytes, length);
}

/** Whether all is names, single slashes, and parts of two dots at most, after which a name comes. */
function isPlain(bytes: Uint8Array, length: number): boolean {
  let dots = 0;
  let names = 0;
  let separator = 0;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (isSeparator(byte)) {
      // One kind of separators, each alone; a backslash may be escaped.
      if (byte === Byte.Backslash && bytes[at + 1] === byte && separator !== Byte.Slash) at++;
      if (isSeparator(bytes[at + 1]!) || (separator !== 0 && byte !== separator)) return false;
      separator = byte;
      dots = 0;
      names = 0;
      continue;
    }
    if (byte === Byte.Dot && names === 0) dots++;
    else if (
      byte === Byte.Dot ||
      FILE_NAME[byte] === 1 ||
      byte >= 0xc2 ||
      byte === Byte.Star ||
      byte === Byte.Equals ||
      byte === Byte.Ampersand ||
      byte === Byte.Hash
    )
      names++;
    else return false;
    if (dots > 2) return false;
  }
  return true;
}

function nameEnd(bytes: Uint8Array, from: number, length: number): number {
  let at = from;
  while (at < length && bytes[at] !== Byte.Nul && !isSeparator(bytes[at]!)) at++;
  return at;
}

const enum Folder {
  /** A folder that no site has. */
  Anywhere = 1,
  /** One at the root of a system, by its content: sites have pages of these names, too. */
  Unix,
  /** One that counts on a drive. */
  Drive,
}

const FOLDERS: WordSet = new WordSet([
  [Folder.Anywhere, "etc proc windows winnt winnt40 %systemroot% %windir% system32 inetpub"],
  [Folder.Unix, "var usr opt private library"],
  [Folder.Drive, "apache apache2 xampp wamp php php4 php5 mysql nginx tomcat logs log sysprep oracle boot"],
]);
const INNER: WordSet = new WordSet([
  [1, "log adm run www apache apache2 mail spool saf cache lock db cron etc src ports pkg"],
  [1, "lamp lampp xampp tomcat httpd nginx var webserver preferences"],
]);
const ACCOUNTS: WordSet = new WordSet([
  [1, "passwd shadow group issue hosts fstab sudoers crontab self version cmdline environ win.ini system.ini system32"],
]);
const FILES: WordSet = new WordSet([
  [1, "boot.ini win.ini php.ini my.cnf my.ini httpd.conf nginx.conf access.log access_log error.log error_log"],
  [1, "system.ini iis6.log config.inc.php metabase.xml hosts.equiv ntuser.dat config.inc wp-config.php global.asa"],
  [1, "unattend.xml unattended.xml mysql.log sendmail.ini"],
]);
const SECRETS: WordSet = new WordSet([
  [1, ".htaccess .htpasswd .rhosts .passwd .xauthority .bash_history .ssh .env .git .svn .aws .netrc .pgpass"],
]);
const MAX_PATH = 2048;
const MAX_BLANKS = 4;
