import { describe, expect, test } from "bun:test";
import { ClientPeer } from "../../../../src/message/client-peer.ts";
import { Pipeline, type Route } from "../../../../src/message/exchange.ts";
import { RouteKind } from "../../../../src/message/route.ts";
import { PLACEHOLDERS } from "../../../../src/proto/template/placeholders.ts";
import { parseTemplate, Template, type TemplateMode, templateOf } from "../../../../src/proto/template/template.ts";
import { forwardExchange, headOf } from "../../features/forward/forward-exchange.ts";

interface Asked {
  readonly target?: string;
  readonly host?: string;
  readonly fields?: readonly string[];
  readonly prefix?: string;
  readonly tls?: boolean;
  readonly isTrusted?: boolean;
}

function exchange({ target = "/", host = "www.Example.com:8080", fields = [], prefix = "/", ...more }: Asked) {
  const lines = [`GET ${target} HTTP/1.1`, `Host: ${host}`, ...fields];
  const ex = forwardExchange(headOf(`${lines.join("\r\n")}\r\n\r\n`), "192.0.2.7", more.tls);
  ex.fromTrustedProxy = more.isTrusted === true;
  ex.route = { kind: RouteKind.Plain, path: prefix, label: prefix, init: { exact: false } } as unknown as Route;
  ex.pipeline = new Pipeline([], [], [], null, { idOf: () => "the-id" });
  return ex;
}

function rendered(text: string, asked: Asked = {}, mode: TemplateMode = "text"): string {
  return templateOf(text).render(exchange(asked), mode);
}

function faultOf(text: string): string {
  const parsed = parseTemplate(text);
  return parsed instanceof Template ? "" : parsed.fault;
}

describe("values", () => {
  const rows: readonly [string, Asked, string][] = [
    ["{host}", {}, "www.example.com"],
    ["{host}", { host: "WWW.example.com." }, "www.example.com"],
    ["{host}", { host: "[0:0::1]:8080" }, "[::1]"],
    ["{port}", {}, "8080"],
    ["{port}", { host: "a.test" }, "80"],
    ["{port}", { host: "a.test", tls: true }, "443"],
    ["{scheme}", {}, "http"],
    ["{scheme}", { tls: true }, "https"],
    ["{scheme}", { fields: ["X-Forwarded-Proto: https"] }, "http"],
    ["{scheme}", { fields: ["X-Forwarded-Proto: https"], isTrusted: true }, "https"],
    ["{method}", {}, "GET"],
    ["{path}|{query}|{uri}", { target: "/a/b?c=d&e" }, "/a/b|c=d&e|/a/b?c=d&e"],
    ["{path}|{query}|{uri}", { target: "/a#b?c" }, "/a||/a"],
    ["{path}", { target: "/a/../b%20c" }, "/b%20c"],
    ["{path}", { target: "//evil.example/x" }, "/evil.example/x"],
    ["{path}", { target: "/%5cevil.example" }, "/%5cevil.example"],
    ["{prefix}|{rest}", { target: "/old/x/y?z", prefix: "/old" }, "/old|/x/y"],
    ["{rest}", { target: "/old", prefix: "/old" }, "/"],
    ["{rest}", { target: "/old//evil.example", prefix: "/old" }, "/evil.example"],
    ["{rest}", { target: "/%6fld/%2f%5cevil.example", prefix: "/old" }, "/evil.example"],
    ["{rest}", { target: "/x/y" }, "/x/y"],
    ["{client_ip}", {}, "192.0.2.7"],
    ["{request_id}", {}, "the-id"],
    ["{route}", { prefix: "/old" }, "/old"],
    ["{header.X-Tag}", { fields: ["x-tag: a", "X-TAG: b"] }, "a, b"],
    ["{header.User-Agent}", { fields: ["User-Agent: x"] }, "x"],
    ["[{header.X-None}]", {}, "[]"],
    ["[{header.X-Forwarded-For}]", { fields: ["X-Forwarded-For: 10.0.0.1"] }, "[]"],
    ["[{header.X-Forwarded-For}]", { fields: ["X-Forwarded-For: 10.0.0.1"], isTrusted: true }, "[10.0.0.1]"],
    ["[{header.X_Real_IP}]", { fields: ["X_Real_IP: 10.0.0.1"] }, "[]"],
    ["{cookie.a}|{cookie.b}|{cookie.c}", { fields: ["Cookie: aa=0; a=1; b=x=y ", "Cookie: c=3"] }, "1|x=y|3"],
    ["{query.a}|{query.b}|{query.c}", { target: "/?b&a=1%202+3&a=4" }, "1 2 3||"],
    ["[{tls.version}{tls.subject}{match.1}]", {}, "[]"],
  ];
  for (const [text, asked, value] of rows) {
    test(`${text} of ${JSON.stringify(asked)}`, () => {
      expect(rendered(text, asked)).toBe(value);
    });
  }

  test("groups of an expression", () => {
    const ex = exchange({});
    ex.captures = ["/a/b", "a", undefined, "b"];
    expect(templateOf("{match.1}-{match.2}-{match.3}-{match.9}").render(ex, "text")).toBe("a--b-");
  });

  test("what TLS and the client's certificate say", () => {
    const ex = exchange({});
    const identity = { subject: "CN=Zoë;x,O=\r\nA", uris: [], dnsNames: [], sha256: "00" };
    ex.client = new ClientPeer("192.0.2.7", true, 443, "", identity, { getTLSVersion: () => "TLSv1.3" });
    const template = templateOf("{tls.version} {tls.subject}");
    expect(template.render(ex, "text")).toBe("TLSv1.3 CN=Zoë;x,O=A");
    expect(template.render(ex, "header")).toBe("TLSv1.3 CN=Zo\xc3\xab;x,O=A");
  });

  test("no placeholder fails before a request has a route", () => {
    const ex = exchange({});
    ex.route = null;
    for (const { name } of PLACEHOLDERS)
      templateOf(`{${name.replace(/NAME$/, "x").replace(/N$/, "1")}}`).render(ex, "url");
  });

  test("a value is cut at its bound", () => {
    expect(rendered("{query.a}", { target: `/?a=${"x".repeat(7000)}` }).length).toBe(7000);
    const ex = exchange({});
    ex.captures = ["", "y".repeat(100_000)];
    expect(templateOf("{match.1}").render(ex, "text").length).toBe(8192);
  });
});

