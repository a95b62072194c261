import { Byte } from "../../../core/bytes.ts";
import { BEYOND_ASCII, isDrive, isSeparator, isWebAddress } from "../match/scan.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import {
  CRITICAL_SCORE,
  type DetectionListener,
  type DetectorGroup,
  VALUES_AND_PATHS,
  type WafRule,
  words,
} from "../rule.ts";

const STRICT_PATH: WafRule = {
  id: "LFI-005",
  category: "lfi",
  score: CRITICAL_SCORE,
  description: "path out of a folder in any spelling, or into a folder of the system",
  keywords: [
    ...["..", "./", ".\\", "./.", "?./", "?.\\", "\\.", "\\/", "0x0e", "%0%", "%%", "^/", "^\\", "^//"],
    ...words("^c:/ ^c:\\ ^d:/ ^d:\\ ^e:/ ^e:\\ ^etc/ ^etc\\ ^proc/ ^var/ ^windows\\ ^windows/ ^file:/ .ini .conf .log"),
    ...["access_log", "error_log", "access.log", "error.log", "\u00c0", "\u00ef", "%c0", "%c1", "%u"],
  ],
  level: 2,
  profiles: ["files", "php", "java"],
  crs: [930100, 930110, 930120],
};

/** Paths: places without prose; the path of the target itself has rules of its own. */
export const STRICT_PATH_GROUP: DetectorGroup = {
  rules: [STRICT_PATH],
  locations: VALUES_AND_PATHS,
  keywords: () => [],
  detectors: () => [{ analyse: findStrictPaths }],
};

/**
 * Finds, in a value that is one path and no prose, what leads out of its folder or into a folder of the system: `../x`, `..%5c`, dots and
 * separators that only some decoder takes for such, `/var/log/x`, `c:\boot.ini`, `logs/error.log`.
 */
function findStrictPaths(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  if (length > MAX_PATH || isWebAddress(bytes)) return;
  let blanks = 0;
  for (let at = 0; at < length; at++) if (bytes[at]! <= Byte.Space && bytes[at] !== Byte.Nul) blanks++;
  // "Program Files", and white space around a path that was pasted.
  if (blanks > MAX_BLANKS || (blanks > 0 && !isSystemPath(bytes, length))) return;
  if (isSystemPath(bytes, length) || isSystemFile(bytes, length) || climbs(bytes, length))
    listener.found(STRICT_PATH, 0);
}

/** /etc/…, /usr/…, c:\…, \windows\…: a folder of a system, with something in it. */
function isSystemPath(bytes: Uint8Array, length: number): boolean {
  const hasDrive = isDrive(bytes, 0);
  const start = hasDrive ? 2 : 0;
  const at = nameStart(bytes, start);
  let end = at;
  while (end < length && !isSeparator(bytes[end]!)) end++;
  if (end >= length) return false;
  const kind = FOLDERS.valueOf(bytes, at, end);
  if (hasDrive) return kind !== 0 || isSystemFile(bytes, length);
  return kind === ANYWHERE || (isSeparator(bytes[start]!) && kind !== 0);
}

/** Where the first name of a path begins: after separators and single dots. */
export function nameStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isSeparator(bytes[at]!) || (bytes[at] === Byte.Dot && isSeparator(bytes[at + 1]!))) at++;
  return at;
}

/** Whether the last part names a log, a setting or a secret of a server. */
function isSystemFile(bytes: Uint8Array, length: number): boolean {
  let end = 0;
  while (end < length && bytes[end] !== Byte.Nul && bytes[end] !== Byte.Semicolon) end++;
  let from = end;
  while (from > 0 && !isSeparator(bytes[from - 1]!)) from--;
  if (FILES.valueOf(bytes, from, end) !== 0) return true;
  if (from === 0) return false;
  let dot = end;
  while (dot > from && bytes[dot - 1] !== Byte.Dot) dot--;
  return dot > from && EXTENSIONS.valueOf(bytes, dot, end) !== 0;
}

