import { describe, expect, test } from "bun:test";
import { ProxyHeader, ProxyHeaderParser } from "../../../../src/proto/proxy-protocol/proxy-header-parser.ts";
import { proxyHeader } from "../../../../src/proto/proxy-protocol/proxy-header-writer.ts";

const ENDS = [
  ["192.0.2.1", "198.51.100.7"],
  ["2001:db8::1", "2001:db8:ffff::2"],
  ["192.0.2.1", "2001:db8::2"],
  ["::1", "127.0.0.1"],
] as const;

describe.each(["v1", "v2"] as const)("version %s", (version) => {
  test.each(ENDS)("of a client at %s, which came to %s, is read as it was meant", (source, destination) => {
    const header = proxyHeader(version, { address: source, port: 4711 }, { address: destination, port: 443 });
    const parser = new ProxyHeaderParser();
    expect(parser.push(header, 0, header.length)).toBe(ProxyHeader.Complete);
    expect(parser.consumed).toBe(header.length);
    expect(parser.sourcePort).toBe(4711);
    expect(parser.sourceAddress).toBe(source);
  });

  test("of a client that is not known says so", () => {
    const header = proxyHeader(version, { address: "", port: 0 }, { address: "192.0.2.1", port: 443 });
    const parser = new ProxyHeaderParser();
    expect(parser.push(header, 0, header.length)).toBe(ProxyHeader.Complete);
    expect(parser.sourceAddress).toBe("");
  });
});

test("lines are those of proxy-protocol.txt", () => {
  const ends = [
    { address: "192.0.2.1", port: 1 },
    { address: "192.0.2.2", port: 65_535 },
  ] as const;
  expect(Buffer.from(proxyHeader("v1", ...ends)).toString()).toBe("PROXY TCP4 192.0.2.1 192.0.2.2 1 65535\r\n");
  expect(Buffer.from(proxyHeader("v2", ...ends)).toString("hex")).toBe(
    "0d0a0d0a000d0a515549540a2111000cc0000201c00002020001ffff",
  );
  expect(Buffer.from(proxyHeader("v2", ...ends, true)).toString("hex")).toContain("2112000c");
});
