// Sites of PHP: what nginx and Caddy run becomes routes with FastCGI targets, and nothing that was run is sent. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { convert } from "../../../harness/conversions.ts";

type Route = Readonly<Record<string, unknown>>;

/** The routes of a text, whose folder is there, by host and place. @param text with `ROOT` for the folder */
function routesOf(product: "nginx" | "caddy", text: string): Map<string, Route> {
  const root = mkdtempSync(join(tmpdir(), "edge-convert-php-"));
  for (const folder of ["public", "storage"]) mkdirSync(join(root, folder));
  try {
    const name = product === "nginx" ? "nginx.conf" : "Caddyfile";
    const { routes, code, err } = convert(product, name, text.replaceAll("ROOT", root));
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    const found = (parse(routes.replaceAll(root, "ROOT")) as { routes: Route[] }).routes;
    return new Map(found.map((one) => [`${one.host ?? ""} ${one.prefix ?? one.path}`, one]));
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
