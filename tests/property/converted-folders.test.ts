// What another gateway refuses, or gives to a server in place of sending it, `edge convert` makes no file of. docs/migrate.md
import { test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "yaml";
import { type Product, planOf } from "../../src/tools/convert/convert.ts";
import { Draft } from "../../src/tools/convert/draft.ts";
import { type Call, type Route, routed } from "../harness/converted-routes.ts";

const RUNS = Number(process.env.CONVERT_RUNS ?? 300);

const PATHS = [
  "/a",
  "/a/x.txt",
  "/a/x.php",
  "/a/b/x.php",
  "/a/b/x.txt",
  "/a/.env",
  "/A/x.txt",
  "/b",
  "/b/x.py",
  "/c/x.PHP",
  "/.git/config",
  "/x.php",
  "/x.txt",
  "/x.php.txt",
];

type Served = Route & {
  readonly dir?: string;
  readonly rewrite?: { readonly path?: string; readonly regex?: string };
  readonly fastcgi?: { readonly root?: string; readonly check_files?: boolean };
};

/** What becomes of a request: the file that is sent, "" where it is refused, or that a server gets it. */
type Outcome = { readonly file: string } | "refused" | "server";

function outcomeOf(routes: readonly Served[], path: string): Outcome {
  const call: Call = { host: "a.test", path, method: "GET", address: "192.0.2.1", fields: {} };
  const found = routed(routes, call) as Served | null;
  if (found === null || found.type === "redirect") return "refused";
  if (found.type === "static") {
    // The folder itself leads to its slash.
    if (path === found.prefix && found.rewrite === undefined) return "refused";
    const [, moved] = new RegExp(found.rewrite?.regex ?? "$.").exec(path) ?? [];
    if (moved !== undefined) return { file: join(found.dir!, moved) };
    const taken = found.rewrite?.path === "{path}" ? 0 : found.prefix!.replace(/\/$/, "").length;
    return { file: join(found.dir!, path.slice(taken)) };
  }
  const { root, check_files: sendsFiles = true } = found.fastcgi ?? { check_files: false };
  if (root === undefined || !sendsFiles || /\.php$/.test(path)) return "server";
  // No script leaves as text. docs/php.md
  return /\.php/i.test(path) ? "refused" : { file: join(root, path) };
}

function converted(product: Product, text: string): readonly Served[] {
  return (parse(new Draft(planOf(product, "x", text), "x").routesText()) as { routes: Served[] }).routes ?? [];
}

/** A refused request stays refused, and a file is sent where that very file was. */
function expectClosed(product: Product, text: string, wanted: (path: string) => Outcome): void {
  const routes = converted(product, text);
  for (const path of PATHS) {
    const [was, is] = [wanted(path), outcomeOf(routes, path)];
    const isSame = typeof was === "object" && typeof is === "object" && was.file === is.file;
    if (is === "refused" || isSame || (is === "server" && was !== "refused")) continue;
    throw new Error(
      `${text}\n${path} was ${JSON.stringify(was)}, and is ${JSON.stringify(is)} by ${JSON.stringify(routes)}`,
    );
  }
}

interface Location {
  readonly kind: "" | "=" | "^~" | "~" | "~*";
  readonly pattern: string;
  readonly content: string;
  readonly nested: readonly Location[];
}

const SERVERS = ["proxy_pass http://h:1;", "fastcgi_pass h:9;", "uwsgi_pass h:1;", "grpc_pass grpc://h:1;"];
const REFUSALS = ["return 403;", "return 404;", "deny all;", "internal;", "auth_basic x; auth_basic_user_file u;"];
const FILES = [
  "",
  "try_files $uri =404;",
  "root /srv/other;",
  "expires 1d;",
  "try_files $uri $uri/ =404;",
  "autoindex on;",
];
const content = fc.oneof(
  { arbitrary: fc.constantFrom(...SERVERS), weight: 2 },
  { arbitrary: fc.constantFrom(...REFUSALS), weight: 2 },
  { arbitrary: fc.constantFrom(...FILES), weight: 3 },
  {
    arbitrary: fc.constantFrom("if ($uri ~ \\.php$) { return 403; }", "if ($request_uri ~ ^/a/b) { return 404; }"),
    weight: 1,
  },
);
const prefixed = fc.record({
  kind: fc.constantFrom<Location["kind"]>("", "", "^~", "="),
  pattern: fc.constantFrom("/", "/a", "/a/", "/a/b/", "/b", "/c/", "/.git", "/x.php", "/A/"),
  content,
});
const matched = fc.record({
  kind: fc.constantFrom<Location["kind"]>("~", "~*"),
  pattern: fc.constantFrom("\\.php$", "\\.php(/|$)", "/\\.", "^/a/", "\\.(py|txt)$", "^/(b|c)/", "x"),
  content,
});
const plain = (one: Omit<Location, "nested">): Location => ({ ...one, nested: [] });
const nested = fc
  .record({
    outer: prefixed.filter(({ kind, content: own }) => kind !== "=" && !own.startsWith("root")),
    inner: fc.array(matched, { minLength: 1, maxLength: 2 }),
  })
  .map(({ outer, inner }): Location => ({ ...outer, nested: inner.map(plain) }));
const locations = fc.uniqueArray(fc.oneof(prefixed.map(plain), matched.map(plain), nested), {
  maxLength: 4,
  selector: ({ kind, pattern }) => (kind === "=" ? "=" : kind.startsWith("~") ? kind : "") + pattern,
});

function textOf({ kind, pattern, content: own, nested: inner }: Location): string {
  return `location ${kind} ${pattern} {\n${own}\n${inner.map(textOf).join("\n")}\n}`;
}

const fits = ({ kind, pattern }: Location, path: string): boolean =>
  kind.startsWith("~") && new RegExp(pattern, kind === "~*" ? "i" : "").test(path);

/** The location that takes a path, outer ones first. https://nginx.org/en/docs/http/ngx_http_core_module.html#location */
function located(all: readonly Location[], path: string): { chain: readonly Location[]; isFirm: boolean } {
  const exact = all.find(({ kind, pattern }) => kind === "=" && pattern === path);
  if (exact !== undefined) return { chain: [exact], isFirm: true };
  const best = all
    .filter(({ kind, pattern }) => (kind === "" || kind === "^~") && path.startsWith(pattern))
    .sort((a, b) => b.pattern.length - a.pattern.length)[0];
  const within = best === undefined ? { chain: [], isFirm: false } : located(best.nested, path);
  const chain = best === undefined ? [] : [best, ...within.chain];
  if (within.isFirm || best?.kind === "^~") return { chain, isFirm: true };
  const regular = all.find((one) => fits(one, path));
  return regular === undefined ? { chain, isFirm: false } : { chain: [regular], isFirm: true };
}

function nginxOutcome(top: string, all: readonly Location[], path: string): Outcome {
  const { chain } = located(all, path);
  const [own, outer] = [chain.at(-1)?.content ?? "", chain.length > 1 ? chain[0]!.content : ""];
  const isRefused = (text: string): boolean =>
    (text.includes("$uri ~ \\.php$") && /\.php$/.test(path)) || (text.includes("^/a/b") && path.startsWith("/a/b"));
  if (isRefused(top) || isRefused(own) || REFUSALS.includes(own)) return "refused";
  // Rules of access are inherited, handlers and rewrites are not.
  if (/^(deny|auth)/.test(outer) || /^(deny|auth)/.test(top)) return "refused";
  if (SERVERS.includes(own)) return "server";
  return { file: join([own, outer].some((text) => text.startsWith("root")) ? "/srv/other" : "/srv/www", path) };
}

test("nginx: no file is sent that was refused, or that a server got", () => {
  const tops = fc.constantFrom("", "", "deny all;", "if ($uri ~ \\.php$) { return 403; }");
  fc.assert(
    fc.property(tops, locations, (top, all) => {
      const text = `server {\nlisten 80;\nroot /srv/www;\n${top}\n${all.map(textOf).join("\n")}\n}`;
      expectClosed("nginx", text, (path) => nginxOutcome(top, all, path));
    }),
    { numRuns: RUNS, includeErrorInReport: true },
  );
}, 60_000);

interface Step {
  /** The paths that it is for, with Caddy's signs for any rest; "" for all. */
  readonly paths: string;
  readonly what: string;
}

const step = fc.record({
  paths: fc.constantFrom("", "/a/*", "/a/b/*", "*.php", "/x.php", "/b*", "/.git*", "*/.env", "/a"),
  what: fc.constantFrom(
    "respond MATCHER 403",
    "error MATCHER 404",
    "abort MATCHER",
    "reverse_proxy MATCHER h:1",
    "php_fastcgi MATCHER h:9",
    "file_server MATCHER",
    "handle MATCHER {\nreverse_proxy h:2\n}",
    "handle MATCHER {\nrespond 403\n}",
    "handle MATCHER {\nfile_server\n}",
    "basic_auth MATCHER {\nu $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n}",
    "plugin MATCHER",
    "encode gzip",
    "header X-A b",
  ),
});

/** Caddy compares paths whatever their case. https://caddyserver.com/docs/caddyfile/matchers#path */
function fitsPaths(paths: string, path: string): boolean {
  const [own, lower] = [paths.toLowerCase(), path.toLowerCase()];
  if (own === "") return true;
  if (own.startsWith("*")) return lower.endsWith(own.slice(1));
  return own.endsWith("*") ? lower.startsWith(own.slice(0, -1)) : lower === own;
}

function caddyOutcome(steps: readonly Step[], path: string, endsInFiles: boolean): Outcome {
  let hasScripts = false;
  for (const { paths, what } of steps) {
    if (what.startsWith("encode") || what.startsWith("header") || !fitsPaths(paths, path)) continue;
    // Where no file is, the index has got the path.
    if (/403|404|abort|auth|plugin/.test(what)) return hasScripts ? "server" : "refused";
    // Files that are there and no scripts go on to what follows.
    if (what.startsWith("php_fastcgi") && !/\.php$/i.test(path)) {
      hasScripts = true;
      continue;
    }
    if (/reverse_proxy|php_fastcgi/.test(what)) return "server";
    return { file: join("/srv/www", path) };
  }
  // An empty response.
  return endsInFiles ? { file: join("/srv/www", path) } : "server";
}

test("Caddy: no file is sent that was refused, or that a server got", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), fc.boolean(), (steps, endsInFiles) => {
      const lines = steps.map(({ paths, what }, i) =>
        paths === "" ? what.replace("MATCHER", "") : `@m${i} path ${paths}\n${what.replace("MATCHER", `@m${i}`)}`,
      );
      const text = `:80 {\nroot * /srv/www\nroute {\n${lines.join("\n")}\n${endsInFiles ? "file_server" : ""}\n}\n}`;
      expectClosed("caddy", text, (path) => caddyOutcome(steps, path, endsInFiles));
    }),
    { numRuns: RUNS, includeErrorInReport: true },
  );
}, 60_000);
