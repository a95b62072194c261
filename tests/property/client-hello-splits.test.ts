import { expect, test } from "bun:test";
import fc from "fast-check";
import { ClientHelloParser, HelloOutcome } from "../../src/proto/tls/client-hello-parser.ts";
import {
  helloMessage,
  protocolNames,
  records,
  serverName,
  signatureSchemes,
  supportedVersions,
  vector,
} from "../unit/proto/tls/hello-bytes.ts";
import { readHello } from "../unit/proto/tls/read-hello.ts";

const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
const hostName = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
const protocols = fc.array(fc.stringMatching(/^[a-z0-9/.]{1,12}$/), { minLength: 1, maxLength: 6 });
const versions = fc.array(fc.integer({ min: 0, max: 65535 }), { minLength: 1, maxLength: 8 });
/** Extensions that say nothing to us, each type once. */
const others = fc.uniqueArray(fc.tuple(fc.integer({ min: 100, max: 65535 }), fc.uint8Array({ maxLength: 60 })), {
  selector: ([type]) => type,
  maxLength: 6,
});

const hello = fc
  .record({
    name: fc.option(hostName),
    protocols: fc.option(protocols),
    versions: fc.option(versions),
    signatures: fc.option(versions),
    others,
  })
  .map((wanted) => {
    const extensions: [number, Uint8Array][] = [...wanted.others];
    if (wanted.name !== null) extensions.push(serverName(wanted.name));
    if (wanted.protocols !== null) extensions.unshift(protocolNames(...wanted.protocols));
    if (wanted.versions !== null) extensions.push(supportedVersions(...wanted.versions));
    if (wanted.signatures !== null) extensions.unshift(signatureSchemes(...wanted.signatures));
    return {
      message: helloMessage({ extensions }),
      says: {
        serverName: wanted.name ?? "",
        protocols: wanted.protocols ?? [],
        versions: wanted.versions ?? [0x0303],
        signatures: wanted.signatures ?? [],
        certificateSignatures: [],
        groups: [],
        isTls13: (wanted.versions ?? []).includes(0x0304),
        allowsEcdsa: true,
        allowsRsa: true,
      },
    };
  });
const cuts = fc.array(fc.nat({ max: 1200 }), { maxLength: 8 });

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const edges = [...new Set([...at.filter((one) => one > 0 && one < bytes.length), bytes.length])].sort(
    (a, b) => a - b,
  );
  return edges.map((to, i) => bytes.subarray(i === 0 ? 0 : edges[i - 1]!, to));
}

test("a ClientHello says the same in any records and pieces", () => {
  fc.assert(
    fc.property(hello, fc.integer({ min: 1, max: 600 }), cuts, ({ message, says }, recordSize, at) => {
      const read = readHello(cut(records(message, recordSize), at));
      expect(read).toEqual({ outcome: "complete", hello: says });
    }),
  );
});

test("whatever the bytes are, any pieces of them come to the same, and nothing behind `to` is read", () => {
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc.uint8Array({ maxLength: 300 }).map((body) => records(Buffer.concat([Buffer.of(1), vector(3, body)]))),
    // A good one with some bytes changed.
    fc
      .tuple(hello, fc.array(fc.tuple(fc.nat({ max: 400 }), fc.integer({ min: 0, max: 255 })), { maxLength: 5 }))
      .map(([{ message }, changes]) => {
        const bytes = records(message);
        for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
        return bytes;
      }),
  );
  fc.assert(
    fc.property(anything, cuts, (bytes, at) => {
      const whole = readHello([bytes]);
      expect(readHello(cut(Buffer.from(bytes), at))).toEqual(whole);
      const framed = Buffer.concat([Buffer.of(22, 3), bytes, Buffer.alloc(50, 22)]);
      const parser = new ClientHelloParser();
      const outcome = parser.push(framed, 2, 2 + bytes.length);
      expect(outcome === HelloOutcome.Complete).toBe(whole.outcome === "complete");
      expect(parser.hello).toEqual(whole.hello);
    }),
  );
});
