import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { corpusCases } from "./corpus-cases.ts";
import { crsCases } from "./crs-cases.ts";
import { goTestWafCases, goTestWafScore } from "./gotestwaf-cases.ts";
import type { WafCase } from "./waf-case.ts";
import { resultsPage } from "./waf-table.ts";
import { askFirewall, sendMany, startOrigin } from "./waf-wire.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-waf-cases-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string | Uint8Array): string {
  const file = join(folder, path);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
  return file;
}

function textOf({ bytes }: WafCase): string {
  return Buffer.from(bytes).toString("latin1");
}

describe("cases", () => {
  test("of a corpus are put where their rows say", () => {
    const rows = [
      { set: "a", group: "g/1", at: "query", text: "x y&", kind: "attack" },
      {
        set: "a",
        group: "g/2",
        at: "raw",
        b64: Buffer.from("GET / HTTP/1.1\r\n\r\n").toString("base64"),
        kind: "benign",
        w: 3,
      },
      { set: "a", group: "g", at: "query", text: "or", kind: "attack", bare: 1 },
      { set: "a", group: "g", at: "h2", text: "{}", kind: "attack" },
      { set: "cost", group: "g", at: "any-body", text: "(", kind: "cost" },
    ];
    const file = write("corpus.gz", gzipSync(rows.map((row) => JSON.stringify(row)).join("\n")));
    const cases = corpusCases(file);
    expect(cases.map(({ set, group, isAttack, weight }) => [set, group, isAttack, weight])).toEqual([
      ["corpus: a", "g", true, 1],
      ["corpus: a", "g", false, 3],
    ]);
    expect(textOf(cases[0]!)).toStartWith("GET /search?q=x%20y%26&page=1 HTTP/1.1\r\nHost: localhost\r\n");
    expect(textOf(cases[1]!)).toBe("GET / HTTP/1.1\r\n\r\n");
  });

  test("of GoTestWAF are each payload with each encoding in each place", () => {
    write(
      "gtw/owasp/a.yml",
      "payload: ['<a b>']\nencoder: [URL, Base64Flat]\nplaceholder: [URLParam, HTMLForm, gRPC]\n",
    );
    write(
      "gtw/false-pos/b.yml",
      "payload: ['x']\nencoder: [Plain]\nplaceholder: [{RawRequest: {method: PUT, path: /p, body: 'b={{payload}}'}}]\n",
    );
    const cases = goTestWafCases(join(folder, "gtw"));
    const shown = cases.map((one) => [one.isAttack, textOf(one).split("\r\n")[0], textOf(one).split("\r\n\r\n")[1]]);
    expect(shown).toEqual([
      [false, "PUT /p HTTP/1.1", "b=x"],
      [true, "GET /?ab1c2d3e4f=%3Ca%20b%3E HTTP/1.1", ""],
      [true, "GET /?ab1c2d3e4f=PGEgYj4 HTTP/1.1", ""],
      [true, "POST / HTTP/1.1", "ab1c2d3e4f=%3Ca%20b%3E"],
      [true, "POST / HTTP/1.1", "ab1c2d3e4f=PGEgYj4"],
    ]);
    expect(goTestWafScore(cases, ({ isAttack }) => isAttack)).toBe(100);
    expect(goTestWafScore(cases, () => false)).toBe(50);
  });

  test("of the Core Rule Set are attacks where a rule must match", () => {
    const stage = (output: string) =>
      `{stages: [{input: {method: POST, uri: /x, data: "a=1", headers: {Host: h}}, output: ${output}}]}`;
    write(
      "crs/R-930/930100.yaml",
      `tests: [${stage("{log: {expect_ids: [930100]}}")}, ${stage("{log: {no_expect_ids: [930100]}}")}]\n`,
    );
    write("crs/R-951/951100.yaml", `tests: [${stage("{log: {expect_ids: [951100]}}")}]\n`);
    const cases = crsCases(join(folder, "crs"));
    expect(cases.map(({ group, isAttack }) => [group, isAttack])).toEqual([
      ["CRS 930", true],
      ["CRS 930", false],
    ]);
    expect(textOf(cases[0]!)).toContain(
      "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=1",
    );
  });
});

test("requests are asked for, and counted in a table", async () => {
  const origin = startOrigin();
  const port = Number(new URL(origin.url).port);
  const request = Buffer.from("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
  expect(await askFirewall(port, request)).toBe("passed");
  await sendMany(port, request, 20);
  origin.stop();
  expect(await askFirewall(port, request)).toBe("error");
  const one = { set: "s", group: "g", weight: 1, bytes: request };
  const cases = [
    { ...one, isAttack: true },
    { ...one, isAttack: true },
    { ...one, isAttack: false, weight: 3 },
  ];
  const judged = [{ name: "edge", verdicts: ["blocked", "passed", "refused"] as const }];
  const costs = [{ load: "plain GET", cells: [{ name: "edge", micros: 1.4 }] }];
  const page = resultsPage(cases, judged, costs, "a peer");
  expect(page).toContain("| s | 2 | 1 | 50 % | 100.00 % |");
  expect(page).toContain("| plain GET | 1 |");
});