test("docs/placeholders.md lists what there is", async () => {
  const page = await Bun.file(new URL("../../../../docs/placeholders.md", import.meta.url)).text();
  const lines = page.split("\n").filter((line) => line.startsWith("| `{"));
  expect(lines).toEqual(PLACEHOLDERS.map(({ name, doc }) => `| \`{${name}}\` | ${doc} |`));
});

describe("braces", () => {
  const rows: readonly [string, string][] = [
    ["{{host}}", "{host}"],
    ["{{{method}}}", "{GET}"],
    ["a}b", "a}b"],
    ['{"a":{"b":{"c":1}}}', '{"a":{"b":{"c":1}}}'],
    ['{"a":{"b":"{method}"}}', '{"a":{"b":"GET"}}'],
    ['{{"a":{{"b":"{method}"}}}}', '{"a":{"b":"GET"}}'],
    ["a { color: red }", "a { color: red }"],
    ["a{color:red}", "a{color:red}"],
    ["{}", "{}"],
    ["", ""],
  ];
  for (const [text, value] of rows) {
    test(text, () => {
      expect(rendered(text)).toBe(value);
    });
  }
});

describe("what is no template", () => {
  const rows: readonly [string, string][] = [
    ["{hots}", "unknown placeholder {hots}"],
    ["x{Host}", "unknown placeholder {Host}"],
    ["{header.}", "unknown placeholder {header.}"],
    ["{match.0}", "unknown placeholder {match.0}"],
    ["{match.one}", "unknown placeholder {match.one}"],
    ["/{path", 'expected "}" after {path, or {{ for a brace'],
    ["/{path /x}", 'expected "}" after {path, or {{ for a brace'],
    ["{host}".repeat(65), "expected at most 64 placeholders"],
  ];
  for (const [text, fault] of rows) {
    test(text.slice(0, 20), () => {
      expect(faultOf(text)).toBe(fault);
    });
  }
});

describe("modes", () => {
  const rows: readonly [string, TemplateMode, Asked, string][] = [
    ["{query.a}", "text", { target: "/?a=x%0d%0aB:%20c%00%7f" }, "xB: c"],
    ["{query.a}", "text", { target: "/?a=%e2%82%ac" }, "€"],
    ["{query.a}", "header", { target: "/?a=x%0d%0aB:%20c%00%7f" }, "xB: c"],
    ["{query.a}", "header", { target: "/?a=%e2%82%ac" }, "\xe2\x82\xac"],
    ["a={query.a}; Path=/", "cookie", { target: "/?a=x;%20Domain=b.test,%22%5c%0d%0a" }, "a=xDomain=b.test; Path=/"],
    ["{query.a}", "html", { target: "/?a=%3Cscript%3E%26%22%27%0a" }, "&lt;script&gt;&amp;&quot;&#39;"],
    ["/x{path}", "url", { target: "/a%20b/c;d=e%0d%0a" }, "/x/a%20b/c;d=e%0d%0a"],
    ["/x?to={path}", "url", { target: "/a%20b&c#d" }, "/x?to=/a%2520b%26c"],
    ["/x?to={uri}", "url", { target: "/a?b=c&d" }, "/x?to=/a%3Fb%3Dc%26d"],
    ["/x?{query}", "url", { target: "/a?b=c&d=%0a[]^" }, "/x?b=c&d=%0a[]%5E"],
    ["/x/{query}", "url", { target: "/a?b=c&d" }, "/x/b%3Dc%26d"],
    ["/x/{query.a}", "url", { target: "/?a=%2e%2e/%2f%3f%0a%ff" }, "/x/..%2F%2F%3F%0A%FF"],
    ["/x#{query.a}", "url", { target: "/?a=%23%3c" }, "/x#%23%3C"],
    ["{uri}", "url", { target: "/a?b=c?d%zz" }, "/a?b=c?d%25zz"],
    ["{uri}&to={path}", "url", { target: "/a&b?c" }, "/a&b?c&to=/a%26b"],
    ["//{host}/", "url", { host: "[::1]:80" }, "//[::1]/"],
    ["/{header.X}", "url", { fields: ["X: \xe2\x82\xac %41"] }, "/%E2%82%AC%20%2541"],
  ];
  for (const [text, mode, asked, value] of rows) {
    test(`${text} as ${mode} of ${JSON.stringify(asked)}`, () => {
      expect(rendered(text, asked, mode)).toBe(value);
    });
  }

  test("names of a template's own", () => {
    const template = templateOf("<h1>{status} {reason}{request_id}</h1>", ["status", "reason"]);
    expect(template.render(exchange({}), "html", { status: "404", reason: "<b>" })).toBe(
      "<h1>404 &lt;b&gt;the-id</h1>",
    );
  });
});
