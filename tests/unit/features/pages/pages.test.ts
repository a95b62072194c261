import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { BUILT_IN_POLICY, builtInPage } from "../../../../src/features/pages/built-in-page.ts";
import { PageText } from "../../../../src/features/pages/page-text.ts";

describe("the built-in page", () => {
  const page = builtInPage({ status: 404, requestId: `"><script>alert(1)</script>&'` }, "");

  test("has status, reason, a sentence and the id, escaped", () => {
    expect(page).toContain("<title>404 Not Found</title>");
    expect(page).toContain("There is no page at this address.");
    expect(page).toContain("<code>&#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#38;&#39;</code>");
  });

  test("fetches nothing, runs nothing, and needs nothing but its own style", () => {
    expect(page).not.toMatch(
      /<script|<link|<img|<iframe|<form|\son\w+=|\ssrc=|\shref=|url\(|@import|https?:|\sstyle=/i,
    );
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)![1]!;
    expect(BUILT_IN_POLICY).toContain(`'sha256-${createHash("sha256").update(style).digest("base64")}'`);
    expect(BUILT_IN_POLICY).toStartWith("default-src 'none'; ");
  });

  test.each([400, 401, 403, 404, 418, 429, 451, 499, 500, 502, 503, 504, 599])("of %d has a sentence", (status) => {
    const text = builtInPage({ status, requestId: "a" }, "");
    expect(text).toMatch(/<h1>[^<]+<\/h1>\n<p>[A-Z][^<]+\.<\/p>/);
    expect(text).not.toContain("undefined");
  });

  test.each([
    [503, "5", "Please try again in 5 seconds."],
    [429, "1", "Please try again in a second."],
    [503, "600", "Please try again in 10 minutes."],
    [429, "Wed, 21 Oct 2026 07:28:00 GMT", ""],
    [404, "5", ""],
  ])("of %d with Retry-After %s says when to come again", (status, retryAfter, sentence) => {
    const text = builtInPage({ status, requestId: "a" }, retryAfter);
    if (sentence === "") expect(text).not.toContain("Please try again in");
    else expect(text).toContain(sentence);
  });
});

describe("a page of a site", () => {
  const facts = { status: 503, requestId: "a&b" };

  test.each([
    ["{status} {reason}: {request_id}", "503 Service Unavailable: a&#38;b"],
    ["{request_id}{request_id}", "a&#38;ba&#38;b"],
    ["", ""],
    ["body{color:red}p{}{{status}}", "body{color:red}p{}{503}"],
    [
      "{STATUS} {path} {host} {header.Cookie} { status } {status",
      "{STATUS} {path} {host} {header.Cookie} { status } {status",
    ],
    ["$& $1 {reason}", "$& $1 Service Unavailable"],
  ])("%s", (html, filled) => {
    expect(new PageText(html).fill(facts)).toBe(filled);
  });

  test("what is filled in is not looked at again", () => {
    expect(new PageText("{request_id}").fill({ status: 404, requestId: "{status}" })).toBe("{status}");
  });
});
