import { fastcgiParams } from "../harness/nginx-scripts.ts";

/** A site with scripts as the manual of an application configures it, and requests that both gateways must answer alike. */
export interface PhpScenario {
  readonly name: string;
  readonly product: "nginx" | "caddy";
  readonly text: string;
  /** Method and path; GET without one. A path ends with a body behind a space where it is a form. */
  readonly requests: readonly string[];
  /** What is refused here, whatever the other one does: other words for what it refuses. */
  readonly closed?: readonly string[];
}

const PARAMS = fastcgiParams({});
const NGINX = (inside: string): string =>
  `daemon off; pid FOLDER/nginx.pid; error_log FOLDER/error.log crit; events {}
http { access_log off; types { text/html html; text/css css; application/javascript js; image/gif gif; text/plain txt; }
client_body_temp_path FOLDER/t1; proxy_temp_path FOLDER/t2; fastcgi_temp_path FOLDER/t3; uwsgi_temp_path FOLDER/t4; scgi_temp_path FOLDER/t5;
upstream php { server unix:SOCKET; }
server { listen 127.0.0.1:PORT; server_name site.test;
${inside} } }`;

const CADDY = (inside: string): string => `{\n\tadmin off\n\tauto_https off\n}\nhttp://:PORT {\n${inside}\n}\n`;

const COMMON = [
  "/",
  "HEAD /",
  "/?a=1&b[]=2",
  "/a/pretty/page",
  "/a/pretty/page/?q=x",
  "/style.css",
  "HEAD /style.css",
  "/index.php",
  "/index.php?x=1",
  "/none.php",
  "/.env",
  "/.git/config",
  "POST /form/path a=1&b=2",
  "POST /index.php a=1",
];

