import { describe, expect, test } from "bun:test";
import { attacksOn } from "../../../../src/tools/loadgen/attack-catalogue.ts";
import { AttackTier, LoadEnding, tierOf } from "../../../../src/tools/loadgen/attack-tier.ts";

const NAMES = ["active defence", "route miss", "bypass", "unhandled"];

describe("an answer to an attack", () => {
  test.each([
    [AttackTier.ActiveDefense, [400, 403, 413, 431, 501, LoadEnding.Reset, LoadEnding.Closed]],
    [AttackTier.RouteMiss, [404]],
    [AttackTier.Bypassed, [200]],
    [AttackTier.Unhandled, [500, 502, 503, 405, 401, 201, 204, 301, 414, 429, 504]],
    [AttackTier.Unhandled, [LoadEnding.Timeout, LoadEnding.ConnectFailed, LoadEnding.Malformed, LoadEnding.NotSent]],
  ])("is in tier %d", (tier, outcomes) => {
    expect(outcomes.map((outcome) => NAMES[tierOf(outcome)])).toEqual(outcomes.map(() => NAMES[tier]));
  });
});

describe("the catalogue", () => {
  const attacks = attacksOn("/health", "gw.test:80");
  const text = (id: string) => attacks.find((attack) => attack.id === id)!.bytes.latin1Slice();

  test("has the eight documented attacks, with the statuses that are expected", () => {
    expect(attacks.map(({ id, expected }) => `${id} ${expected}`)).toEqual([
      ...[
        "ADV-01 400",
        "ADV-02 400",
        "ADV-03 400",
        "ADV-04 400",
        "ADV-05 400",
        "ADV-06 403",
        "ADV-07 431",
        "ADV-08 413",
      ],
    ]);
  });

  test("sends what the documentation names", () => {
    expect(text("ADV-01")).toMatch(/\r\nContent-Length: \d+\r\nTransfer-Encoding: chunked\r\n/);
    expect(text("ADV-02")).toMatch(/\r\nTransfer-Encoding: chunked\r\nContent-Length: \d+\r\n/);
    expect(text("ADV-03")).toStartWith("GET /health\0 HTTP/1.1\r\n");
    expect(text("ADV-04")).toMatch(/\r\nX-[^\r]+\r\n [^\r]+\r\n/);
    expect(text("ADV-05")).toMatch(/\r\n[\w-]+ : [^\r]+\r\n/);
    expect(text("ADV-06")).toStartWith("GET /../../etc/passwd HTTP/1.1\r\n");
    expect(
      Math.max(
        ...text("ADV-07")
          .split("\r\n")
          .map((line) => line.length),
      ),
    ).toBeGreaterThan(8192);
    expect(text("ADV-08")).toContain("Content-Length: 104857600\r\n\r\n");
  });
});
