import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { WafInspector } from "../../../../src/features/waf/waf-inspector.ts";
import { headOf } from "../../../harness/hostile-values.ts";
import { inspectWhole } from "../../../harness/waf-bodies.ts";
import { NO_ROUTES } from "./vector-request.ts";

const inspectors = [1, 2].map((level) => {
  return new WafInspector([], NO_ROUTES, [], undefined, undefined, { level, profile: [] });
});
const plain = inspectors[0]!;

function scoreOf(by: WafInspector, type: string, text: string): number {
  const body = Buffer.from(text, "latin1");
  return inspectWhole(by, headOf("/x", [`Content-Type: ${type}`]), 0, body);
}

/** Rules that find a text in any of the places where clients send it. */
function findsOf(text: string): string[] {
  const bodies = [
    ["application/x-www-form-urlencoded", `a=${encodeURIComponent(text)}&b=1`],
    ["application/x-www-form-urlencoded", `a=${text}&b=1`],
    ["application/json", JSON.stringify({ data: text })],
    ["application/json", JSON.stringify({ data: text }).replaceAll("/", "\\/")],
    ["application/xml", `<a>${text}</a>`],
    ["text/plain", text],
    ["multipart/form-data; boundary=B", `--B\r\nContent-Disposition: form-data; name="q"\r\n\r\n${text}\r\n--B--\r\n`],
  ] as const;
  const finds = bodies.flatMap(([type, body]) => (scoreOf(plain, type, body) > 0 ? plain.findings.rules() : []));
  const line = text.replaceAll(/\s/g, "").slice(0, 4000);
  const heads = [
    headOf(`/x?token=${encodeURIComponent(line)}`, []),
    headOf(`/x/${line.replaceAll("+", "-").replaceAll("/", "_")}`, []),
    headOf("/x", [`Cookie: s=${line}`]),
    headOf("/x", [`X-Token: ${line}`]),
  ];
  finds.push(...heads.flatMap((head) => (plain.inspect(head) > 0 ? plain.findings.rules() : [])));
  return finds.map(({ id }) => id);
}

/** Bytes that look random, always the same. */
function noise(length: number, seed: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 32) }, (_, i) => {
    return createHash("sha256").update(`${seed}:${i}`).digest();
  });
  return Buffer.concat(blocks).subarray(0, length);
}

const lines = (text: string, width: number): string => (text.match(new RegExp(`.{1,${width}}`, "g")) ?? []).join("\n");

describe("what is in base64", () => {
  test("is no attack where it is an image, an archive, a key or a token", () => {
    for (let seed = 0; seed < 60; seed++) {
      const bytes = noise(24 + seed * 40, seed);
      const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1"), bytes]);
      for (const text of [bytes, png, gzipSync(bytes)].map((one) => one.toString("base64"))) {
        expect(findsOf(text)).toEqual([]);
        expect(findsOf(lines(text, 76))).toEqual([]);
      }
      expect(findsOf(bytes.toString("base64url"))).toEqual([]);
      expect(findsOf(`data:image/png;base64,${png.toString("base64")}`)).toEqual([]);
      for (const kind of ["CERTIFICATE", "PRIVATE KEY", "PGP MESSAGE", "PGP SIGNATURE"])
        expect(
          findsOf(`-----BEGIN ${kind}-----\n${lines(bytes.toString("base64"), 64)}\n-----END ${kind}-----\n`),
        ).toEqual([]);
    }
  });

  test("is no attack where it is a token with claims", () => {
    const claims = { sub: "42", name: "O'Neil & Sons", roles: ["select", "admin"], aud: "https://a.test/cb?x=1&y=2" };
    const parts = [{ alg: "ES256", typ: "JWT" }, claims].map((one) =>
      Buffer.from(JSON.stringify(one)).toString("base64url"),
    );
    expect(findsOf(`${parts.join(".")}.${noise(64, 1).toString("base64url")}`)).toEqual([]);
  });

  test("is no attack where it is a file of many lines, whatever it says", () => {
    const file = `-- a dump\nDROP TABLE IF EXISTS a;\nSELECT a, b FROM c UNION SELECT 1, 2;\n<script>alert(1)</script>\n${"x = 1 -- y\n".repeat(60)}`;
    expect(findsOf(Buffer.from(file).toString("base64"))).toEqual([]);
  });

  test("is an attack where it is one line, or a short text", () => {
    for (const text of [
      "1' or '1'='1' union select 1,2-- ",
      `${"a".repeat(600)}<script>alert(1)</script>`,
      "x\n;cat /etc/passwd\n\n\n\n",
    ])
      expect(findsOf(Buffer.from(text).toString("base64"))).not.toEqual([]);
  });
});

describe("a report of a browser", () => {
  const samples = [
    "",
    "alert(1)",
    "document.write('<scr",
    'onclick="f(1)',
    "javascript:alert(1)",
    'try{eval("0;")}catch(e){}',
    "select * from x",
  ];
  const blocked = [
    "inline",
    "eval",
    "data:text/html;base64,PHNjcmlwdD4=",
    "http://127.0.0.1:9222/json",
    "https://x.test/?q=1' or '1'='1",
    "file:///etc/passwd",
  ];
  const policy = "default-src 'self'; script-src 'unsafe-inline' 'nonce-x' https:; object-src 'none'; report-uri /csp";

  test("scores nothing, whatever it quotes of the page", () => {
    for (const by of inspectors) {
      for (const sample of samples) {
        for (const uri of blocked) {
          const old = { "document-uri": uri, "blocked-uri": uri, "script-sample": sample, "original-policy": policy };
          expect(scoreOf(by, "application/csp-report", JSON.stringify({ "csp-report": old }))).toBe(0);
          const body = { blockedURL: uri, sample, originalPolicy: policy, documentURL: uri, message: sample };
          const list = [{ age: 1, type: "csp-violation", url: uri, user_agent: "Mozilla/5.0", body }];
          expect(scoreOf(by, "application/reports+json; charset=utf-8", JSON.stringify(list))).toBe(0);
        }
      }
    }
  });

  test("is inspected as all JSON is where it is none: other members, other types, several types", () => {
    const attack = "1' or '1'='1";
    expect(scoreOf(plain, "application/csp-report", JSON.stringify({ user: attack }))).toBeGreaterThanOrEqual(5);
    expect(
      scoreOf(plain, "application/csp-report", JSON.stringify({ body: { sample: attack } })),
    ).toBeGreaterThanOrEqual(5);
    expect(scoreOf(plain, "application/reports+json", JSON.stringify({ url: attack }))).toBeGreaterThanOrEqual(5);
    const quoted = JSON.stringify({ "csp-report": { "script-sample": attack } });
    expect(scoreOf(plain, "application/json", quoted)).toBeGreaterThanOrEqual(5);
    expect(scoreOf(plain, "application/csp-report, application/json", quoted)).toBeGreaterThanOrEqual(5);
    expect(
      scoreOf(plain, "application/csp-report", `{"csp-report":{"script-sample":"x"},"a":"${attack}"}`),
    ).toBeGreaterThanOrEqual(5);
  });
});
