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
    "<svg><title>x</title><path d='a'/></svg><script>var q = \"{query.q}\"</script>",
    "<noscript><img src='/x'></noscript><p>{query.q}</p>",
    "<a onclick=\"go('?a=1&amp;b={query.q}')\">",
    '<a href="/x/{query.a}/{query.q}">',
    "<textarea>{query.q}</textarea ><p>{query.q}</p>",
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
    // What a value may end, or an empty one.
    "<!--{query.a}><script>{query.q}</script>-->",
    "<!--{query.a}-><script>{query.q}</script>-->",
    "<!-- --{query.a}><script>{query.q}</script>-->",
    '<script>"</{query.a}><img src=x onerror={query.q}>"</script>',
    '<script>"<{query.a}>";"</script>"</script>',
    "<xmp></{query.a}><script>{query.q}</script></xmp>",
    "<script>`a${query.a}{{{query.q}}}`</script>",
    // What is no end, or an early one.
    "<script>'</scripts>'; f({query.q})</script>",
    "<textarea></textareas><!--</textarea><script>{query.q}</script>-->",
    "<!x <!-- ><script>{query.q}</script> -->",
    '</ a="><script>{query.q}</script>">',
    "<script>\"\u2028'\"; f({query.q}) //'</script>",
    "<script>--> `\nf({query.q})\n//`</script>",
    // What is markup in a svg, in a list or in XML.
    "<svg><title><script>{query.q}</script></title></svg>",
    "<svg><title/><script>{query.q}</script></svg>",
    '<svg><script/><a href="{query.q}">',
    "<svg><script>var a = '&#39;; f({query.q}); '&#39;</script></svg>",
    "<svg><desc></svg></desc><title><script>{query.q}</script>",
    "<select><title><script>{query.q}</script></title></select>",
    // References to characters, and what browsers drop.
    "<a onclick=\"f('&#39;+{query.q}+&#39;')\">",
    "<a onclick=\"f('?a&{query.q}')\">",
    '<a href="/&sol;{query.q}">',
    '<a href="/\t/{query.q}">',
    '<a href="/{query.a}/{query.q}">',
    '<a href="/{query.a}{path}">',
    '<meta name="a" http-equiv="refresh" content="{query.q}">',
    '<meta name="a" content="{query.q}" http-equiv="refresh">',
  ])("in HTML: %s", (body) => {
    expect(fault(body, PAGE)).toMatch(/^(\{[\w.]+\}|a value) stands /);
  });

  test.each([
    "<s:script xmlns:s='http://www.w3.org/2000/svg'>{query.q}</s:script>",
    "<svg><title><script>{query.q}</script></title></svg>",
    "<svg><textarea><a href='{query.q}'/></textarea></svg>",
    "<?a > <!-- ?><script>{query.q}</script>",
    '<!DOCTYPE svg [<!ENTITY a "{query.q}">]><svg>&a;</svg>',
    '<!DOCTYPE svg SYSTEM "> <!-- "><script>{query.q}</script>',
    "<x:set to='{query.q}'/>",
  ])("in XML: %s", (body) => {
    for (const type of ["image/svg+xml", "text/xsl", "application/xhtml+xml", "text/plain, text/xml"])
      expect(fault(body, type)).toContain(" stands ");
  });

  test.each(["text/jscript", "text/livescript"])("in a script of another name: %s", (type) => {
    expect(fault("f({query.q})", type)).toContain("outside of a text in quotes");
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
