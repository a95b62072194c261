import { HEX_VALUE } from "../../../core/bytes.ts";

// Texts here have one character a byte.

/** `%41` and `+`, once. */
export function urlDecode(text: string): string {
  if (!/[%+]/.test(text)) return text;
  return text.replace(/\+|%([0-9a-f]{2})/gi, (whole, hex: string | undefined) =>
    hex === undefined ? (whole === "+" ? " " : whole) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** The same, and `%u0041`; letters of full width become those of ASCII. */
export function urlDecodeUni(text: string): string {
  if (!/[%+]/.test(text)) return text;
  return text.replace(/\+|%u([0-9a-f]{4})|%([0-9a-f]{2})/gi, (_, wide: string | undefined, hex: string | undefined) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    return wide === undefined ? " " : narrow(Number.parseInt(wide, 16));
  });
}

/** The lower byte of a character; that of ASCII where it is of full width. */
function narrow(code: number): string {
  return String.fromCharCode(code > 0xff00 && code < 0xff5f ? code - 0xfee0 : code & 0xff);
}

/** `\x41`, `\u0041`, `\u{41}`, `\101`, `\n` and the like, as scripts write them; of `\z` the letter. */
export function jsDecode(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    /\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2})|([0-3]?[0-7]{1,2})|([\s\S]))/gi,
    (_, braced?: string, wide?: string, hex?: string, octal?: string, letter?: string) => {
      const code = braced ?? wide;
      if (code !== undefined) return narrow(Number.parseInt(code, 16));
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      return LETTERS[letter!] ?? letter!;
    },
  );
}

/** `\41 ` of one to six digits, as style sheets write characters; of `\z` the letter. */
export function cssDecode(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\(?:([0-9a-f]{1,6})\s?|\n|([\s\S])|$)/gi, (_, hex?: string, letter?: string) => {
    if (hex === undefined) return letter ?? "";
    const code = Number.parseInt(hex, 16);
    if (code > 0xff00 && code < 0xff5f) return String.fromCharCode(code - 0xfee0);
    return utf8(code === 0 || code > 0x10ffff ? 0xfffd : code);
  });
}

/** `\n`, `\x41`, `\101`, as C writes them; of `\z` the letter. */
export function escapeSeqDecode(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    /\\(?:x([0-9a-f]{2})|([0-7]{1,3})|([\s\S]))/gi,
    (_, hex?: string, octal?: string, letter?: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      return LETTERS[letter!] ?? letter!;
    },
  );
}

/** `&lt;`, `&#60;` and `&#x3c;`, with or without the semicolon. */
export function htmlEntityDecode(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#x([0-9a-f]{1,8})|#(\d{1,8})|([a-z]{2,8}));?/gi,
    (whole, hex?: string, decimal?: string, name?: string) => {
      if (name !== undefined) {
        const known = ENTITIES[name] ?? ENTITIES[name.toLowerCase()];
        return known === undefined ? whole : utf8(known);
      }
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return utf8(code === 0 || code > 0x10ffff ? 0xfffd : code);
    },
  );
}

/** Base64 up to what is none of it. @param isLenient passes over that, and takes `-` and `_` */
export function base64Decode(text: string, isLenient: boolean): string {
  const plain = text.replace(/[\r\n]/g, "");
  const end = plain.search(isLenient ? /=/ : /[^A-Za-z0-9+/]/);
  const cut = end < 0 ? plain : plain.slice(0, end);
  const kept = isLenient ? cut.replace(/[^A-Za-z0-9+/_-]/g, "") : cut;
  return Buffer.from(kept, "base64").toString("latin1");
}

/** Pairs of hexadecimal digits; what consists of others stays. */
export function hexDecode(text: string): string {
  if (text.length % 2 !== 0) return text;
  let out = "";
  for (let at = 0; at < text.length; at += 2) {
    const high = HEX_VALUE[text.charCodeAt(at)] ?? 255;
    const low = HEX_VALUE[text.charCodeAt(at + 1)] ?? 255;
    if ((high | low) > 15) return text;
    out += String.fromCharCode(high * 16 + low);
  }
  return out;
}

/** Characters beyond ASCII in UTF-8 as `%u00e9`. */
export function utf8ToUnicode(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text;
  const characters = Buffer.from(text, "latin1").toString("utf8");
  return characters.replace(/[^\x00-\x7f]/gu, (one) => `%u${one.codePointAt(0)!.toString(16).padStart(4, "0")}`);
}

function utf8(code: number): string {
  return code < 0x80 ? String.fromCharCode(code) : Buffer.from(String.fromCodePoint(code), "utf8").toString("latin1");
}

const LETTERS: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
/** What attacks and pages are written with. */
const ENTITIES: Readonly<Record<string, number>> = {
  lt: 60,
  gt: 62,
  amp: 38,
  quot: 34,
  apos: 39,
  nbsp: 160,
  tab: 9,
  newline: 10,
  colon: 58,
  semi: 59,
  lpar: 40,
  rpar: 41,
  lsqb: 91,
  rsqb: 93,
  lbrack: 91,
  rbrack: 93,
  lcub: 123,
  rcub: 125,
  lbrace: 123,
  rbrace: 125,
  sol: 47,
  bsol: 92,
  comma: 44,
  period: 46,
  excl: 33,
  quest: 63,
  num: 35,
  dollar: 36,
  percnt: 37,
  ast: 42,
  plus: 43,
  equals: 61,
  commat: 64,
  lowbar: 95,
  hat: 94,
  grave: 96,
  verbar: 124,
  vert: 124,
};