/**
 * Whether dots, or what a decoder may take for them, are followed by a separator, or what it may take for one. Of bytes that no UTF-8 has
 * and of marks that no name has, each may be either; letters and digits of names are neither.
 */
export function climbs(bytes: Uint8Array, length: number): boolean {
  let odd = 0;
  let dots = 0;
  let small = 0;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (isDot(bytes, at)) {
      dots++;
      if (byte === 0x30) at += 3;
      continue;
    }
    if (byte === 0xc0 || byte === 0xc1 || (byte >= 0xf8 && byte <= 0xfd) || (byte === 0xe0 && bytes[at + 1]! < 0xa0))
      odd++;
    if (isSeparator(byte) || isHexSeparator(bytes, at) || isWideSeparator(bytes, at)) {
      if (dots === 1 && at > 0) small++;
      if (dots >= 2 || odd >= 2 || small >= MANY_SMALL) return dots >= 2 || small >= MANY_SMALL || odd >= 2;
      if (!isSeparator(byte)) odd++;
      dots = 0;
      continue;
    }
    if (byte < 0x80 && byte !== Byte.Question && byte !== Byte.Percent) {
      dots = 0;
    }
  }
  // What only bad decoders read.
  return odd >= 2;
}

/** A dot, `?` in place of one that was not read, 0x2e. */
function isDot(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at]!;
  if (byte === Byte.Dot) return true;
  if (byte === Byte.Question) return bytes[at + 1] === Byte.Dot || bytes[at - 1] === Byte.Dot;
  return byte === 0x30 && bytes[at + 1] === 0x78 && bytes[at + 2] === 0x32 && bytes[at + 3] === 0x65;
}

/** 0x2f, 0x5c, and 2f right after two dots. */
function isHexSeparator(bytes: Uint8Array, at: number): boolean {
  const isFirst = bytes[at] === 0x30 && bytes[at + 1] === 0x78;
  const digits = isFirst ? at + 2 : at;
  if (!isFirst && !(bytes[at - 1] === Byte.Dot && bytes[at - 2] === Byte.Dot)) return false;
  return (
    (bytes[digits] === 0x32 && bytes[digits + 1] === 0x66) || (bytes[digits] === 0x35 && bytes[digits + 1] === 0x63)
  );
}

/** U+2215, U+2216, U+FF0F and other look-alikes after a dot. */
function isWideSeparator(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at]!;
  const isAfterDot = bytes[at - 1] === Byte.Dot || bytes[at - 1] === Byte.Question;
  return isAfterDot && (byte === 0xe2 || byte === 0xef || byte === BEYOND_ASCII || byte === Byte.Percent);
}

/** In front of a path that has no root, too. */
const ANYWHERE = 2;
const FOLDERS: WordSet = new WordSet([
  [ANYWHERE, "etc proc windows winnt %systemroot% %windir% system32 apache2 xampp inetpub"],
  [1, "var usr opt root home boot dev sys srv run tmp lib sbin bin mnt apache apache2 httpd nginx php php4 php5"],
  [1, "library volumes private users wamp mysql logs log oracle tomcat sun winnt40 documents"],
  [1, "programdata"],
]);
const FILES: WordSet = new WordSet([
  [1, "passwd shadow boot.ini win.ini php.ini my.cnf my.ini httpd.conf nginx.conf access.log access_log error.log"],
  [1, "error_log .htaccess .htpasswd .rhosts .passwd .xauthority .bash_history .ssh sam system.ini iis6.log id_rsa"],
  [1, "config.inc.php metabase.xml hosts.equiv ntuser.dat config.inc wp-config.php web.config"],
]);
const EXTENSIONS: WordSet = new WordSet([[1, "ini conf cnf htaccess htpasswd rhosts"]]);
const MAX_PATH = 2048;
const MAX_BLANKS = 4;
const MANY_SMALL = 4;