/** What is run beside the gateway that it was converted for. docs/php.md#moving-here */
export const PHP_SCENARIOS: readonly PhpScenario[] = [
  {
    name: "as WordPress is set up",
    product: "nginx",
    text: NGINX(`root SITE; index index.php index.html;
  location = /favicon.ico { log_not_found off; access_log off; }
  location = /robots.txt { allow all; log_not_found off; access_log off; }
  location / { try_files $uri $uri/ /index.php?$args; }
  location ~ /\\. { deny all; }
  location ~* /(?:uploads|files)/.*\\.php$ { deny all; }
  location = /xmlrpc.php { deny all; }
  location ~ \\.php$ {
    ${PARAMS}
    try_files $uri =404;
    fastcgi_intercept_errors on;
    fastcgi_pass php;
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
  }
  location ~* \\.(js|css|png|jpg|jpeg|gif|ico)$ { expires max; log_not_found off; }`),
    requests: [
      ...COMMON,
      "/folder",
      "/folder/",
      "/robots.txt",
      "/favicon.ico",
      "/xmlrpc.php",
      "POST /xmlrpc.php a=1",
      "/admin/",
      "/admin",
      "/admin/ajax.php?action=x",
      "POST /admin/ajax.php action=y",
      "/content/uploads/shell.php",
      "/content/uploads/picture.gif",
      "/wp-json/v2/posts?per_page=1",
    ],
    closed: ["/xmlrpc.php/x", "/content/uploads/shell.php/x", "/.well-known/x"],
  },
  {
    name: "as Laravel is set up",
    product: "nginx",
    text: NGINX(`root SITE; index index.php index.html; charset utf-8;
  add_header X-Frame-Options "SAMEORIGIN" always;
  location / { try_files $uri $uri/ /index.php?$query_string; }
  location = /favicon.ico { access_log off; log_not_found off; }
  location = /robots.txt { access_log off; log_not_found off; }
  error_page 404 /index.php;
  location ~ ^/index\\.php(/|$) {
    fastcgi_pass php;
    ${PARAMS}
    fastcgi_param SCRIPT_FILENAME $realpath_root$fastcgi_script_name;
    fastcgi_hide_header X-Powered-By;
  }
  location ~ /\\.(?!well-known).* { deny all; }`),
    requests: [...COMMON.filter((one) => !/none/.test(one)), "/folder", "/folder/", "/robots.txt"],
    closed: ["/content/uploads/shell.php", "/content/uploads/shell.php/x", "/admin/ajax.php", "/none.php"],
  },
  {
    name: "as Symfony is set up",
    product: "nginx",
    text: NGINX(`root SITE;
  location / { try_files $uri /index.php$is_args$args; }
  location ~ ^/index\\.php(/|$) {
    fastcgi_pass php;
    fastcgi_split_path_info ^(.+\\.php)(/.*)$;
    ${PARAMS}
    fastcgi_param SCRIPT_FILENAME $realpath_root$fastcgi_script_name;
    fastcgi_param DOCUMENT_ROOT $realpath_root;
    internal;
  }
  location ~ \\.php$ { return 404; }`),
    requests: [
      ...COMMON.filter((one) => !one.includes("/.")),
      "/admin/ajax.php",
      "/robots.txt",
      "/index.php/a",
      "/content/uploads/shell.php",
    ],
    closed: ["/admin/ajax.php/x", "/content/uploads/shell.php/a", "/.env"],
  },
  {
    name: "as Drupal is set up",
    product: "nginx",
    text: NGINX(`root SITE;
  location = /favicon.ico { log_not_found off; access_log off; }
  location = /robots.txt { allow all; log_not_found off; access_log off; }
  location ~* \\.(txt|log)$ { deny all; }
  location ~ \\..*/.*\\.php$ { return 403; }
  location ~ ^/sites/.*/private/ { return 403; }
  location ~ ^/content/uploads/.*\\.php$ { deny all; }
  location ~* ^/.well-known/ { allow all; }
  location ~ (^|/)\\. { return 403; }
  location / { try_files $uri /index.php?$query_string; }
  location @rewrite { rewrite ^ /index.php; }
  location ~ /vendor/.*\\.php$ { deny all; return 404; }
  location ~ '\\.php$|^/update.php' {
    fastcgi_split_path_info ^(.+?\\.php)(|/.*)$;
    try_files $fastcgi_script_name =404;
    ${PARAMS}
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
    fastcgi_param PATH_INFO $fastcgi_path_info;
    fastcgi_intercept_errors on;
    fastcgi_pass php;
  }
  location ~* \\.(js|css|png|jpg|jpeg|gif|ico|svg)$ { try_files $uri @rewrite; expires max; log_not_found off; }`),
    requests: [
      ...COMMON,
      "/robots.txt",
      "/notes.txt",
      "/vendor/tool.php",
      "/content/uploads/shell.php",
      "/sites/a/private/x",
    ],
    closed: ["/vendor/tool.php/x", "/content/uploads/shell.php/x", "/NOTES.TXT"],
  },
  {
    name: "as Nextcloud is set up",
    product: "nginx",
    text: NGINX(`root SITE; index index.php index.html /index.php$request_uri; client_max_body_size 512m;
  add_header X-Robots-Tag "noindex, nofollow" always;
  location = / { if ( $http_user_agent ~ ^DavClnt ) { return 302 /remote.php/webdav/$is_args$args; } }
  location = /robots.txt { allow all; log_not_found off; access_log off; }
  location ^~ /.well-known {
    location = /.well-known/carddav { return 301 /remote.php/dav/; }
    location = /.well-known/caldav { return 301 /remote.php/dav/; }
    return 301 /index.php$request_uri;
  }
  location ~ ^/(?:build|tests|config|lib|3rdparty|templates|data)(?:$|/) { return 404; }
  location ~ ^/(?:\\.|autotest|occ|issue|indie|db_|console) { return 404; }
  location ~ \\.php(?:$|/) {
    rewrite ^/(?!index|remote|public|cron|status|admin) /index.php$request_uri;
    fastcgi_split_path_info ^(.+?\\.php)(/.*)$;
    set $path_info $fastcgi_path_info;
    try_files $fastcgi_script_name =404;
    ${PARAMS}
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
    fastcgi_param PATH_INFO $path_info;
    fastcgi_pass php;
  }
  location ~ \\.(?:css|js|svg|gif|ico)$ { try_files $uri /index.php$request_uri; add_header Cache-Control "public, max-age=15778463"; }
  location /remote { return 301 /remote.php$request_uri; }
  location / { try_files $uri $uri/ /index.php$request_uri; }`),
    requests: [
      "/robots.txt",
      "/data/secret.txt",
      "/config/config.php",
      "/.env",
      "/.well-known/carddav",
      "/.well-known/webfinger",
      "/remote.php/dav/files/a",
      "POST /remote.php/dav/x a=1",
      "/index.php/apps/files",
      "/",
      "/.git/config",
      "/occ",
    ],
  },
  {
    name: "php_fastcgi",
    product: "caddy",
    text: CADDY(`	root * SITE
	encode gzip
	@hidden path /.env /.git/* /notes.txt
	respond @hidden 404
	php_fastcgi unix/SOCKET
	file_server`),
    requests: [
      ...COMMON.filter((one) => one !== "/none.php"),
      "/admin/",
      "/admin/ajax.php",
      "/robots.txt",
      "/notes.txt",
      "/remote.php/a/b?c",
    ],
  },
];
