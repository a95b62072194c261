import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  ACCESS_FIELDS,
  type AccessField,
  USUAL_ACCESS_FIELDS,
} from "../../../../src/features/telemetry/access-fields.ts";
import { AccessLog, linePolicy } from "../../../../src/features/telemetry/access-log.ts";
import type { LineForm } from "../../../../src/features/telemetry/line-formats.ts";
import { Attempt } from "../../../../src/message/exchange.ts";
import { samePolicy } from "../../../harness/same-policy.ts";
import { fakeExchange, fakeRoute } from "./exchange-fake.ts";
import { fakeAccessPorts, fakeTelemetry, USUAL_LINES } from "./telemetry-fake.ts";

function lineOf(form: LineForm | undefined, request: Parameters<typeof fakeExchange>[0], change: object = {}): string {
  const telemetry = fakeTelemetry();
  const ports = fakeAccessPorts(telemetry);
  const { ex } = fakeExchange(request);
  Object.assign(ex, change);
  new AccessLog(samePolicy(linePolicy({ ...USUAL_LINES, ...form }, telemetry.batch, false, ports)), ports).onEnd(ex);
  telemetry.batch.flush();
  return telemetry.batches.join("");
}

const REQUEST = {
  target: "/a%20b/c?token=x",
  headers: [
    ["Host", "www.example.com"],
    ["User-Agent", "curl/8"],
    ["Referer", "https://other.test/p?code=x#y"],
  ] as [string, string][],
  client: "192.0.2.9",
  route: fakeRoute("/a"),
  status: 200,
  requestId: "abc",
};

describe("formats of the access log", () => {
  test("all usual fields by name are the line that there is without", () => {
    for (const change of [
      {},
      {
        attempt: Object.assign(new Attempt(), { upstreamLabel: "http://10.0.0.1", upstreamMs: 1.5, count: 2 }),
        wafScore: 3,
        identity: { user: "al\u00efce" },
      },
    ]) {
      expect(lineOf({ format: "json", fields: USUAL_ACCESS_FIELDS }, REQUEST, change)).toBe(
        lineOf(undefined, REQUEST, change),
      );
    }
  });

  test("fields are those named, in their order", () => {
    const fields: AccessField[] = ["status", "query", "referer", "path", "upstream", "asn"];
    expect(lineOf({ format: "json", fields }, REQUEST)).toBe(
      '{"status":200,"query":"token=x","referer":"https://other.test/p","path":"/a%20b/c","upstream":null,"asn":null}\n',
    );
  });

  test("common and combined are as other servers write them, without the query", () => {
    const common = '192.0.2.9 - alice [31/Jan/2026:12:00:00 +0000] "GET /a%20b/c HTTP/1.1" 200 0';
    const change = { identity: { user: "alice" } };
    expect(lineOf({ format: "common", fields: [] }, REQUEST, change)).toBe(`${common}\n`);
    const combined = `${common} "https://other.test/p" "curl/8"\n`;
    expect(lineOf({ format: "combined", fields: [] }, REQUEST, change)).toBe(combined);
    expect(lineOf({ format: "common", fields: [] }, REQUEST)).toStartWith("192.0.2.9 - - [31/Jan");
  });

  test("a template has fields and placeholders", () => {
    const format = "{client_ip} {uri} {header.User-Agent} {{x}} {status} {cookie.none}";
    expect(lineOf({ format, fields: [] }, REQUEST)).toBe("192.0.2.9 /a%20b/c?token=x curl/8 {x} 200 -\n");
  });

  test("what a client sends ends neither its field nor the line", () => {
    const text = fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 40 });
    fc.assert(
      fc.property(text, (agent) => {
        const headers: [string, string][] = [["User-Agent", agent.replace(/[\r\n\0]/g, "")]];
        const line = lineOf({ format: 'x "{user_agent}" y', fields: [] }, { ...REQUEST, headers });
        expect(line).toMatch(/^x "[^"\x00-\x1f\x7f-\x9f]*" y\n$/);
        const json = lineOf({ format: "json", fields: ["user_agent"] }, { ...REQUEST, headers });
        expect(json.indexOf("\n")).toBe(json.length - 1);
        JSON.parse(json);
      }),
    );
  });

  test("every field can be named", () => {
    const all = Object.keys(ACCESS_FIELDS) as AccessField[];
    expect(Object.keys(JSON.parse(lineOf({ format: "json", fields: all }, REQUEST)))).toEqual(all);
  });
});
