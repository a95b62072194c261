import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ClientHello } from "../../../../src/proto/tls/client-hello.ts";
import {
  helloMessage,
  message,
  protocolNames,
  records,
  serverName,
  signatureSchemes,
  supportedVersions,
  vector,
} from "./hello-bytes.ts";
import { type HelloRead, readHello } from "./read-hello.ts";

interface HelloVector extends ClientHello {
  readonly name: string;
  /** Hexadecimal, as the client sent it. */
  readonly bytes: string;
}

const RECORDED = readFileSync(join(import.meta.dir, "../../../vectors/tls/client-hellos.jsonl"), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as HelloVector);

/** Reads bytes whole and byte by byte; both must come to the same. */
function read(bytes: Uint8Array): HelloRead {
  const whole = readHello([bytes]);
  const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte));
  const bytewise = readHello(pieces);
  expect(bytewise).toEqual(whole);
  return whole;
}

const FIELDS = { serverName: "", protocols: [], versions: [0x0303], signatures: [], allowsEcdsa: true };

test("suites count in the version that goes with them", () => {
  const of = (ciphers: string, version: number[]) => {
    const extensions = version.length === 0 ? [] : [supportedVersions(...version)];
    const read_ = read(records(helloMessage({ ciphers: Buffer.from(ciphers, "hex"), extensions })));
    if (read_.outcome !== "complete") throw new Error("not read");
    const { isTls13, allowsEcdsa, allowsRsa } = read_.hello!;
    return [isTls13, allowsEcdsa, allowsRsa];
  };
  expect(of("1301", [0x0304])).toEqual([true, true, true]);
  expect(of("1301c02f", [])).toEqual([false, false, true]);
  expect(of("1301c02b", [0x0303])).toEqual([false, true, false]);
  expect(of("c02b", [0x0304, 0x0303])).toEqual([false, true, false]);
  expect(of("c009c013", [0x0303])).toEqual([false, false, false]);
});

describe("a ClientHello of a real client", () => {
  test.each(RECORDED.map((each) => [each.name, each] as const))("%s", (_name, { bytes, name: _, ...wanted }) => {
    expect(read(Buffer.from(bytes, "hex"))).toMatchObject({ outcome: "complete", hello: wanted });
  });

  test.each([1, 3, 4, 5, 100])("is the same in records of %d bytes", (size) => {
    for (const { bytes, name: _, ...wanted } of RECORDED) {
      const body = Buffer.from(bytes, "hex").subarray(5);
      expect(read(records(body, size))).toMatchObject({ outcome: "complete", hello: wanted });
    }
  });
});

describe("what it says", () => {
  test.each<[string, [number, Uint8Array][] | null, Partial<ClientHello>]>([
    ["no extensions at all", null, {}],
    ["an empty section of extensions", [], {}],
    ["a name in capitals", [serverName("A.Example")], { serverName: "a.example" }],
    ["a name with a dot at its end", [serverName("a.example.")], { serverName: "a.example" }],
    ["an underscore", [serverName("_x.a-b.example")], { serverName: "_x.a-b.example" }],
    ["a name of another type", [serverName([7, Buffer.from("abc")], "a.test")], { serverName: "a.test" }],
    ["no host name: a NUL", [serverName("a.test\0.evil")], {}],
    ["no host name: a space", [serverName("a b")], {}],
    ["no host name: a letter beyond ASCII", [serverName("m\xfcller.test")], {}],
    ["no host name: an address in brackets", [serverName("[::1]")], {}],
    ["no host name: too long", [serverName("a".repeat(254))], {}],
    ["protocols", [protocolNames("h2", "http/1.1")], { protocols: ["h2", "http/1.1"] }],
    [
      "forty protocols, of which the first count",
      [protocolNames(...new Array(40).fill("x"))],
      { protocols: new Array(32).fill("x") },
    ],
    ["versions", [supportedVersions(0x0304, 0x0303)], { versions: [0x0304, 0x0303] }],
    ["signatures", [signatureSchemes(0x0403, 0x0804)], { signatures: [0x0403, 0x0804] }],
    ["many signatures", [signatureSchemes(...new Array(99).fill(0x0403))], { signatures: new Array(64).fill(0x0403) }],
    [
      "unknown and reserved extensions",
      [
        [0x0a0a, Buffer.of(0)],
        [65281, Buffer.of(0)],
      ],
      {},
    ],
  ])("%s", (_name, extensions, wanted) => {
    const read_ = read(records(helloMessage({ extensions })));
    expect(read_).toMatchObject({ outcome: "complete", hello: { ...FIELDS, ...wanted } });
  });

  test("bytes behind it are not its own", () => {
    const bytes = Buffer.concat([records(helloMessage()), Buffer.from("more")]);
    expect(read(bytes).outcome).toBe("complete");
  });
});

