import { expect, test } from "bun:test";
import { freePort, runEdge, startGateway } from "../harness/gateway.ts";
import { stopAll } from "../harness/teardown.ts";

const FILES = (tests: string) => ({
  "routes.yaml": `routes:
  - {type: upstream, prefix: /api, host: shop.example.com, targets: [{url: "http://10.0.0.5:8000/v2"}, {url: "http://10.0.0.6:8000/v2"}]}
  - {type: upstream, prefix: /api, methods: [POST], target: "http://10.0.0.7:8000", max_body_bytes: 10}
  - {type: upstream, path: /admin, target: "http://10.0.0.7:8000", ip_rules: {allow: [10.0.0.0/8]}}
  - {type: static, prefix: /files, dir: .}
tests:
${tests}`,
});

async function check(tests: string, config: Record<string, unknown> = {}) {
  return runEdge(["check"], { files: FILES(tests), config });
}

const GOOD = `
  - request: GET http://shop.example.com/api/users?x=1
    expect: {route: /api, target: "http://10.0.0.6:8000/v2"}
  - request: GET /api/users
    headers: {Host: shop.example.com}
    expect: {target: "http://10.0.0.5:8000/v2/users", header: {X-Frame-Options: SAMEORIGIN, Server: false}}
  - request: GET /api
    expect: {status: 405, route: none, header: {Allow: POST}}
  - request: POST /api
    body: "more than ten bytes"
    expect: {status: 413}
  - {request: /admin, expect: {status: 403, route: /admin}}
  - {request: /admin, client_ip: 10.1.2.3, expect: {target: "http://10.0.0.7:8000"}}
  - {request: "GET /%2e%2e/etc/passwd", expect: {status: 403, route: none}}
  - {request: /nowhere, expect: {status: 404, header: {Content-Type: true}}}
  - {request: /health, expect: {status: 200, route: /health}}
  - {request: "GET /files/.secret", expect: {status: 404, route: /files}}
`;
const STRICT = { server: { waf: { enabled: true }, security_headers: { enabled: true } } };

test("edge check runs the tests of routes.yaml against the phases that serve", async () => {
  const { code, stdout, stderr } = await check(GOOD, STRICT);
  expect([stderr.split("\n").filter((line) => line.includes("tests[")), code]).toEqual([[], 0]);
  expect(stdout).toContain("10 tests passed.\n");
});

test("each failing test is named with its place, what was expected and what came", async () => {
  const { code, stderr } = await check(
    `  - {request: GET /nowhere, expect: {status: 308, location: /x}}
  - {request: GET /admin, expect: {target: "http://10.0.0.7:8000"}}
  - {request: POST /api, expect: {route: /admin, target: "http://10.0.0.8:8000", status: 200, header: {X-A: b, X-Request-Id: false}}}
  - {request: /files/a, expect: {status: 200}}
  - {request: /metrics, expect: {status: 404}}
  - {request: /health, expect: {status: 200}}
`,
  );
  expect(code).toBe(1);
  const lines = stderr.split("\n").filter((line) => !line.endsWith("(warning)"));
  expect(lines).toEqual([
    "routes.yaml:7:5: tests[0]: GET /nowhere: expected status 308, came 404; expected location /x, came none (the phase routePrefix ends it: 404 not_found)",
    "routes.yaml:8:5: tests[1]: GET /admin: expected target http://10.0.0.7:8000, but nothing is sent to an origin (the phase routeAddressRules ends it: 403 access_denied)",
    "routes.yaml:9:5: tests[2]: POST /api: expected route /admin, came /api; expected status 200, but an origin answers: its status is not known here; expected target http://10.0.0.8:8000, came http://10.0.0.7:8000 (asked for http://10.0.0.7:8000/); expected header X-A b, came none; expected no header X-Request-Id, came (a new one)",
    "routes.yaml:10:5: tests[3]: /files/a: expected status 200, but the file answers: its status is not known here",
    "routes.yaml:11:5: tests[4]: /metrics: expected status 404, but the running gateway answers: its status is not known here",
    "5 of 6 tests failed",
    expect.stringMatching(/^More: .*edge help failed-test$/),
    "",
  ]);
});

test("tests do not see each other: rate limits are full and the cache is empty for each", async () => {
  const one = "  - {request: /health, expect: {status: 200}}\n  - {request: /nowhere, expect: {status: 404}}\n";
  const server = {
    cache: { enabled: true, cookies: "share" },
    rate_limit: { enabled: true, requests: 1, window: "1h", burst: 1 },
  };
  const { code, stderr } = await check(
    `${one}${"  - {request: http://shop.example.com/api/a, expect: {target: http://10.0.0.5:8000/v2}}\n".repeat(20)}`,
    { server },
  );
  expect([stderr.split("\n").filter((line) => line.includes("tests[")), code]).toEqual([[], 0]);
});

