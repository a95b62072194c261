import { describe, expect, test } from "bun:test";
import { explainWaf } from "../../src/features/waf/waf-explanation.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { NO_ROUTES } from "../unit/features/waf/vector-request.ts";
import { ENFORCE } from "../unit/features/waf/waf-settings.ts";

/** The rules that match a body. */
function rulesOf(type: string, body: Uint8Array): string[] {
  const headers = type === "" ? [] : [`Content-Type: ${type}`];
  const { rules } = explainWaf({ method: "POST", target: "/upload", headers, body }, ENFORCE, NO_ROUTES);
  return rules.map(({ id }) => id);
}

/** Without the notes on what readers of JSON take in different ways. */
const attacksIn = (type: string, body: Buffer): string[] =>
  [...rulesOf(type, body)].filter((rule) => !rule.startsWith("JSON-"));

describe("binary bodies that begin like JSON", () => {
  test.each(["application/octet-stream", ""])("are not taken for it: %p", (type) => {
    const random = new SeededRandom(20_261_123);
    for (let i = 0; i < 3000; i++) {
      const body = Buffer.alloc(random.pick([24, 64, 300, 1500, 5000]));
      for (let at = 0; at < body.length; at++) body[at] = random.integer(0, 255);
      body[0] = random.pick([0x7b, 0x5b, 0x22]);
      // So that what follows is in a string, as in many a text of JSON.
      if (i % 2 === 0) body[1] = 0x22;
      expect(rulesOf(type, body)).toEqual([]);
    }
  });

  test("are JSON where they are said to be, and where all else in them is text", () => {
    const text = Buffer.from('{"file":"a.php\0.jpg"}');
    for (const type of ["application/json", "application/octet-stream", "text/plain", ""])
      expect(attacksIn(type, text)).toEqual(["PROTOCOL-002"]);
    const cut = Buffer.concat([text, Buffer.from('["é')]).subarray(0, -1);
    expect(attacksIn("", cut)).toEqual(["PROTOCOL-002"]);
    const noise = Buffer.from('{"file":"a.php\0.jpg\x01\xff"}', "latin1");
    expect(attacksIn("application/json", noise)).toEqual(["PROTOCOL-002"]);
    expect(attacksIn("", noise)).toEqual([]);
  });

  test("are still searched for all else", () => {
    const attack = Buffer.from("{\"q\":\"\0\x01\xff 1' or '1'='1\"}", "latin1");
    expect(rulesOf("application/octet-stream", attack)).toContain("SQLI-002");
  });
});
