import { describe, expect, test } from "bun:test";
import { type Product, planOf, recognise } from "../../src/tools/convert/convert.ts";
import { Draft } from "../../src/tools/convert/draft.ts";
import { EFFORT, LEAST_STEPS, STEPS_A_CHAR } from "../../src/tools/convert/effort.ts";
import { ConvertFault } from "../../src/tools/convert/statement.ts";
import { COSTLY, MULTIPLIED } from "../harness/costly-configurations.ts";
import { samples } from "../harness/long-lane.ts";
import { expectLinear, growthFault, type Reader } from "../harness/reader-cost.ts";

// A file of another program takes `edge convert` time in proportion to its length, and to what it counts of its work, which is bounded by
// that: files that are made to cost much, and generated ones. docs/migrate.md

const MAX_CHARS = 65_536;
/** For each of many files, of which some take all steps that they may. */
const NAMED_CHARS = samples(32_768, 16_384);
const SPACE = [" ", "\n", "\t", "#", "\\", '"', "'", "a", "a#", "=", ",", "/", "1", ":"];

/** What `edge convert` does with a file until `edge check` judges the result. */
function read(product: Product, name: string, text: string): void {
  recognise("-", text);
  try {
    const draft = new Draft(planOf(product, name, text), name);
    draft.routesText();
    draft.configText();
  } catch (error) {
    // It says what is wrong with the file.
    if (!(error instanceof ConvertFault)) throw error;
  }
  expect(EFFORT.taken).toBeLessThan(LEAST_STEPS + (STEPS_A_CHAR + 1) * text.length + SLACK_STEPS);
}

function workOf(text: string): number {
  return EFFORT.taken + text.length;
}

/** What the last thing that is counted may be beyond the bound. */
const SLACK_STEPS = 100_000;

function reader(product: Product, name: string, words: readonly string[], frame?: readonly [string, string]): Reader {
  return {
    name: frame === undefined ? name : `${name} in ${frame[0].slice(0, 20)}`,
    words: [...SPACE, ...words],
    maxChars: MAX_CHARS,
    ...(frame === undefined ? {} : { frame }),
    read: (text) => read(product, name, text),
    work: workOf,
  };
}

const NGINX = [
  ";",
  "{",
  "}",
  "server {",
  "listen #;",
  "location /# {",
  "if (",
  "$uri ~ ",
  "rewrite ^/(.*)$ /#;",
  "proxy_pass http://a#;",
  "set $a #;",
  "~*",
  "(",
  ")",
  "return 301 https://$host;",
  "map $a $b {",
  "upstream u# {",
];
const CADDY = [
  "{",
  "}",
  "a#.test {\n",
  "@m# ",
  "path /# ",
  "reverse_proxy a# ",
  "{$",
  "{$A:",
  "header ",
  "handle /# {\n",
  "redir ",
  "respond ",
  "`",
  "10s",
  "not ",
];
const HAPROXY = [
  "frontend f#\n",
  "backend b#\n",
  "listen l#\n",
  "acl a# ",
  "use_backend b# if ",
  "%[",
  "%[src]",
  "]",
  "{",
  "}",
  "server s# 10.0.0.1:80 ",
  "http-request ",
  "redirect ",
  "||",
  "!",
  "path_beg /# ",
  "bind :#\n",
  "default_backend b#\n",
  "-m ",
  "defaults\n",
];
const TRAEFIK = [
  "`",
  "Host(`a#`)",
  "&&",
  "||",
  "!",
  "(",
  ")",
  "PathPrefix(`/#`)",
  "HostRegexp(`",
  "{a:.+}",
  "[a-z]+",
  "\\.",
  "|",
  "Path(",
  "HeadersRegexp(`",
];
const RULE = [
  "http:\n  routers:\n    r:\n      service: s\n      rule: '",
  "'\n  services:\n    s:\n      loadBalancer:\n        servers:\n          - url: http://a\n",
] as const;
const READERS: readonly Reader[] = [
  reader("nginx", "nginx.conf", NGINX),
  reader("nginx", "nginx.conf", NGINX, ["http {\nserver {\nlisten 80;\n", "\n}\n}\n"]),
  reader("caddy", "Caddyfile", CADDY),
  reader("caddy", "Caddyfile", CADDY, ["a.test {\n", "\n}\n"]),
  reader("haproxy", "haproxy.cfg", HAPROXY),
  reader("haproxy", "haproxy.cfg", HAPROXY, [
    "frontend f\n  bind :80\n  ",
    "\n  default_backend b\nbackend b\n  server s a:1\n",
  ]),
  reader("traefik", "dynamic.yaml", TRAEFIK, RULE),
  reader("traefik", "dynamic.toml", ["[http.routers.r#]\n", "rule = ", '"""', "[[", "]]", "[", "]", ...TRAEFIK]),
  {
    name: "which program a file is for",
    words: [...SPACE, ...NGINX, ...CADDY, ...HAPROXY, "http:\n", "tls:", "frontend", "global ", "events {", "[http."],
    maxChars: MAX_CHARS,
    read: (text) => void recognise("some.conf", text),
  },
];

const RUNS = Number(process.env.READER_COST_RUNS ?? samples(40, 12));

describe("edge convert takes time in proportion to the file", () => {
  test.each(READERS.map((one) => [one.name, one] as const))(
    "%s",
    (_name, one) => expectLinear(one, RUNS, 20_261_126),
    240_000,
  );
});

const NAMES: Readonly<Record<Product, string>> = {
  nginx: "nginx.conf",
  caddy: "Caddyfile",
  haproxy: "haproxy.cfg",
  traefik: "dynamic.yml",
};

describe.each(Object.keys(COSTLY) as Product[])("files of %s that are made to cost much", (product) => {
  test.each(
    Object.entries({ ...COSTLY[product], ...MULTIPLIED[product] })
      .filter((_, i) => i % samples(1, 3) === 0)
      .map(([name, textAt]) => [JSON.stringify(name).slice(0, 80), textAt] as const),
  )(
    "%s",
    (name, textAt) => {
      const one = {
        name,
        maxChars: NAMED_CHARS,
        read: (text: string) => read(product, NAMES[product], text),
        work: workOf,
      };
      expect(growthFault(one, textAt)).toBe("");
    },
    240_000,
  );
});
