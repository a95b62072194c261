import { describe, expect, spyOn, test } from "bun:test";
import { ValueReading } from "../../../../src/features/waf/match/value-reading.ts";
import { explainWaf, type WafExplanation } from "../../../../src/features/waf/waf-explanation.ts";
import { NO_ROUTES } from "./vector-request.ts";
import { ENFORCE } from "./waf-settings.ts";

function explain(body: string | Uint8Array, type = "application/xml", settings = ENFORCE): WafExplanation {
  const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
  const headers = [`Content-Type: ${type}`];
  return explainWaf({ method: "POST", target: "/x", headers, body: bytes }, settings, NO_ROUTES);
}

/** The rules that match, as ids. */
const idsIn = (body: string): string[] => explain(body).rules.map((rule) => rule.id);
/** Where things were found. */
const paramsIn = (body: string): string[] =>
  explain(body).findings.map(({ location, param }) => `${location} ${param}`);

const UNION = "1' union select 1,2,3-- -";

describe("which documents are inspected", () => {
  test.each([
    ["text/xml", true],
    ["application/xml; charset=utf-8", true],
    ["Application/SOAP+XML; action=x", true],
    ["image/svg+xml", true],
    ["application/xml-external-parsed-entity", true],
    // What looks like XML is tried as such, whatever it is called.
    ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", true],
    ["text/xmlish", true],
  ])("%s: %p", (type, isInspected) => {
    expect(explain(`<a>${UNION}</a>`, type).verdict === "block").toBe(isInspected);
  });

  test.each(["<a>x<", "<aaa><", "<a b='<", "<aa>\ufffd<"])("%p, which ends where a tag begins", (body) => {
    expect(explain(body).verdict).toBe("pass");
  });

  test("no more of one than the limit says", () => {
    const settings = { ...ENFORCE, maxInspectBodyBytes: 40 };
    expect(explain(`<a>${UNION}</a>`, "text/xml", settings).verdict).toBe("block");
    expect(explain(`<a>${" ".repeat(40)}${UNION}</a>`, "text/xml", settings).verdict).toBe("pass");
  });
});

describe("texts and attributes", () => {
  test.each([
    [`<a>${UNION}</a>`, "body a"],
    [`<x:A>${UNION}`, "body a"],
    [`<a><b c="d" E = "${UNION}"/></a>`, "body e"],
    [`<a x:b='1" union select 1,2,3-- -'>`, "body b"],
    ["<a b=1'or'1'='1>", "body b"],
    [`<a/>${UNION}`, "body a"],
    [`<a></a>${UNION}`, "body "],
    [UNION, "body "],
    ["<a>1&apos; union&#x20;select&#0032;1,2,3-- -</a>", "body a"],
    ["<a>1<![CDATA[' union select 1,]]>2,3<!-- x -->-- -</a>", "body a"],
    ["<a>1' un<!-- > -->ion sel<?x y?>ect 1,2,3-- -</a>", "body a"],
    ["<a><![CDATA[<script>alert(1)</script>]]></a>", "body a"],
    ["<a>&lt;script&gt;alert(1)&lt;/script&gt;</a>", "body a"],
    ["<a>&#60;script&#62;alert(1)&#60;/script&#62;</a>", "body a"],
    ["<svg onload='alert(1)'/>", "body onload"],
    ["<svg><script>alert(document.cookie)</script></svg>", "body script"],
    ["<a><file>../../../etc/passwd</file></a>", "body file"],
    ['<xi:include href="file:///etc/passwd" parse="text"/>', "body href"],
    ["<a><?php system('id'); ?></a>", "body a"],
    ["<java.lang.ProcessBuilder><command/></java.lang.ProcessBuilder>", "body class"],
    ["<a b='x", undefined],
    ["<a><![CDATA[x", undefined],
    ["<", undefined],
    ["<!", undefined],
    ["<a &", undefined],
    ["a < b <! c", undefined],
  ])("%j", (body, expected) => {
    expect(paramsIn(body)[0]).toBe(expected as string);
  });
});

