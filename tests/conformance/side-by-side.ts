/** A configuration of another gateway, and requests that both must answer alike. Ports and folders are put in for the words in capitals. */
export interface Scenario {
  readonly name: string;
  readonly product: "nginx" | "caddy" | "haproxy";
  readonly text: string;
  /** Method, host and path of each request; GET without one, `site.test` without a host. */
  readonly requests: readonly string[];
  /** Fields that the two are known to have otherwise: docs/migrate.md#comparing-the-two */
  readonly ignored?: readonly string[];
}

const NGINX = (inside: string): string =>
  `daemon off; pid FOLDER/nginx.pid; error_log FOLDER/error.log; events {}
http { access_log off; default_type text/plain; types { text/html html; text/css css; application/javascript js; }
client_body_temp_path FOLDER/t1; proxy_temp_path FOLDER/t2; fastcgi_temp_path FOLDER/t3; uwsgi_temp_path FOLDER/t4; scgi_temp_path FOLDER/t5;
${inside} }`;

const HAPROXY = (inside: string): string =>
  `defaults\n    mode http\n    timeout connect 5s\n    timeout client 10s\n    timeout server 10s\n${inside}`;

const CADDY = (inside: string): string => `{\n\tadmin off\n\tauto_https off\n}\n${inside}`;

