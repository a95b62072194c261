import fc from "fast-check";

/** One request to a site. */
export interface SiteRequest {
  readonly method: string;
  readonly path: string;
  /** The client's own address. */
  readonly from: string;
  readonly fields: readonly string[];
}

/** A site of nginx: what is between the braces of its server, but for its names and ports. */
export interface GeneratedSite {
  readonly text: string;
  readonly requests: readonly SiteRequest[];
}

/** Files below SITE, by their paths; each holds its own name. */
export const SITE_FILES: readonly string[] = [
  "index.html",
  "x.php",
  "y.py",
  "secret.txt",
  "ax",
  "a/index.html",
  "a/x.txt",
  "a/z.inc",
  "a/b/y.php",
  "a/b/index.html",
  "docs/index.html",
  "docs/d.html",
  "docs/in.cgi",
  "docsx",
  "docs/a/x.txt",
  "ok.html",
];

/** What decides about requests, in a server or a location. */
const GUARDS: readonly string[] = [
  "deny 127.0.0.2;",
  "allow 127.0.0.1; deny all;",
  "deny 127.0.0.1; allow 127.0.0.0/8; deny all;",
  "allow 127.0.0.2; deny 127.0.0.0/24;",
  "auth_basic x; auth_basic_user_file FOLDER/users;",
  "satisfy any; allow 127.0.0.1; deny all; auth_basic x; auth_basic_user_file FOLDER/users;",
  "auth_request /nowhere;",
  "if ($http_x_key != 1) { return 403; }",
  'if ($http_x_key = "") { return 403; }',
  "if ($http_x_key) { return 403; }",
  "if ($http_x_key ~ ^(|2)$) { set $x y; return 403; }",
  "if ($request_method = POST) { return 405; }",
  "if ($request_method !~ ^(GET|HEAD)$) { return 405; }",
  "if ($request_method ~ P) { return 405; }",
  "if ($uri ~* \\.(py|inc)$) { return 404; }",
  "if ($uri = /a/x.txt) { return 403; }",
  "if ($uri !~ ^/docs/) { return 403; }",
  "if ($request_uri ~ secret) { return 403; }",
  "if ($request_uri ~* \\.php) { return 403; }",
  "if ($args ~ bad) { return 403; }",
  "if ($arg_q = bad) { return 403; }",
  "if ($arg_q) { return 403; }",
  "if ($arg_q != ok) { return 403; }",
  "if ($arg_q !~ ^[a-z]+$) { return 403; }",
  "if ($cookie_k ~ bad) { return 403; }",
  "if ($cookie_k != ok) { return 403; }",
  "if ($remote_addr = 127.0.0.2) { return 403; }",
  "if ($remote_addr !~ ^127\\.0\\.0\\.) { return 403; }",
  "if ($host !~ ^s) { return 444; }",
  "set $no 0; if ($remote_addr = 127.0.0.2) { set $no 1; } if ($no) { return 403; }",
  "if ($inside = no) { return 403; }",
  "if ($mapped) { return 403; }",
  "valid_referers none server_names; if ($invalid_referer) { return 403; }",
  'secure_link $arg_m; secure_link_md5 "k$uri"; if ($secure_link = "") { return 403; }',
  "if (-f $request_filename) { return 403; }",
  "rewrite \\.py$ /a/ last;",
  "rewrite ^/a/x\\.txt$ /none break;",
  "rewrite ^/old/(.*)$ /a/$1 last;",
  "rewrite ^/docs/in\\.cgi$ https://away.test/ permanent;",
  "rewrite ^/secret /denied? ;",
  "if ($http_x_key = 2) { rewrite ^ /none last; }",
  "error_page 404 =200 /ok.html;",
  "error_page 403 /x.php;",
];

/** Those that a location has and no server. */
const INSIDE: readonly string[] = [
  "limit_except GET { deny all; }",
  "limit_except GET POST { deny 127.0.0.2; }",
  "internal;",
  "if ($http_x_key = 2) { add_header X-A b; return 403; }",
];

