import { describe, expect, test } from "bun:test";
import { explainWaf } from "../../src/features/waf/waf-explanation.ts";
import { samples } from "../harness/long-lane.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { NO_ROUTES } from "../unit/features/waf/vector-request.ts";
import { ENFORCE } from "../unit/features/waf/waf-settings.ts";
import rce from "../vectors/waf/rce.json";
import sqli from "../vectors/waf/sqli.json";
import xss from "../vectors/waf/xss.json";

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
  test.each(["application/octet-stream", ""])(
    "are not taken for it: %p",
    (type) => {
      const random = new SeededRandom(20_261_123);
      for (let i = 0; i < 3000; i++) {
        const body = Buffer.alloc(random.pick([24, 64, 300, 1500, 5000]));
        for (let at = 0; at < body.length; at++) body[at] = random.integer(0, 255);
        body[0] = random.pick([0x7b, 0x5b, 0x22]);
        // So that what follows is in a string, as in many a text of JSON.
        if (i % 2 === 0) body[1] = 0x22;
        expect(rulesOf(type, body)).toEqual([]);
      }
    },
    60_000,
  );

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

const BINARY_TYPES = [
  ...[
    "application/octet-stream",
    "image/png",
    "image/jpeg",
    "video/mp4",
    "audio/mpeg",
    "font/woff2",
    "application/zip",
  ],
  ...["application/pdf", "application/gzip", "application/x-protobuf", "application/grpc", "application/wasm", ""],
];
const BOUNDARY = "-edge-5e1f";

/** A multipart body with one part. */
function partOf(fields: readonly string[], content: Uint8Array): Buffer {
  const head = Buffer.from([`--${BOUNDARY}`, ...fields, "", ""].join("\r\n"));
  return Buffer.concat([head, content, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
}

describe("bodies of noise", () => {
  test("are no attacks, whatever uploads them", () => {
    const random = new SeededRandom(20_261_127);
    const file = 'Content-Disposition: form-data; name="f"; filename="a.bin"';
    for (let i = 0; i < samples(6000, 260); i++) {
      const bytes = random.bytes(Math.floor(1024 * 64 ** random.next()));
      const type = BINARY_TYPES[i % BINARY_TYPES.length]!;
      expect(rulesOf(type, bytes), `body ${i}`).toEqual([]);
      if (i % 4 !== 0) continue;
      // Some clients name no type.
      const part = partOf(i % 8 === 0 ? [file] : [file, "Content-Type: application/octet-stream"], bytes);
      expect(rulesOf(`multipart/form-data; boundary=${BOUNDARY}`, part), `part ${i}`).toEqual([]);
      const message = Buffer.concat([Buffer.from([0, 0, 0, bytes.length >> 8, bytes.length & 255]), bytes]);
      if (bytes.length < 65_536) expect(rulesOf("application/grpc", message), `message ${i}`).toEqual([]);
    }
  }, 120_000);

  test.each([60, 255])(
    "are no documents for beginning with a sign of XML: %p",
    (second) => {
      const random = new SeededRandom(second);
      for (let i = 0; i < samples(2000, 40); i++) {
        const bytes = random.bytes(random.pick([1024, 4096, 16_384]));
        bytes[0] = 60;
        bytes[1] = second;
        expect(rulesOf("image/png", bytes), `body ${i}`).toEqual([]);
      }
    },
    120_000,
  );
});

describe("attacks that are called binary", () => {
  const noise = new SeededRandom(21).bytes(2048);
  const attacks = [sqli, xss, rce].flatMap(({ attacks }) => attacks.filter((attack) => !attack.startsWith("[")));
  const asForm = (attack: string): Buffer => Buffer.from(`q=${encodeURIComponent(attack)}`);
  const asJson = (attack: string): Buffer => Buffer.from(JSON.stringify({ q: attack }));
  const asXml = (attack: string): Buffer =>
    Buffer.from(`<a><q>${attack.replace(/[<&']/g, (sign) => `&#${sign.charCodeAt(0)};`)}</q></a>`);
  const isRefused = (type: string, body: Buffer): boolean => {
    const headers = type === "" ? [] : [`Content-Type: ${type}`];
    return explainWaf({ method: "POST", target: "/", headers, body }, ENFORCE, NO_ROUTES).verdict === "block";
  };

  test("are refused as they are under their own type, as a form, as JSON in UTF-8 and in UTF-16, behind a NUL", () => {
    for (const [i, attack] of attacks.entries()) {
      if (i % samples(1, 5) !== 0) continue;
      const [form, json] = [asForm(attack), asJson(attack)];
      const type = BINARY_TYPES[i % BINARY_TYPES.length]!;
      if (isRefused("application/x-www-form-urlencoded", form)) {
        expect(isRefused(type, form), `${type}: ${attack}`).toBe(true);
        expect(isRefused(type, Buffer.concat([Buffer.alloc(1), form])), `NUL, ${type}: ${attack}`).toBe(true);
      }
      if (!isRefused("application/json", json)) continue;
      expect(isRefused(type, json), `${type}: ${attack}`).toBe(true);
      expect(isRefused(type, Buffer.from(json.toString(), "utf16le")), `UTF-16, ${type}: ${attack}`).toBe(true);
    }
  }, 120_000);

  test("are refused as parts of XML with noise behind it, and as fields whatever is beside them", () => {
    for (const [i, attack] of attacks.entries()) {
      if (i % samples(1, 5) !== 0) continue;
      const xml = asXml(attack);
      const isXml = isRefused("application/xml", xml);
      if (isXml) expect(isRefused("image/png", Buffer.concat([xml, noise])), `XML: ${attack}`).toBe(true);
      const multipart = `multipart/form-data; boundary=${BOUNDARY}`;
      const field = partOf(['Content-Disposition: form-data; name="q"'], Buffer.from(`${attack}\0`));
      expect(isRefused(multipart, field), `field: ${attack}`).toBe(true);
      const file = partOf(['Content-Disposition: form-data; name="q"; filename="a"'], Buffer.from(`${attack}\0`));
      expect(isRefused(multipart, file), `file without a type: ${attack}`).toBe(true);
    }
  }, 120_000);
});
