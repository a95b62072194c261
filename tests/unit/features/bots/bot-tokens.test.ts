import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { zeroBits } from "../../../../src/features/bots/bot-tokens.ts";
import { challengeResponse } from "../../../../src/features/bots/challenge-page.ts";

const FACTS = {
  task: "abcdef.16.AAAAAAAAAAAAAAAAAAAAAA",
  difficulty: 16,
  isAgain: false,
  sends: false,
  requestId: "id-1",
};

test("the bits of zero that a hash begins with are counted", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 8 }), fc.nat(4), (bytes, zeros) => {
      const hash = Uint8Array.from([...new Array<number>(zeros).fill(0), ...bytes]);
      const text = [...hash].map((byte) => byte.toString(2).padStart(8, "0")).join("");
      expect(zeroBits(hash)).toBe(text.includes("1") ? text.indexOf("1") : text.length);
    }),
  );
});

test("the page holds what its policy lets run, and nothing of a request unescaped", () => {
  const reply = challengeResponse({ ...FACTS, isAgain: true, sends: true, requestId: `"><b>'&` });
  const page = reply.body.toString();
  const policy = new Map(reply.fields).get("Content-Security-Policy")!;
  const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  expect(policy).toContain(`script-src ${hashOf(/<script>(.*?)<\/script>/s.exec(page)![1]!)};`);
  expect(policy).toContain(`style-src ${hashOf(/<style>(.*?)<\/style>/s.exec(page)![1]!)};`);
  expect(page).toContain(
    'data-task="abcdef.16.AAAAAAAAAAAAAAAAAAAAAA" data-bits="16" data-again="true" data-sends="true"',
  );
  expect(page).toContain("<code>&#34;&#62;&#60;b&#62;&#39;&#38;</code>");
  expect(page).not.toMatch(/\{(task|difficulty|isAgain|sends|requestId)\}/);
});

test("the page's own SHA-256 is SHA-256, for all texts of one block", async () => {
  const page = challengeResponse(FACTS).body.toString();
  const work = /<script type="text\/plain" id="work">(.*?)<\/script>/s.exec(page)![1]!;
  const ownWord = new Function("self", `${work.replace("onmessage=", "const unused=")}; return ownWord;`)({}) as (
    text: string,
  ) => number;
  fc.assert(
    fc.property(fc.stringMatching(/^[\x20-\x7e]{0,55}$/), (text) => {
      expect(ownWord(text)).toBe(createHash("sha256").update(text).digest().readInt32BE(0));
    }),
  );
});
