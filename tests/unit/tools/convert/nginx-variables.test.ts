// Variables of the configuration's own, and what speaks of a response or a connection. docs/migrate-nginx.md
import { describe, expect, test } from "bun:test";
import { parse } from "yaml";
import { convert } from "../../../harness/conversions.ts";

type Keys = Readonly<Record<string, unknown>>;

function converted(text: string): { readonly maps: Keys; readonly routes: Keys[]; readonly server: Keys } {
  const { code, err, config, routes, loaded } = convert("nginx", "nginx.conf", text);
  expect({ code, err: code === 0 ? "" : err, faults: loaded?.ok === false ? loaded.faults : [] }).toEqual({
    code: 0,
    err: "",
    faults: [],
  });
  const { maps = {}, routes: list } = parse(routes) as { maps?: Keys; routes: Keys[] };
  return { maps, routes: list, server: (parse(config) as { server: Keys }).server };
}

const bodyOf = (routes: readonly Keys[]): unknown => routes.find(({ status }) => status === 200)?.body;

describe("variables of nginx become maps", () => {
  test("map, with expressions, names of hosts and maps within", () => {
    const { maps, routes } = converted(`http {
      map $http_user_agent $bot { default 0; "" 2; "~*bot|crawl" 1; Exact $host; }
      map $host $site { hostnames; default "{none}"; *.example.com left; .b.test both; www.* right; plain.test $bot; }
      map $arg_a $unused { default 1; }
      server { listen 80; location / { return 200 "<$bot>\${site}x"; } }
    }`);
    expect(maps).toEqual({
      bot: {
        of: "{header.user-agent}",
        any_case: true,
        values: { exact: "{host}" },
        expressions: [
          { regex: "^$", value: "2" },
          { regex: "(?i)bot|crawl", value: "1" },
        ],
        default: "0",
      },
      site: {
        of: "{host}",
        any_case: true,
        values: { "b.test": "both", "b.test.": "both", "plain.test": "{map.bot}", "plain.test.": "{map.bot}" },
        expressions: [
          { regex: "(?i)^.+\\.example\\.com\\.?$", value: "left" },
          { regex: "(?i)^.+\\.b\\.test\\.?$", value: "both" },
          { regex: "(?i)^www\\..+$", value: "right" },
        ],
        default: "{{none}}",
      },
    });
    expect(bodyOf(routes)).toBe("<{map.bot}>{map.site}x");
  });

  test("geo, with ranges", () => {
    const { maps } = converted(`http {
      geo $office { default no; 10.1.2.3/8 yes; ::1 six; 192.0.2.0/24 gone; delete 192.0.2.0/24; }
      geo $arg_ip $range { ranges; 10.0.0.1-10.0.0.4 some; }
      server { listen 80; location / { return 200 $office$range; } }
    }`);
    expect(maps).toEqual({
      office: { of: "{client_ip}", networks: { "10.0.0.0/8": "yes", "::1": "six" }, default: "no" },
      range: {
        of: "{query.ip}",
        networks: { "10.0.0.1/32": "some", "10.0.0.2/31": "some", "10.0.0.4/32": "some" },
      },
    });
  });

  test("valid_referers", () => {
    const { maps, routes } = converted(
      'server { listen 80; valid_referers none blocked *.a.test "~^b\\.test" "~(?-i)C"; location / { return 200 "[$invalid_referer]"; } }',
    );
    expect(maps).toEqual({
      invalid_referer_1: {
        of: "{header.Referer}",
        expressions: [
          { regex: "^$", value: "" },
          { regex: "(?i)^https?://[^/:]+\\.a\\.test(:[^/]*)?(/|$)", value: "" },
          { regex: "(?i)^https?://(?:b\\.test)", value: "" },
          { regex: "(?i)^https?://(?-i:.*(?:C))", value: "" },
          { regex: "(?i)^https?://", value: "1" },
          { regex: ".", value: "" },
        ],
        default: "1",
      },
    });
    expect(bodyOf(routes)).toBe("[{map.invalid_referer_1}]");
  });

  test("what maps cannot say stays closed, and a variable that is set twice is not put in", () => {
    const { maps, routes } = converted(`http {
      map $a_module $one { default 1; }
      map $two $one_more { default $two; }
      map $one_more $two { default 1; }
      map $uri $three { "~(?!x)" $1; }
      server { listen 80; set $v a; location /l/ { set $v b; return 200 $v; }
        location = /1 { return 200 $one; } location = /2 { return 200 $two; } location = /3 { return 200 $three; } }
    }`);
    expect(maps).toEqual({});
    expect(routes.filter(({ path }) => /^\/\d$/.test(String(path))).map(({ status }) => status)).toEqual([
      403, 403, 403,
    ]);
    expect(bodyOf(routes)).toBeUndefined();
  });
});

test("set is put in where it counts, with the variables of its value", () => {
  const { routes } = converted(
    'server { listen 80; set $a "x$arg_q"; location / { set $b ${a}y; return 200 "$a-$b"; add_header X-B "$b\\n"; } }',
  );
  expect(bodyOf(routes)).toBe("x{query.q}-x{query.q}y");
  expect(routes.find(({ status }) => status === 200)?.headers).toEqual({ response: { add: { "X-B": "x{query.q}y" } } });
});

test("a response by an expression has its fields, and a field may speak of the response", () => {
  const { routes } = converted(`server { listen 80;
    location ~ \\.x$ { add_header X-C $connection; return 204; }
    location / { proxy_pass http://127.0.0.1:9; add_header X-U "$upstream_addr $upstream_http_x_own $upstream_cookie_a"; }
  }`);
  expect(routes.map(({ headers }) => headers)).toEqual([
    { response: { add: { "X-C": "{connection}" } } },
    { response: { add: { "X-U": "{upstream} {response.header.x-own} {response.cookie.a}" } } },
  ]);
});

test("PROXY headers are taken of the proxies that any block names, and rules about other addresses are closed", () => {
  const listen = "listen 80 proxy_protocol;";
  const { server, routes } = converted(
    `server { ${listen} location / { proxy_pass http://127.0.0.1:9; deny 192.0.2.1; }
      location /a/ { set_real_ip_from 10.0.0.0/8; real_ip_header proxy_protocol; proxy_pass http://127.0.0.1:9; } }`,
  );
  expect(server.proxy_protocol).toEqual({ enabled: true, trusted: ["10.0.0.0/8"] });
  expect(routes.find(({ prefix }) => prefix === "/")?.ip_rules).toEqual({ deny: ["0.0.0.0/0", "::/0"] });
  const own = converted(`server { ${listen} location / { proxy_pass http://127.0.0.1:9; } }`);
  expect(own.server.proxy_protocol).toBeUndefined();
});
