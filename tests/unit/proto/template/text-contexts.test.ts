// docs/placeholders.md#what-a-value-may-hold
import { describe, expect, test } from "bun:test";
import { placeFault } from "../../../../src/features/answer/respond-handler.ts";
import { templateOf } from "../../../../src/proto/template/template.ts";

const PAGE = "text/html; charset=utf-8";
const SCRIPT = "application/javascript";
const JSON_TYPE = "application/json";

const fault = (body: string, type: string) => placeFault(templateOf(body), type);

describe("a value may stand", () => {
  test.each([
    "<p>{query.q}</p>",
    "<title>{query.q}</title><textarea>{query.q}</textarea>",
    "<p title=\"{query.q}\" class='a {query.q}'>x</p>",
    '<a href="/search?q={query.q}">',
    '<a href="{uri}">{uri}</a>',
    '<a href="{scheme}://{host}{uri}">',
    '<a href="https://{host}/x/{path}">',
    '<a href="https://www.example.com{uri}">',
    '<img src="/i/{query.q}.png">',
    '<a href="/{query.q}">',
    "<!-- {query.q} --><p>{query.q}</p>",
    "<script>var q = \"{query.q}\", r = '{query.q}', t = `{query.q}`;</script>{query.q}",
    '<script>// it\'s\nvar q = "{query.q}";</script>',
    "<a onclick=\"go('{query.q}')\">",
    '<meta name="q" content="{query.q}">',
    "1 < 2 {query.q}",
    "<br/>{query.q}<hr a=b c>{query.q}",
    "<script></script><style>p{{color:red}}</style>{query.q}",
  ])("in HTML: %s", (body) => {
    expect(fault(body, PAGE)).toBe("");
  });

  test.each(['{"a":"{query.q}"}', '{"a":"x\\"{query.q}","b":[1,"{host}"]}'])("in JSON: %s", (body) => {
    expect(fault(body, JSON_TYPE)).toBe("");
  });

  test.each(['const a = "{query.q}";', "f('{query.q}', `{host}`); /* it's */ g(\"{query.q}\")"])(
    "in a script: %s",
    (body) => {
      expect(fault(body, SCRIPT)).toBe("");
    },
  );
});

describe("a value may not stand", () => {
  test.each([
    "<script>{query.q}</script>",
    "<script>var q = {query.q};</script>",
    '<script>var q = "\\{query.q}";</script>',
    '<script>/"/; var q = {query.q}; /"/</script>',
    '<script>var q = "a\n{query.q}";</script>',
    "<script>// {query.q}</script>",
    "<script>/* {query.q} */</script>",
    "<script>`${ {query.q} }`</script>",
    '<SCRIPT>"</SCRIPT><script>{query.q}</script>',
    "<style>p{{color:{query.q}}}</style>",
    "<svg><style>{query.q}</style></svg>",
    '<p style="color:{query.q}">',
    '<p onclick="{query.q}">',
    '<p ONCLICK="go({query.q})">',
    "<p title={query.q}>",
    "<p {query.q}>",
    "<p title=a{query.q}>",
    "<{query.q}>",
    "</{query.q}>",
    "<!DOCTYPE {query.q}>",
    "<?xml {query.q}?>",
    '<a href="{query.q}">',
    '<a href="{header.referer}">',
    '<a href="/{path}">',
    "<a href=\"javascript:go('{query.q}')\">",
    '<a href="https://{query.q}/">',
    '<a href="https://www.example.com{query.q}">',
    '<a href="https://{host}{query.q}">',
    '<a href="{query}">',
    '<svg><a xlink:href="{query.q}"/></svg>',
    '<form action="{query.q}">',
    '<iframe srcdoc="{query.q}">',
    '<img srcset="{query.q}">',
    '<meta http-equiv="refresh" content="0;url={query.q}">',
    '<svg><animate attributeName="href" to="{query.q}"/></svg>',
    '<svg><set attributeName="href" to="{query.q}"/></svg>',
    '<a href = "{query.q}">',
    "<a\nhref='{query.q}'>",
    '<a title=">" href="{query.q}">',
    '<a/href="{query.q}">',
    '<textarea><p title="</textarea><p {query.q}>',
    "<noscript>{query.q}</noscript>",
    '<script><!--<script></script>"{query.q}"',
    '<script>/*/ " */ {query.q}</script>',
    '<svg><![CDATA[> <p title="]]><p {query.q}>',
  ])("in HTML: %s", (body) => {
    expect(fault(body, PAGE)).toMatch(/^\{[\w.]+\} stands /);
  });

  test.each(['{{"a":{query.q}}}', "{query.q}", '["a",{query.q}]', "'{query.q}'"])("in JSON: %s", (body) => {
    expect(fault(body, JSON_TYPE)).toContain("outside of a text in quotes");
  });

  test.each(["{query.q}", "var a = {query.q}", 'var a = "x" + {query.q}', "a = 1 / 2; b = '{query.q}'"])(
    "in a script: %s",
    (body) => {
      expect(fault(body, SCRIPT)).toContain("outside of a text in quotes");
    },
  );

  test("in a style sheet", () => {
    expect(fault("p {{ color: {query.q} }}", "text/css")).toContain("in a style sheet");
  });
});
