import { describe, expect, test } from "bun:test";
import { attributeOf, canonicalName } from "../../../../src/features/auth/distinguished-name.ts";

// RFC 4514.
describe("a distinguished name", () => {
  const SAME: readonly (readonly [string, string])[] = [
    ["CN=client,O=Example", "cn = client , o=Example"],
    ["CN=a\\,b,O=x", "CN=a\\2cb,O=x"],
    ["CN=bj\\C3\\B6rn", "CN=björn"],
    ["OU=a+CN=b,O=x", "CN=b+OU=a,O=x"],
    ["CN=a\\+b", "CN=a\\2Bb"],
    ["2.5.4.3=a", "2.5.4.3 =a"],
  ];

  test.each(SAME)("%s is %s", (one, other) => {
    expect(canonicalName(one)).not.toBeNull();
    expect(canonicalName(one)).toBe(canonicalName(other));
  });

  const OTHER: readonly (readonly [string, string])[] = [
    ["CN=client,O=Example", "O=Example,CN=client"],
    ["CN=client,O=Example", "CN=client"],
    ["CN=client", "CN=Client"],
    ["CN=a\\,O=x", "CN=a,O=x"],
    ["CN=a+O=x", "CN=a,O=x"],
    ['CN=a"', "CN=a"],
  ];

  test.each(OTHER)("%s is not %s", (one, other) => {
    expect(canonicalName(one)).not.toBe(canonicalName(other));
  });

  test.each(["", "client", "CN=", "=a", "CN=a,,O=b", "CN=a,", "C N=a"])("%p is none", (text) => {
    expect(canonicalName(text)).toBeNull();
  });

  test("has attributes", () => {
    expect(attributeOf("OU=x+cn=a\\,b,O=y", "CN")).toBe("a,b");
    expect(attributeOf("O=y", "CN")).toBe("");
  });
});
