import { expect, test } from "bun:test";
import { ClientPeer } from "../../../../src/message/client-peer.ts";

const identity = (subject: string, uris: readonly string[] = [], dnsNames: readonly string[] = []) => ({
  subject,
  uris,
  dnsNames,
  sha256: "ab".repeat(32),
});
const lineOf = (...parts: Parameters<typeof identity>) =>
  new ClientPeer("192.0.2.1", true, 0, "", identity(...parts)).certificateLine;

test("the line names hash, subject and alternative names", () => {
  expect(lineOf("CN=web,O=Shop", ["spiffe://mesh/a"], ["a.test", "b.test"])).toBe(
    `X-Forwarded-Client-Cert: Hash=${"ab".repeat(32)};Subject="CN=web,O=Shop";URI=spiffe://mesh/a;DNS=a.test;DNS=b.test\r\n`,
  );
  expect(new ClientPeer("192.0.2.1", true, 0).certificateLine).toBe("");
});

test.each([
  ['CN=a"b\\c', 'Subject="CN=a\\"b\\\\c"'],
  ["CN=é\r\nX-Admin: 1", 'Subject="CN=%C3%A9%0D%0AX-Admin: 1"'],
  ["CN=\ud800\u{1f600}", 'Subject="CN=%EF%BF%BD%F0%9F%98%80"'],
])("the subject %p cannot leave its place", (subject, shown) => {
  expect(lineOf(subject)).toContain(`;${shown}\r\n`);
});

test("names cannot divide the parts, and the whole stays within bounds", () => {
  expect(lineOf("CN=a", ['spiffe://m/a;By=x,"y"\n'])).toContain("URI=spiffe://m/a%3BBy=x%2C%22y%22%0A\r\n");
  const many = lineOf(
    "CN=a",
    Array.from({ length: 500 }, (_, i) => `spiffe://mesh/ns/${i}/sa/service-account`),
  );
  expect(many.length).toBeLessThan(4200);
  expect(many).toEndWith("\r\n");
});
