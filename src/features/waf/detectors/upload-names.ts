import { Byte } from "../../../core/bytes.ts";
import { isSeparator } from "../match/scan.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, type WafRule } from "../rule.ts";

/** Found by the reader of multipart bodies. */
export const SCRIPT_UPLOAD: WafRule = {
  id: "RCE-012",
  crs: [933110, 932180, 944140],
  category: "rce",
  score: CRITICAL_SCORE,
  description: "upload of an executable file, or file name with path traversal",
};

/** Finds names of uploaded files that a server would run, or that leave the folder of uploads. */
export function findScriptUpload(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  if (NAMES.valueOf(bytes, 0, length) !== 0) listener.found(SCRIPT_UPLOAD, 0);
  for (let at = 0; at < length; at++) {
    if (isSeparator(bytes[at]!) && at > 1 && bytes[at - 1] === Byte.Dot && bytes[at - 2] === Byte.Dot)
      listener.found(SCRIPT_UPLOAD, at);
    if (bytes[at] !== Byte.Dot) continue;
    // The last extension, and any before it: x.php.jpg is run by careless servers.
    let end = at + 1;
    while (
      bytes[end]! > Byte.Space &&
      bytes[end] !== Byte.Dot &&
      bytes[end] !== Byte.Semicolon &&
      bytes[end] !== Byte.Colon
    )
      end++;
    if (EXTENSIONS.valueOf(bytes, at + 1, end) !== 0) listener.found(SCRIPT_UPLOAD, at);
  }
}

const EXTENSIONS: WordSet = new WordSet([
  [
    1,
    "php php3 php4 php5 php7 php8 phps pht phtml phar pgif jsp jspx jspf jsw jsv asp aspx asa ashx asmx ascx cer cdx cfm",
  ],
  [1, "cfml shtml stm vbs hta"],
]);
const NAMES: WordSet = new WordSet([[1, ".htaccess .htpasswd web.config .user.ini php.ini"]]);
