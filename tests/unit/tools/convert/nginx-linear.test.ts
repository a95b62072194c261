// Files that are made to cost much: twice the text costs about twice the time. docs/migrate.md
import { expect, test } from "bun:test";
import { planOf } from "../../../../src/tools/convert/convert.ts";
import { Draft } from "../../../../src/tools/convert/draft.ts";
import { ConvertFault } from "../../../../src/tools/convert/statement.ts";

const filled = (text: string, length: number): string => text.repeat(Math.ceil(length / text.length));
const many = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");
const refused = (regex: string): string => `server { location ~ ${regex} { deny all; } location / { root /srv; } }`;

/** Texts of about a length. */
const HOSTILE: Readonly<Record<string, (length: number) => string>> = {
  "spaces of a condition": (n) => `server { if ($x ~ "${filled(" ", n)}x") { return 403; } }`,
  "a name of a host": (n) => `server { if ($host ~ ^${filled("a", n)}) { return 403; } location / { return 200; } }`,
  "names of hosts": (n) => `server { if ($host ~ ^(${filled("a|", n)}a)$) { return 403; } location / { return 200; } }`,
  "an expression of letters": (n) => refused(`^/${filled("a", n)}`),
  "an expression of groups": (n) => refused(`^/${filled("(a|b)", n)}$`),
  "an expression of folders": (n) => refused(`^${filled("/a", n)}`),
  "an expression of words around a group": (n) => refused(`^/x(${filled("a|", n / 2)}b)y${filled("z", n / 2)}$`),
  "open brackets": (n) => refused(filled("[", n)),
  "open groups": (n) => refused(filled("(", n)),
  "named classes": (n) => refused(filled("[[:", n)),
  extensions: (n) => `server { location ~ \\.(${filled("a|", n)}b)$ { expires 1d; } location / { root /srv; } }`,
  "expressions of files": (n) =>
    `server { root /r; ${many(n / 60, (i) => `location ~ a${i}$ { expires 1d; } location /a${i}/ { root /s; }`)} location / { root /srv; } }`,
  "expressions between firm prefixes": (n) =>
    `server { ${many(n / 60, (i) => `location ~ a${i} { deny all; } location ^~ /a${i}/ { root /s; }`)} location / { root /srv; } }`,
  conditions: (n) =>
    `server { ${many(n / 60, (i) => `if ($http_a${i} = b) { return 403; }`)} location / { root /srv; } }`,
  rewrites: (n) => `server { ${many(n / 40, (i) => `rewrite ^/a${i} /b${i} last;`)} location / { root /srv; } }`,
  servers: (n) => many(n / 60, (i) => `server { listen 127.0.0.1:${i}; server_name a${i}; location / { root /srv; } }`),
  variables: (n) => `server { ${many(n / 30, (i) => `set $a${i} b;`)} location / { proxy_pass http://$a1; } }`,
  "braces of variables": (n) => `server { return 200 '${filled("${", n)}'; }`,
  backslashes: (n) => `server { location "${filled("\\", n)}" { } }`,
  "long brackets of Lua": (n) => `server { content_by_lua_block { ${filled("[=", n)} } }`,
  "comments of Lua": (n) => `server { content_by_lua_block { ${filled("--[[", n)} } }`,
  times: (n) =>
    `server { keepalive_timeout ${filled("1", n)}x; send_timeout "${filled("1m ", n)}x"; location / { return 200; } }`,
  networks: (n) => `server { ${many(n / 25, (i) => `deny 10.${i >> 8}.${i & 255}.1;`)} location / { root /s; } }`,
};

function cost(text: string): number {
  const start = performance.now();
  try {
    const plan = planOf("nginx", "x", text);
    new Draft(plan, "x").routesText();
  } catch (error) {
    if (!(error instanceof ConvertFault)) throw error;
  }
  return performance.now() - start;
}

test.each(Object.entries(HOSTILE))(
  "%s",
  (_name, make) => {
    const small = cost(make(37_500));
    // Four times the text: sixteen times the cost where it were quadratic.
    expect(cost(make(150_000))).toBeLessThan(10 * small + 1500);
  },
  60_000,
);