const PLACES: readonly string[] = [
  "/a/",
  "/a",
  "/a/b/",
  "/docs",
  "/docs/in",
  "^~ /a/",
  "^~ /docs",
  "= /a/x.txt",
  "= /a",
  "= /x.php",
  "~ \\.php$",
  "~ \\.(php|py)$",
  "~* \\.PY$",
  "~* \\.(txt|html)$",
  "~ ^/a/",
  "~ ^/(a|docs)/",
  "~ ^/a/|^/docs/",
  "~ /\\.",
  "~ ^/a/.*\\.txt$",
  "~ ^/(?!docs)",
  "~* ^/Docs",
  "~ [.]inc$",
];

/** What a location does with its requests. */
const CONTENTS: readonly string[] = [
  "",
  "",
  "root SITE;",
  "root SITE/docs;",
  "alias SITE/docs/;",
  "expires 1d;",
  "try_files $uri $uri/ =404;",
  "try_files $uri =404;",
  "try_files /docs$uri =404;",
  "try_files $uri $uri/ /index.html;",
  "try_files $uri @named;",
  "index none.html;",
  "autoindex off; index index.html;",
  "proxy_pass http://127.0.0.1:ONE;",
  "proxy_pass http://127.0.0.1:TWO/;",
  "proxy_pass http://127.0.0.1:TWO/base;",
  "uwsgi_pass 127.0.0.1:1;",
  "scgi_pass 127.0.0.1:1;",
  "memcached_pass 127.0.0.1:1; set $memcached_key x;",
  "grpc_pass 127.0.0.1:1;",
  "fastcgi_pass 127.0.0.1:1; fastcgi_param SCRIPT_FILENAME $document_root$uri;",
  'return 200 "text";',
  "return 301 https://away.test/;",
  "return 403;",
  "deny all;",
  "empty_gif;",
  "ssi on;",
  "if (!-f $request_filename) { proxy_pass http://127.0.0.1:ONE; }",
];

const PATHS: readonly string[] = [
  "/",
  "/a",
  "/a/",
  "/ax",
  "/a/x.txt",
  "/A/x.txt",
  "/a/z.inc",
  "/a/b",
  "/a/b/",
  "/a/b/y.php",
  "/x.php",
  "/x.php/",
  "/x.php/more",
  "/y.py",
  "/y.PY",
  "/docs",
  "/docs/",
  "/docs/d.html",
  "/docs/in.cgi",
  "/docs/index.html",
  "/docsx",
  "/docs/x.php",
  "/.hidden",
  "/old/x.txt",
  "/secret.txt",
  "/none",
  "/ok.html",
  "/a/../docs/d.html",
  "/docs/../a/x.txt",
  "//a/x.txt",
  "/a//x.txt",
  "/%61/x.txt",
  "/a%2fx.txt",
  "/a/./x.txt",
  "/x%2ephp",
  "/x.php%0a",
  "/a/x.txt?q=bad",
  "/?q=bad",
  "/a/x.txt?q=%62ad",
  "/x.php?secret",
  "/a/x.txt?Q=bad",
  "/ok.html?q=ok",
  "/docs/d.html?q=..&q=ok",
  "/a/x.txt?Q=bad&q=ok",
  "/docs/d.html?q=%6fk",
];

const request: fc.Arbitrary<SiteRequest> = fc.record({
  method: fc.constantFrom("GET", "GET", "GET", "GET", "HEAD", "POST", "DELETE"),
  path: fc.constantFrom(...PATHS),
  from: fc.constantFrom("127.0.0.1", "127.0.0.1", "127.0.0.2"),
  fields: fc
    .subarray(
      [
        "X-Key: 1",
        "X-Key: 2",
        "X-Key:",
        "Referer: http://evil.test/",
        `Authorization: Basic ${btoa("u:p")}`,
        "Cookie: k=ok",
        "Cookie: K=bad; k=ok",
        "Cookie: k=bad; k=ok",
      ],
      { maxLength: 2 },
    )
    .filter((list) => new Set(list.map((one) => one.split(":")[0])).size === list.length),
});

