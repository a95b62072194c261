import { expect, test } from "bun:test";
import { HostRules, hostRule, ruleText } from "../../../../src/features/connect/host-rules.ts";

function allows(rules: readonly string[], hostname: string, port: number): boolean {
  return new HostRules(rules.map((rule) => hostRule(rule)!)).allows(hostname, port);
}

test.each([
  ["*.example.com", "a.example.com", 443, true],
  ["*.example.com", "a.b.example.com", 80, true],
  ["*.example.com", "example.com", 443, false],
  ["*.example.com", "badexample.com", 443, false],
  ["*.example.com", "example.com.evil.test", 443, false],
  ["*.example.com", "a.example.com", 8443, false],
  ["*.example.com:8443", "a.example.com", 8443, true],
  ["*.example.com:8443", "a.example.com", 443, false],
  ["*.example.com:*", "a.example.com", 22, true],
  ["example.com", "example.com", 80, true],
  ["example.com", "a.example.com", 80, false],
  ["Example.COM:22", "example.com", 22, true],
  ["*", "anything.test", 443, true],
  ["*", "anything.test", 22, false],
  ["*:*", "anything.test", 22, true],
  ["[2001:db8::1]:53", "2001:db8::1", 53, true],
  ["[2001:db8::1]:53", "2001:db8::2", 53, false],
])("%s and %s:%i: %p", (rule, hostname, port, isAllowed) => {
  expect(allows([rule], hostname, port)).toBe(isAllowed);
  // Rules beside it change nothing.
  expect(allows(["other.test:1", rule, "*.other.test:1"], hostname, port)).toBe(isAllowed);
});

test.each(["", "*example.com", "a..b", "a b", "example.com:0", "example.com:65536", "http://a.test", "[::1", "*.*.a"])(
  "%p is no rule",
  (text) => {
    expect(hostRule(text)).toBeNull();
  },
);

test.each(["*.example.com", "a.test:22", "a.test:*", "[2001:db8::1]:53", "*"])(
  "%s is shown as it is written",
  (text) => {
    expect(ruleText(hostRule(text)!)).toBe(text);
  },
);