describe("what is malformed", () => {
  test.each<[string, Buffer]>([
    ["an unknown version of the record", Buffer.of(22, 2)],
    ["an empty record", Buffer.of(22, 3, 1, 0, 0)],
    ["a record of more than 16 KiB", Buffer.of(22, 3, 1, 0x40, 1)],
    ["a message of no bytes", records(message(1, Buffer.alloc(0)))],
    ["a message of three bytes", records(message(1, Buffer.alloc(3)))],
    ["a session id of 33 bytes", records(helloMessage({ session: Buffer.alloc(33) }))],
    ["no cipher suites", records(helloMessage({ ciphers: Buffer.alloc(0) }))],
    ["half a cipher suite", records(helloMessage({ ciphers: Buffer.alloc(3) }))],
    ["no compression methods", records(helloMessage({ compressions: Buffer.alloc(0) }))],
    ["bytes behind the extensions", records(message(1, Buffer.concat([helloMessage().subarray(4), Buffer.of(0)])))],
    ["an extension twice", records(helloMessage({ extensions: [serverName("a"), serverName("a")] }))],
    ["two host names", records(helloMessage({ extensions: [serverName("a", "b")] }))],
    ["an empty host name", records(helloMessage({ extensions: [serverName("")] }))],
    ["an empty list of names", records(helloMessage({ extensions: [[0, vector(2, Buffer.alloc(0))]] }))],
    [
      "a name list that is shorter than told",
      records(helloMessage({ extensions: [[0, Buffer.of(0, 9, 0, 0, 1, 97)]] })),
    ],
    ["a name list with bytes behind it", records(helloMessage({ extensions: [[0, Buffer.of(0, 4, 0, 0, 1, 97, 1)]] }))],
    ["an empty protocol name", records(helloMessage({ extensions: [protocolNames("h2", "")] }))],
    ["an empty list of protocols", records(helloMessage({ extensions: [protocolNames()] }))],
    ["a protocol that is shorter than told", records(helloMessage({ extensions: [[16, Buffer.of(0, 2, 9, 97)]] }))],
    ["no supported version", records(helloMessage({ extensions: [supportedVersions()] }))],
    ["no signature scheme", records(helloMessage({ extensions: [signatureSchemes()] }))],
    ["half a signature scheme", records(helloMessage({ extensions: [[13, Buffer.of(0, 3, 4, 3, 8)]] }))],
    ["half a version", records(helloMessage({ extensions: [[43, Buffer.of(3, 3, 4, 3)]] }))],
  ])("%s", (_name, bytes) => {
    expect(read(bytes).outcome).toBe("malformed");
  });

  test("every length that is one off", () => {
    const extensions = [serverName("a.test"), protocolNames("h2"), supportedVersions(0x0304)];
    const good = helloMessage({ extensions });
    const lengthsAt = [38, 71, 79, 81];
    for (const at of lengthsAt) {
      for (const change of [1, -1]) {
        const bytes = Buffer.from(good);
        bytes[at] = bytes[at]! + change;
        expect(readHello([records(bytes)]).outcome).not.toBe("needMore");
      }
    }
  });
});

describe("what is unexpected", () => {
  test.each<[string, Buffer]>([
    ["another message", records(message(2, Buffer.alloc(40)))],
    ["an alert behind the first record", Buffer.concat([records(helloMessage().subarray(0, 20)), Buffer.of(21)])],
  ])("%s", (_name, bytes) => {
    expect(read(bytes).outcome).toBe("unexpected");
  });
});

describe("what is too large", () => {
  test.each<[string, Buffer]>([
    ["a message of 16 MiB", Buffer.from("16030100040" + "1ffffff", "hex")],
    [
      "a message one byte too long",
      Buffer.concat([Buffer.of(22, 3, 1, 0, 4, 1), vector(3, Buffer.alloc(16385)).subarray(0, 3)]),
    ],
    ["a long one in tiny records", records(helloMessage({ extensions: [[21, Buffer.alloc(16000)]] }), 1)],
  ])("%s", (_name, bytes) => {
    expect(read(bytes).outcome).toBe("tooLarge");
  });

  test("the largest is taken", () => {
    const bytes = helloMessage({ extensions: [[21, Buffer.alloc(16384 - 87)]] });
    expect(bytes.length).toBe(16384 + 4);
    expect(readHello([records(bytes)]).outcome).toBe("complete");
  });
});

test.each(["GET / HTTP/1.1\r\n", "\x80\x2e\x01", "\0", "\x15\x03\x01", "\x17", "PROXY TCP4"])(
  "%j is no TLS",
  (text) => {
    expect(read(Buffer.from(text, "latin1")).outcome).toBe("notTls");
  },
);
