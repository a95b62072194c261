import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Product, planOf, recognise } from "../../src/tools/convert/convert.ts";
import { costFault, type Reader, shapes } from "../harness/reader-cost.ts";

// A file of another program takes `edge convert` time in proportion to its length. docs/migrate.md

const MAX_CHARS = 65_536;
const SPACE = [" ", "\n", "\t", "#", "\\", '"', "'", "a", "a#", "=", ",", "/", "1", ":"];

function reader(product: Product, name: string, words: readonly string[], frame?: readonly [string, string]): Reader {
  return {
    name: frame === undefined ? name : `${name} in ${frame[0].slice(0, 20)}`,
    words: [...SPACE, ...words],
    maxChars: MAX_CHARS,
    ...(frame === undefined ? {} : { frame }),
    read: (text) => {
      try {
        planOf(product, name, text);
      } catch {
        // It says what is wrong with the file.
      }
    },
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

const RUNS = Number(process.env.READER_COST_RUNS ?? 40);

describe("edge convert takes time in proportion to the file", () => {
  test.each(READERS.map((one) => [one.name, one] as const))(
    "%s",
    (_name, one) => {
      fc.assert(
        fc.property(shapes(one), (shape) => expect(costFault(one, shape)).toBe("")),
        { numRuns: RUNS, seed: 20_261_126 },
      );
    },
    240_000,
  );
});