/** What is run beside the gateway that it was converted for. docs/migrate.md */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: "a site of files",
    product: "nginx",
    text: NGINX(`server { listen 127.0.0.1:PORT; root SITE; index index.html;
      location / { try_files $uri $uri/ =404; }
      location /assets/ { expires 7d; add_header X-Frame-Options DENY always; } }`),
    requests: [
      "/",
      "/index.html",
      "/docs/",
      "/docs",
      "/assets/app.js",
      "/assets/style.css",
      "/missing",
      "/assets/none.js",
      "HEAD /assets/app.js",
    ],
  },
  {
    name: "an application with an interface",
    ignored: ["cache-control"],
    product: "nginx",
    text: NGINX(`server { listen 127.0.0.1:PORT; root SITE;
      location / { try_files $uri $uri/ /index.html; }
      location /api/ { proxy_pass http://127.0.0.1:ORIGIN/; proxy_set_header Host $host; proxy_set_header X-Team "t-$request_method"; }
      location /raw/ { proxy_pass http://127.0.0.1:ORIGIN; }
      location = /one { proxy_pass http://127.0.0.1:ORIGIN/two; }
      location /v1/ { rewrite ^/v1/(.*)$ /v2/$1 break; proxy_pass http://127.0.0.1:ORIGIN; } }`),
    requests: [
      "/",
      "/client/route",
      "/api/items?page=2",
      "/api/",
      "/api",
      "/raw/x/y?z",
      "/raw",
      "/one?a=b",
      "/v1/users/7?q=1",
      "HEAD /api/x",
      "OPTIONS /api/x",
    ],
  },
  {
    name: "servers by name",
    product: "nginx",
    text: NGINX(`server { listen 127.0.0.1:PORT default_server; server_name _; location / { return 200 "default"; } location /api { return 200 "default api"; } }
      server { listen 127.0.0.1:PORT; server_name shop.test; location / { proxy_pass http://127.0.0.1:ORIGIN; proxy_set_header Host $host; } location = /status { return 200 "shop\\n"; } }
      server { listen 127.0.0.1:PORT; server_name *.shop.test; location / { return 200 "below"; } location /api/ { return 200 "below api"; } }
      server { listen 127.0.0.1:PORT; server_name old.test; return 301 https://new.test$request_uri; }`),
    requests: [
      "/",
      "/api",
      "/api/x",
      "shop.test/",
      "shop.test/api/x",
      "shop.test/status",
      "a.shop.test/",
      "a.shop.test/api/x",
      "old.test/a/b?c=d",
      "unknown.test/api",
    ],
  },
  {
    name: "redirects and refusals",
    product: "nginx",
    text: NGINX(`server { listen 127.0.0.1:PORT; server_name site.test;
      rewrite ^/blog/([0-9]+)/(.*)$ /posts/$1-$2 permanent;
      if ($arg_debug = "1") { return 302 /debugging; }
      location = /home { return 302 /; }
      location /docs/ { return 307 https://docs.test$request_uri; }
      location /closed/ { deny all; }
      location /inside/ { allow 127.0.0.0/8; deny all; return 200 "in"; }
      location /gone { return 410; }
      location ~ ^/(a|b)/ { return 200 "either"; }
      location / { return 200 "rest"; add_header Cache-Control no-store; } }`),
    requests: [
      "/",
      "/home",
      "/blog/2024/hello",
      "/x?debug=1",
      "/docs/a?b",
      "/closed/x",
      "/gone",
      "/a/x",
      "/b/y",
      "/c/z",
      "HEAD /",
    ],
  },
  {
    name: "rules in an order",
    ignored: ["cache-control"],
    product: "haproxy",
    text: HAPROXY(`frontend web
    bind 127.0.0.1:PORT
    acl is_api path_beg /api/
    acl is_blue hdr(host) -i blue.test
    acl is_post method POST
    http-request deny if { path /hidden }
    http-request return status 200 content-type text/plain string "fine" if { path /alive }
    http-request redirect location /start code 302 if { path /begin }
    http-request redirect prefix https://new.test code 301 if { hdr(host) old.test }
    http-response set-header X-Frame-Options DENY
    use_backend blue if is_blue
    use_backend api if is_api
    default_backend rest
backend blue
    http-request set-header X-Team blue
    server a 127.0.0.1:ORIGIN
backend api
    http-request replace-path ^/api/(.*)$ /v1/\\1
    server a 127.0.0.1:ORIGIN
backend rest
    server a 127.0.0.1:ORIGIN
`),
    requests: [
      "/",
      "/api/x?y",
      "blue.test/",
      "blue.test/api/x",
      "/hidden",
      "/alive",
      "/begin",
      "old.test/a?b=c",
      "HEAD /x",
      "OPTIONS /api/z",
    ],
  },
  {
    name: "hosts and sub-domains",
    product: "haproxy",
    text: HAPROXY(`frontend web
    bind 127.0.0.1:PORT
    use_backend a if { hdr(host) -i one.test two.test } || { path_beg /a/ }
    use_backend b if { hdr_end(host) -i .below.test }
    use_backend c if { url_param(v) 2 }
    default_backend d
backend a
    http-request set-header X-Team a
    server a 127.0.0.1:ORIGIN
backend b
    http-request set-header X-Team b
    server a 127.0.0.1:ORIGIN
backend c
    http-request set-header X-Team c
    server a 127.0.0.1:ORIGIN
backend d
    http-request set-header X-Team d
    server a 127.0.0.1:ORIGIN
`),
    requests: [
      "/",
      "one.test/",
      "two.test/x",
      "/a/b",
      "x.below.test/",
      "x.below.test/a/b",
      "x.below.test/?v=2",
      "/?v=2",
      "/x?v=3",
      "/x?v=2",
    ],
  },
  {
    name: "a listener with headers",
    product: "haproxy",
    text: HAPROXY(`listen app
    bind 127.0.0.1:PORT
    monitor-uri /alive
    http-request set-path /base%[path]
    http-request del-header Accept
    http-response set-header Cache-Control no-store
    http-response del-header X-Origin
    server a 127.0.0.1:ORIGIN
`),
    requests: ["/", "/x/y?z=1", "HEAD /x", "OPTIONS /x", "/redirect", "/status/404"],
  },
  {
    name: "handlers",
    product: "caddy",
    text: CADDY(`:PORT {
	handle_path /strip/* {
		reverse_proxy 127.0.0.1:ORIGIN
	}
	handle /keep/* {
		reverse_proxy 127.0.0.1:ORIGIN {
			header_up X-Team keep
			header_down -X-Origin
		}
	}
	handle /rewritten/* {
		rewrite * /base{uri}
		reverse_proxy 127.0.0.1:ORIGIN
	}
	redir /moved https://other.test{uri} 301
	redir /here /there
	respond /teapot "short and stout" 418
	respond "rest"
}
`),
    requests: [
      "/",
      "/strip/x?y",
      "/keep/x?y",
      "/rewritten/a?b",
      "/moved",
      "/here",
      "/teapot",
      "/other/path",
      "HEAD /keep/x",
      "OPTIONS /strip/x",
    ],
  },
  {
    name: "a site with a fallback",
    ignored: ["cache-control"],
    product: "caddy",
    text: CADDY(`:PORT {
	root * SITE
	header /assets/* Cache-Control "public, max-age=60"
	handle /api/* {
		reverse_proxy 127.0.0.1:ORIGIN
	}
	handle {
		try_files {path} /index.html
		file_server
	}
}
`),
    requests: ["/", "/api/x?y", "/client/route", "/assets/app.js", "HEAD /assets/style.css"],
  },
  {
    name: "matchers and sites",
    ignored: ["vary"],
    product: "caddy",
    text: CADDY(`http://one.test:PORT {
	@team header X-Team red
	@two query v=2
	respond @team "red"
	respond @two "second"
	respond "one"
	header X-Frame-Options DENY
}
http://*.below.test:PORT {
	respond /api/* "below api"
	respond "below"
}
http://:PORT {
	@old path_regexp old ^/old/(.*)$
	redir @old /new/{re.old.1} 308
	respond /api/* "rest api"
	respond "rest"
}
`),
    requests: [
      "/",
      "/api/x",
      "one.test/",
      "one.test/api/x",
      "one.test/?v=2",
      "x.below.test/",
      "x.below.test/api/y",
      "x.below.test/old/z",
      "/old/a/b",
      "one.test/old/q",
    ],
  },
  {
    name: "who is kept out",
    product: "nginx",
    text: NGINX(`server { listen 127.0.0.1:PORT default_server; server_name site.test;
      location /key/ { if ($arg_key != "1") { return 403; } proxy_pass http://127.0.0.1:ORIGIN; }
      location /nokey/ { if ($arg_key != "") { return 410; } proxy_pass http://127.0.0.1:ORIGIN; }
      location /read/ { limit_except GET { deny all; } proxy_pass http://127.0.0.1:ORIGIN; }
      location /verbs/ { if ($request_method !~ ^(GET|HEAD)$) { return 405; } proxy_pass http://127.0.0.1:ORIGIN; }
      location /own/ { internal; root SITE; }
      location /here/ { if ($remote_addr != 127.0.0.1) { return 403; } proxy_pass http://127.0.0.1:ORIGIN; }
      location /there/ { if ($remote_addr != 192.0.2.1) { return 403; } proxy_pass http://127.0.0.1:ORIGIN; }
      location /names/ { if ($host !~ ^(site|other)\\.test$) { return 404; } proxy_pass http://127.0.0.1:ORIGIN; }
      location /first/ { deny 192.0.2.1; allow 127.0.0.1; proxy_pass http://127.0.0.1:ORIGIN; }
      location / { proxy_pass http://127.0.0.1:ORIGIN; } }`),
    requests: [
      "/key/x",
      "/key/x?key=1",
      "/key/x?key=2",
      "/nokey/x",
      "/nokey/x?key=1",
      "/read/x",
      "HEAD /read/x",
      "OPTIONS /read/x",
      "/verbs/x",
      "OPTIONS /verbs/x",
      "/own/x",
      "/here/x",
      "/there/x",
      "/names/x",
      "/first/x",
      "/else",
      "OPTIONS /else",
    ],
  },
  {
    name: "who is kept out",
    ignored: ["cache-control"],
    product: "haproxy",
    text: HAPROXY(`frontend web
    bind 127.0.0.1:PORT
    acl inside src 127.0.0.0/8
    acl outside src 192.0.2.0/24
    acl outside src 198.51.100.0/24
    http-request allow if { path /free }
    http-request deny unless { hdr(host) site.test one.test } or { path / }
    http-request deny deny_status 404 if { path_beg /secret/ } !outside
    http-request deny if { path_beg /key/ } !{ url_param(key) -m str 1 }
    http-request deny deny_status 405 if { path_beg /read/ } !METH_GET
    http-request deny if { path_beg /both/ } !inside or { path /neither } inside
    use_backend one if !{ hdr(host) site.test }
    default_backend app
backend one
    http-request deny if { path /one-only } !{ src 192.0.2.0/24 }
    http-request set-header X-Team one
    server s 127.0.0.1:ORIGIN
backend app
    http-request deny unless { src 127.0.0.0/8 }
    server s 127.0.0.1:ORIGIN
`),
    requests: [
      "/",
      "other.test/",
      "other.test/x",
      "other.test/free",
      "one.test/x",
      "one.test/one-only",
      "/one-only",
      "/secret/x",
      "/key/x",
      "/key/x?key=1",
      "/read/x",
      "OPTIONS /read/x",
      "/both/x",
      "/neither",
    ],
  },
  {
    name: "who is kept out",
    product: "caddy",
    text: CADDY(`http://:PORT {
	@far {
		path /far/* /away/*
		not remote_ip 192.0.2.0/24
	}
	respond @far 403
	@nokey {
		path /key/*
		not query key=1
	}
	respond @nokey 401
	@other not host site.test
	handle @other {
		respond "other"
	}
	@write {
		path /read/*
		not method GET HEAD
	}
	handle @write {
		respond 405
	}
	reverse_proxy 127.0.0.1:ORIGIN
}
`),
    requests: [
      "/",
      "other.test/",
      "other.test/x",
      "/read/x",
      "HEAD /read/x",
      "OPTIONS /read/x",
      "/far/x",
      "/away/x",
      "/key/x",
      "/key/x?key=1",
    ],
  },
];
