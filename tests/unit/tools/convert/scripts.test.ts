// Sites of PHP: what nginx and Caddy run becomes routes with FastCGI targets, and nothing that was run is sent. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { convert } from "../../../harness/conversions.ts";

type Route = Readonly<Record<string, unknown>>;

/** The routes of a text by host and place. */
function routesOf(product: "nginx" | "caddy", text: string): Map<string, Route> {
  return new Map(routesIn(product, text).map((one) => [`${one.host ?? ""} ${one.prefix ?? one.path}`, one]));
}

/** The routes of a text, whose folder is there, in their order. @param text with `ROOT` for the folder */
function routesIn(product: "nginx" | "caddy", text: string): Route[] {
  const root = mkdtempSync(join(tmpdir(), "edge-convert-php-"));
  for (const folder of ["public", "storage"]) mkdirSync(join(root, folder));
  try {
    const name = product === "nginx" ? "nginx.conf" : "Caddyfile";
    const { routes, code, err } = convert(product, name, text.replaceAll("ROOT", root));
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    return (parse(routes.replaceAll(root, "ROOT")) as { routes: Route[] }).routes;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

const server = (inside: string): string =>
  `events {} http { server { listen 80; root ROOT/public; index index.php; ${inside} } }`;
const PHP = "location ~ \\.php$ { fastcgi_pass unix:/run/php.sock; include fastcgi_params; }";

describe("nginx", () => {
  test("a location of files and one of scripts are one route", () => {
    const routes = routesOf("nginx", server(`location / { try_files $uri $uri/ /index.php?$args; } ${PHP}`));
    expect(routes.get(" /")).toMatchObject({
      type: "upstream",
      target: "fastcgi://unix:/run/php.sock",
      fastcgi: { root: "ROOT/public" },
    });
    expect(routes.size).toBe(1);
  });

  test("without a front controller, and with another index", () => {
    const plain = routesOf("nginx", server(`location / { try_files $uri $uri/ =404; } ${PHP}`));
    expect(plain.get(" /")!.fastcgi).toEqual({ root: "ROOT/public", front_controller: false });
    const other = routesOf("nginx", server(`location / { try_files $uri /app.php$is_args$args; } ${PHP}`));
    expect(other.get(" /")!.fastcgi).toEqual({ root: "ROOT/public", index: "app.php" });
    expect(routesOf("nginx", server(PHP)).get(" /")!.fastcgi).toEqual({ root: "ROOT/public", front_controller: false });
  });

  test("every folder of the site runs or withholds scripts: none is left to be sent as text", () => {
    const routes = routesOf(
      "nginx",
      server(
        `location / { try_files $uri /index.php; } location /a/ { expires 7d; } location /m/ { alias ROOT/storage/; } ${PHP}`,
      ),
    );
    expect([...routes.values()].filter(({ type }) => type === "static")).toEqual([]);
    expect(routes.get(" /a")).toMatchObject({ strip_prefix: false, fastcgi: { root: "ROOT/public" } });
    expect(routes.get(" /m")).toMatchObject({ fastcgi: { root: "ROOT/storage", no_scripts: ["/"] } });
  });

  test("who may run scripts, for how long, and where none run", () => {
    const routes = routesOf(
      "nginx",
      server(`location / { try_files $uri /index.php; }
        location ~ [^/]\\.php(/|$) { allow 10.0.0.0/8; deny all; fastcgi_read_timeout 300s; fastcgi_pass 127.0.0.1:9000;
          fastcgi_param APP_ENV prod; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; }
        location ~* ^/uploads/.*\\.php$ { deny all; }`),
    );
    expect(routes.get(" /")).toMatchObject({
      target: "fastcgi://127.0.0.1:9000",
      fastcgi: { root: "ROOT/public", env: { APP_ENV: "prod" }, no_scripts: ["/uploads"] },
      timeouts: { response_header: "5m", idle: "5m" },
      ip_rules: { allow: ["10.0.0.0/8"] },
    });
    expect(routes.get(" /")).not.toHaveProperty("preserve_host");
  });

  test("one script for all paths leaves files alone", () => {
    const routes = routesOf(
      "nginx",
      server("location / { fastcgi_pass php:9000; fastcgi_param SCRIPT_FILENAME /app/public/front.php; }"),
    );
    expect(routes.get(" /")!.fastcgi).toEqual({ root: "/app/public", index: "front.php", check_files: false });
  });

  test("scripts that are named are the only ones; an internal one is run for other paths alone", () => {
    const named = "location ~ ^/index\\.php(/|$) { fastcgi_pass php:9000;";
    const front = "location / { try_files $uri /index.php$is_args$args; }";
    const routes = routesIn("nginx", server(`${front} ${named} }`));
    expect(routes).toMatchObject([
      { type: "upstream", prefix: "/index.php", strip_prefix: false },
      { type: "respond", prefix: "/", status: 404, regex: "\\.php(?:/|$)" },
      { type: "upstream", prefix: "/", fastcgi: { root: "ROOT/public" } },
    ]);
    const internal = routesIn("nginx", server(`${front} ${named} internal; } location ~ \\.php$ { return 404; }`));
    expect(internal).toMatchObject([
      { type: "respond", prefix: "/index.php", status: 404 },
      { type: "respond", prefix: "/", status: 404, regex: "\\.php(?:/|\\n?$)" },
      { type: "upstream", prefix: "/" },
    ]);
  });

  test("a refused script is refused with more of a path behind it, too", () => {
    const front = `location / { try_files $uri /index.php; } ${PHP}`;
    const routes = routesIn(
      "nginx",
      server(`${front} location = /xmlrpc.php { deny all; } location ~* /(?:uploads|files)/.*\\.php$ { deny all; }`),
    );
    expect(routes).toMatchObject([
      { type: "respond", prefix: "/xmlrpc.php", status: 403 },
      { type: "respond", prefix: "/", status: 403, regex: "(?i)/(?:uploads|files)/.*\\.php(?:/|\\n?$)" },
      { type: "upstream", prefix: "/" },
    ]);
  });

  test("scripts of a location whose expression is not known are not sent as files", () => {
    const run = "location ~ ^/x[0-9]+\\.php$ { fastcgi_pass php:9000; }";
    expect(routesIn("nginx", server(`location / { } ${run}`))).toMatchObject([
      { type: "respond", status: 503, regex: "^/x[0-9]+\\.php\\n?$" },
      // The page of a folder would be a script.
      { type: "respond", status: 404, regex: "/$" },
      { type: "static", prefix: "/" },
    ]);
  });

  test("the page of one folder is no route for all that is below it", () => {
    const front = `location / { try_files $uri $uri/ /index.php$request_uri; }`;
    const routes = routesIn("nginx", server(`location = / { expires 1d; } ${front} ${PHP}`));
    expect(routes).toMatchObject([
      { type: "upstream", path: "/" },
      { type: "upstream", prefix: "/" },
    ]);
    const plain = (inside: string): Route[] => routesIn("nginx", server(inside));
    expect(plain("location = / { expires 1d; } location / { }").at(-1)).toMatchObject({ type: "static", prefix: "/" });
    expect(plain("location = /a { expires 1d; } location /a/ { auth_basic x; proxy_pass http://b; }")[0]).toMatchObject(
      {
        type: "respond",
        path: "/a",
        status: 503,
      },
    );
  });

  test("what cannot be said closes the route", () => {
    const routes = routesOf(
      "nginx",
      server("location / { try_files $uri /index.php; } location ~ \\.php$ { fastcgi_pass $backend; }"),
    );
    expect(routes.get(" /")).toMatchObject({ type: "respond", status: 503 });
    // Nothing that is run by expression alone is put before another application.
    const proxied = routesOf("nginx", server(`location / { proxy_pass http://127.0.0.1:3000; } ${PHP}`));
    expect(proxied.get(" /")).toMatchObject({ target: "http://127.0.0.1:3000" });
  });
});

describe("Caddy", () => {
  test("php_fastcgi with file_server is one route", () => {
    const routes = routesOf(
      "caddy",
      "shop.test {\n root * ROOT/public\n php_fastcgi unix//run/php.sock\n file_server\n}",
    );
    expect(routes.get("shop.test /")).toMatchObject({
      type: "upstream",
      target: "fastcgi://unix:/run/php.sock",
      fastcgi: { root: "ROOT/public" },
    });
    expect(routes.size).toBe(1);
  });

  test("its subdirectives", () => {
    const routes = routesOf(
      "caddy",
      "shop.test {\n root * ROOT\n php_fastcgi /app/* 127.0.0.1:9000 127.0.0.1:9001 {\n  root ROOT/public\n  split .php .phtml\n  index start.php\n  env APP_ENV prod\n  read_timeout 90s\n  try_files {path} {path}/start.php =404\n  lb_policy first\n  health_uri /ping\n }\n}",
    );
    expect(routes.get("shop.test /app")).toMatchObject({
      targets: [{ url: "fastcgi://127.0.0.1:9000" }, { url: "fastcgi://127.0.0.1:9001" }],
      fastcgi: {
        root: "ROOT/public",
        split_path: [".php", ".phtml"],
        index: "start.php",
        env: { APP_ENV: "prod" },
        front_controller: false,
      },
      timeouts: { response_header: "90s", idle: "90s" },
      health_check: { path: "/ping" },
      strip_prefix: false,
    });
  });
});

describe("applications of nginx", () => {
  const app = (inside: string): Route =>
    routesOf("nginx", server(`location / { root ROOT/public; } location /app { ${inside} }`)).get(" /app")!;

  test("uwsgi_pass and scgi_pass are targets, with their parameters", () => {
    expect(
      app(`include uwsgi_params; uwsgi_pass unix:/run/app.sock; uwsgi_param APP_ENV live; uwsgi_param PATH_INFO $document_uri;
        uwsgi_modifier1 5; uwsgi_read_timeout 90s; proxy_set_header X-A b;`),
    ).toMatchObject({
      type: "upstream",
      target: "uwsgi://unix:/run/app.sock",
      strip_prefix: false,
      uwsgi: { env: { APP_ENV: "live" }, modifier1: 5 },
      timeouts: { response_header: "90s", idle: "90s" },
    });
    expect(app("scgi_pass 127.0.0.1:4000;")).toMatchObject({ target: "scgi://127.0.0.1:4000", strip_prefix: false });
    expect(app("uwsgi_pass uwsgi://h:3031; proxy_set_header X-A b;").headers).toBeUndefined();
  });

  test.each([
    "uwsgi_pass suwsgi://h:1;",
    "uwsgi_pass $up;",
    "scgi_pass h:1/x;",
    "uwsgi_pass h:1; uwsgi_pass_request_headers off;",
    "proxy_pass http://h:1; proxy_pass_request_headers off;",
  ])("%s closes its route", (inside) => {
    const route = app(inside);
    expect(route.type === "respond" || route.ip_rules !== undefined).toBe(true);
  });
});

describe("bodies of nginx", () => {
  const route = (inside: string): Route =>
    routesOf("nginx", server(`location / { proxy_pass http://h:1; ${inside} }`)).get(" /")!;

  test("sub_filter is rewrite_body", () => {
    expect(route("sub_filter '</head>' '<b></head>'; sub_filter http://h/ /;").rewrite_body).toEqual({
      rules: [
        { find: "</head>", with: "<b></head>" },
        { find: "http://h/", with: "/" },
      ],
      ignore_case: true,
      once: true,
    });
    expect(
      route("sub_filter a b; sub_filter A c; sub_filter x $host; sub_filter_once off; sub_filter_types text/css;")
        .rewrite_body,
    ).toEqual({
      rules: [{ find: "a", with: "b" }],
      types: ["text/html", "text/css"],
      ignore_case: true,
    });
    expect(route("sub_filter a $host;").rewrite_body).toBeUndefined();
  });

  test("ssi on is ssi", () => {
    expect(route("ssi on;").ssi).toBe(true);
    expect(route("ssi on; ssi_types text/plain;").ssi).toEqual({ types: ["text/html", "text/plain"] });
    expect(route("ssi off;").ssi).toBeUndefined();
  });
});