test("a start does not run them: a gateway with a failing test serves", async () => {
  const port = freePort();
  const gateway = await startGateway({ port, files: FILES("  - {request: /health, expect: {status: 404}}\n") });
  try {
    expect((await gateway.once("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")).status).toBe(200);
  } finally {
    await stopAll(gateway);
  }
});

test("tests inside the list of routes are told their place", async () => {
  const { code, stderr } = await runEdge(["check"], {
    files: { "routes.yaml": "- {type: static, prefix: /a, dir: ., tests: []}\n" },
  });
  expect(code).toBe(1);
  expect(stderr).toContain('tests: belong beside the routes: put "routes:" above the list');
});

test("redirects and fixed responses are tested with their status, Location and fields", async () => {
  const { code, stdout, stderr } = await runEdge(["check"], {
    files: {
      "routes.yaml": `routes:
  - {type: redirect, prefix: /old, to: "/new{rest}", status: 301}
  - {type: respond, prefix: /new, status: 410, body: gone}
tests:
  - {request: "GET /old/a?b", expect: {status: 301, location: /new/a, route: /old}}
  - {request: GET /new/a, expect: {status: 410, header: {Content-Type: "text/plain; charset=utf-8"}}}
`,
    },
  });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("2 tests passed.\n");
});

test("a redirect of every host to one that no route names is noted once, and by a check alone", async () => {
  const files = {
    "routes.yaml": `- {type: redirect, prefix: /, to: "https://www.example.com{uri}"}
- {type: redirect, prefix: /shop, to: "https://shop.example.com{uri}"}
- {type: redirect, prefix: /docs, to: "https://docs.example.com{rest}"}
- {type: redirect, prefix: /, host: example.org, to: "https://www.example.org{uri}"}
`,
  };
  const { code, stderr } = await runEdge(["check"], { files });
  const note =
    "routes.yaml:1:3: routes[0].to: sends clients of every host to www.example.com (another route does alike): if that name leads to this gateway as well, they loop for ever; list the hosts to redirect in host (note)\n";
  expect([code, stderr]).toEqual([0, note]);
  const gateway = await startGateway({
    routes: [{ type: "redirect", prefix: "/", to: "https://www.example.com{uri}" }],
  });
  expect(gateway.errors.lines).toEqual([]);
  await gateway.stop();
});

test("where a route names the host, the same redirect is a fault", async () => {
  const files = {
    "routes.yaml": `- {type: redirect, prefix: /, to: "http://www.example.com{uri}"}
- {type: respond, path: /hello, host: www.example.com, body: hello}
`,
  };
  const { code, stderr } = await runEdge(["check"], { files });
  expect(code).toBe(1);
  expect(stderr).toStartWith(
    "routes.yaml:1:35: routes[0].to: leads round for ever: http://www.example.com/… → http://www.example.com/…;",
  );
});

test("neither a check nor a start takes a redirect that leads round", async () => {
  const files = { "routes.yaml": '- {type: redirect, prefix: /a, to: "/a{rest}"}\n' };
  const fault =
    "routes.yaml:1:36: routes[0].to: leads round for ever: /a/… → /a/…; lead to a place that no redirect takes\n";
  for (const command of ["check", "serve"]) {
    const { code, stderr } = await runEdge([command], { files });
    expect([command, code, stderr.startsWith(fault)]).toEqual([command, 1, true]);
  }
});

test("tests compare the values that are sent, and show none that is masked", async () => {
  const routes = (expected: string) => ({
    "routes.yaml": `routes:
  - type: respond
    path: /x
    body: hello
    headers: {response: {set: {X-Out: "s3cret", X-Path: "{path}"}}}
tests:
  - {request: /x, expect: {status: 200, header: {X-Out: "${expected}", X-Path: /x}}}
`,
  });
  const right = await runEdge(["check"], { files: routes("s3cret") });
  expect([right.stderr, right.code]).toEqual([expect.not.stringContaining("tests["), 0]);
  for (const wrong of ["***", "s3cre", "none"]) {
    const { code, stderr } = await runEdge(["check"], { files: routes(wrong) });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`expected header X-Out ${wrong}, came another value`)]);
    expect(stderr).not.toContain("s3cret");
  }
});