/** Directives of a block of which none is there twice. */
function unique(texts: readonly string[]): string[] {
  const names = new Set<string>();
  return texts.filter((text) => {
    const own = text.split(/(?<=[;}])\s*/).map((one) => one.split(/[ ;]/)[0]!);
    const fresh = own.filter((name) => !/^(if|rewrite|set|allow|deny|)$/.test(name));
    if (fresh.some((name) => names.has(name)) || (/\ballow|\bdeny/.test(text) && names.has("access"))) return false;
    for (const name of fresh) names.add(name);
    if (/\ballow|\bdeny/.test(text)) names.add("access");
    return true;
  });
}

const block = (guards: readonly string[], most: number): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...guards), { maxLength: most }).map(unique);

const inner = (depth: number): fc.Arbitrary<string> =>
  fc
    .record({
      place: fc.constantFrom(...PLACES),
      guards: fc.oneof(fc.constant<string[]>([]), block([...GUARDS, ...INSIDE], 2)),
      content: fc.constantFrom(...CONTENTS),
      nested:
        depth === 0
          ? fc.constant<string[]>([])
          : fc.oneof(
              { weight: 2, arbitrary: fc.constant<string[]>([]) },
              { weight: 1, arbitrary: fc.array(inner(0), { maxLength: 2 }) },
            ),
    })
    .map(({ place, guards, content, nested }) => locationOf(place, guards, content, nested));

function locationOf(place: string, guards: readonly string[], content: string, nested: readonly string[]): string {
  const isRegex = place.startsWith("~");
  // What nginx itself refuses to start with.
  let own = content;
  if (isRegex) own = own.replace(/:(TWO)\/\w*;/, ":$1;").replace("alias SITE/docs/;", "root SITE/docs;");
  if (place.startsWith("=") && own.startsWith("alias")) own = "alias SITE/docs/d.html;";
  const prefix = /^(?:\^~ )?(\/.*)$/.exec(place)?.[1];
  const inside = nested.filter((one) => {
    const path = /^location (?:= |\^~ )?(\/\S*)/.exec(one)?.[1];
    return path === undefined || (prefix !== undefined && path.startsWith(prefix) && path !== prefix);
  });
  const all = unique([...guards, own]);
  return `location ${place} { ${all.join(" ")} ${place.startsWith("=") || isRegex ? "" : distinct(inside).join(" ")} }`;
}

/** Locations of which no two have the same place. */
function distinct(locations: readonly string[]): string[] {
  const known = new Map(locations.map((one) => [/^location (?:\^~ )?(.+?) \{/.exec(one)![1], one]));
  return [...known.values()];
}

/** Any site, with requests for it. */
export const SITES: fc.Arbitrary<GeneratedSite> = fc
  .record({
    guards: fc.oneof(fc.constant<string[]>([]), block(GUARDS, 2)),
    locations: fc.array(inner(1), { minLength: 1, maxLength: 4 }),
    rest: fc.constantFrom(...CONTENTS.filter((one) => !one.startsWith("alias"))),
    restGuards: fc.oneof(fc.constant<string[]>([]), block(GUARDS, 1)),
    hasRest: fc.boolean(),
    requests: fc.array(request, { minLength: 30, maxLength: 30 }),
  })
  .map(({ guards, locations, rest, restGuards, hasRest, requests }) => {
    const all = distinct([...locations, ...(hasRest ? [locationOf("/", restGuards, rest, [])] : [])]);
    const named = "location @named { proxy_pass http://127.0.0.1:ONE; }";
    return { text: `root SITE; ${guards.join(" ")} ${all.join(" ")} ${named}`, requests };
  });
