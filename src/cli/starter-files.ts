/** A file that `edge init` writes: its path in the folder, and its text. */
export interface StarterFile {
  readonly path: string;
  readonly text: string;
}

const CONFIG = `# yaml-language-server: $schema=.schema/config.json
# edge: the gateway itself. Where requests go is in routes.yaml, beside this file.
#
#   edge serve          starts the gateway and prints the address of your site
#   edge check          finds mistakes in both files and shows where they are
#   edge reload         makes the running gateway read both files again, and says what has come of it
#   edge help config    shows every key with its default
#
# Everything here may be left out: the value shown is then the default, unless a comment says otherwise.
# The last line, "...", marks the file as complete: a reload refuses it without that line.
#
# Five next steps, each a few lines from which to remove the "#":
#
#   1. an application       routes.yaml
#   2. a redirect           routes.yaml
#   3. a domain and HTTPS   below
#   4. a cache              below
#   5. limits               below

server:
  host: 127.0.0.1          # this machine only; the default, 0.0.0.0, serves every network that it is in
  port: 8080

  # Web application firewall. Without this section it is off.
  waf:
    enabled: true
    mode: enforce          # "detection" only writes to the log, for a first week with an application
    # A rule that misfires is named by the waf_block lines of the log; this is how it is left out:
    # exclusions: [{rule: SQLI-001, path: /search, param: q}]

  # Step 3. A domain of your own: its DNS record leads to this machine, and ports 80 and 443 are open.
  # Set host: 0.0.0.0 and port: 80 above. The certificate is obtained and renewed by itself; for one
  # that you have already, name cert_file and key_file in tls in place of acme.
  # tls:
  #   port: 443
  #   redirect_http: true      # requests in clear text are sent to https://
  # acme:
  #   enabled: true
  #   email: admin@example.com
  #   domains: [example.com, www.example.com]
  #   cache_dir: ./certs       # account, keys and certificates: keep this folder

  # Step 4. Responses kept in memory, for as long as they say, or for default_ttl. With "bypass", those to
  # requests with cookies are kept only where they say that they are public.
  # cache: { enabled: true, default_ttl: 60s, cookies: bypass }

  # Step 5. Limits. Larger bodies get 413, more requests of one client 429; both also at a route.
  # max_body_bytes: 4MiB
  # rate_limit: { requests: 100, window: 1s }
  # security_headers: { enabled: true }   # X-Frame-Options, Referrer-Policy and, over TLS, HSTS
...
`;

const ROUTES = `# yaml-language-server: $schema=.schema/routes.json
# Where requests go. The longest prefix that matches a path wins; a path that matches none gets 404.
# "edge help routes" shows every key with its default.

routes:
  # The site: files of a folder. Paths count from the folder of this file.
  - type: static
    prefix: /
    dir: ./public
    fallback: 404.html         # for paths without a file
    # spa: true                # in its place, for single-page applications: they get index.html

  # Step 1. An application on another port, below /api. The prefix is removed: /api/users asks it for /users
  # ("strip_prefix: false" keeps it). WebSockets and server-sent events need no setting.
  # - type: upstream
  #   prefix: /api
  #   target: http://127.0.0.1:3000
  #   # Uploads beyond 4MiB: max_body_bytes: 100MiB

  # Step 2. A redirect, for what has moved: /blog/a leads to /news/a. "status" is 308 by default.
  # - type: redirect
  #   prefix: /blog
  #   to: /news{rest}            # to another name: https://example.com{uri}, with "host: www.example.com"

  # A short text of the gateway's own:
  # - { type: respond, path: /robots.txt, body: "User-agent: *" }

  # More, such as several servers with health checks, canaries, limits of a route: edge help routes
...
`;

const PAGE_STYLE = `<style>
  :root { color-scheme: light dark; }
  body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem; }
</style>`;

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>It works</title>
${PAGE_STYLE}
<h1>It works.</h1>
<p>This is <code>public/index.html</code>, served by edge. Put your own files beside it.</p>
<p>The comments in <code>config.yaml</code> and <code>routes.yaml</code> lead on: an application, a redirect, a domain with
HTTPS, a cache, limits.</p>
</html>
`;

const NOT_FOUND_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Not found</title>
${PAGE_STYLE}
<h1>Not found.</h1>
<p>There is no page at this address. <a href="/">To the start</a></p>
</html>
`;

/** The files that make the configuration: none is written where one of them is there already. */
export const STARTER_CONFIG: readonly StarterFile[] = [
  { path: "config.yaml", text: CONFIG },
  { path: "routes.yaml", text: ROUTES },
];

/** The folder of the first site, as routes.yaml names it. */
export const STARTER_SITE_DIR = "public";

/** What `/` shows, so that the started gateway has a page. */
export const STARTER_PAGE: StarterFile = { path: `${STARTER_SITE_DIR}/index.html`, text: PAGE };

/** What a new site has beside its first page. */
export const STARTER_SITE: readonly StarterFile[] = [{ path: `${STARTER_SITE_DIR}/404.html`, text: NOT_FOUND_PAGE }];