describe("declarations", () => {
  test.each([
    ['<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "LFI-004"],
    ["<!doctype a [<!entity % b system 'php://filter/resource=x'>%b;]>", "LFI-004"],
    ["<!DOCTYPE a [\n<!ELEMENT a (#PCDATA)>\n<!ENTITY b PUBLIC 'x' 'http://x.test/'>\n]>", "LFI-004"],
    ["<!DOCTYPE a SYSTEM 'http://x.test/evil.dtd'>", "LFI-004"],
    ["<!DOCTYPE a SYSTEM 'file:///etc/passwd'>", "LFI-003"],
    ["<!DOCTYPE a PUBLIC '-//A//B' 'http://169.254.169.254/latest'>", "SSRF-001"],
    ["<!DOCTYPE a [<!ENTITY b '&c;&c;&c;&c;'>]>", "PROTOCOL-006"],
  ])("%j", (body, rule) => {
    expect(idsIn(body)).toContain(rule);
  });

  test("one in a text is found, too", () => {
    expect(idsIn('<a><![CDATA[<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>]]></a>')).toContain("LFI-004");
  });
});

test.each([
  `<!ENTITY a ${"SYSTEM ".repeat(1000)}`,
  `<!DOCTYPE a SYSTEM ${"'http://x.test/' ".repeat(1000)}`,
  `<!ENTITY a ${"'&b;&c;&d;' ".repeat(1000)}`,
])("a long declaration is reported once, not read anew for each of its words: %#", (body) => {
  const load = spyOn(ValueReading.prototype, "load");
  try {
    expect(explain(body).verdict).toBe("block");
    expect(load.mock.calls.filter(([, from, to]) => to - from > 100).length).toBeLessThan(3);
  } finally {
    load.mockRestore();
  }
});

describe("encodings that hide the text", () => {
  test.each([
    [Buffer.from('\ufeff<?xml version="1.0" encoding="utf-16"?><a/>', "utf16le"), true],
    [Buffer.from('<?xml version="1.0"?><a/>', "utf16le"), true],
    [Buffer.from('<?xml version="1.0" encoding="UTF-7"?><a/>'), true],
    [Buffer.from("<?xml version='1.0' encoding = 'IBM037'?><a/>"), true],
    [Buffer.from([0x4c, 0x6f, 0xa7, 0x94, 0x93]), true],
    [Buffer.from('<?xml version="1.0" encoding="utf-16"?><a>written by a generator</a>'), false],
    [Buffer.from('\ufeff<?xml version="1.0" encoding="ISO-8859-1"?><a/>'), false],
  ])("%s", (body, isHidden) => {
    expect(explain(body).rules.map((rule) => rule.id)).toEqual(isHidden ? ["PROTOCOL-004"] : []);
  });
});

test.each([
  `<?xml version="1.0"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soap:Header><wsse:Security soap:mustUnderstand="1">
    <wsse:Password Type="http://docs.oasis-open.org/wss/2004/01/username-token#PasswordText">s3cr3t' or so</wsse:Password>
    </wsse:Security></soap:Header><soap:Body><m:GetPrice><m:Item>O'Brien &amp; Sons; 5" pipe</m:Item></m:GetPrice></soap:Body>
    </soap:Envelope>`,
  `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>What's new &amp; what's not</title>
    <link>https://news.example/</link><atom:link href="https://news.example/feed.xml" rel="self"/><item>
    <description><![CDATA[<p>Select a plan from the <a href="https://news.example/x?a=1&b=2">list</a>; drop us a line.</p>
    <img src="https://news.example/a.png" alt="a &lt; b">]]></description><guid isPermaLink="false">tag:x,2024:1</guid></item></channel></rss>`,
  `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" [
    <!ENTITY ns_svg "http://www.w3.org/2000/svg"> <!ENTITY ns_xlink "http://www.w3.org/1999/xlink">]>
    <svg xmlns="&ns_svg;" viewBox="0 0 24 24"><style>.a{fill:#fff;stroke:url(#g)} .b>.c{opacity:.5}</style>
    <path d="M12 2L2 7l10 5 10-5-10-5z" style="fill:none;stroke:#000" transform="translate(10,20) rotate(45)"/>
    <image xlink:href="data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="/><text x="1" y="2">a &lt; b; c &gt; d</text></svg>`,
  `<methodCall><methodName>system.multicall</methodName><params><param><value><string>select * (all)</string></value></param></params></methodCall>`,
  `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://a.test/x?id=1&amp;or=2</loc><lastmod>2024-01-01</lastmod></url></urlset>`,
  `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd"><plist version="1.0"><dict><key>a</key><true/></dict></plist>`,
  `<project><parent><groupId>org.springframework.boot</groupId></parent><properties><java.version>17</java.version></properties></project>`,
  `<D:propfind xmlns:D="DAV:"><D:prop><D:getlastmodified/><D:resourcetype/></D:prop></D:propfind>`,
  `<xsl:template match="/"><xsl:if test="@id = '1' and position() &lt; 5 or not(@x)"><xsl:value-of select="concat('a', name())"/></xsl:if></xsl:template>`,
])("an ordinary document scores nothing: %#", (body) => {
  const { rules, score } = explain(body, "text/xml");
  expect([rules.map((rule) => rule.id), score]).toEqual([[], 0]);
});

describe("the encoding of a document", () => {
  const declared = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?><a>x</a>`;
  test.each([
    [declared("utf-7"), "application/xml"],
    [declared("cp1140"), "text/plain"],
    [declared("x-ebcdic"), "application/xml"],
    [declared("utf-7").replace(" enc", `${" ".repeat(3000)}enc`), "application/xml"],
    [declared("utf-7").replace("1.0", ">"), "application/xml"],
    [Buffer.from("4c6fa7949340a58599a28996957e7ff14bf07f6f6e4c816ea74c61816e", "hex"), "application/octet-stream"],
  ])("that hides its text is found out: %j as %s", (body, type) => {
    expect(explain(body, type).rules.map(({ id }) => id)).toEqual(["PROTOCOL-004"]);
  });

  test.each(["UTF-8", "utf-16", "ISO-8859-15", "windows-1252", "Shift_JIS", "GB18030", ""])("%s passes", (encoding) => {
    expect(explain(declared(encoding)).verdict).toBe("pass");
  });
});
