// docs/waf.md#rules-of-your-own
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const RULES = `
# What people write by hand.
Include more/*.conf
SecRule ARGS:q "@streq stop" "id:100001,phase:1,deny,msg:'No %{MATCHED_VAR}',logdata:'%{MATCHED_VAR_NAME}',tag:shop,severity:ERROR"
SecRule ARGS:n "@gt 10" "id:100002,phase:1,deny,status:429"
SecRule REQUEST_FILENAME "@beginsWith /old" "id:100003,phase:1,redirect:https://example.com%{REQUEST_URI},status:301"
SecRule REQUEST_HEADERS:X-Cut "@unconditionalMatch" "id:100004,phase:1,drop"
SecRule REQUEST_METHOD "@streq POST" "id:100005,phase:2,deny,chain"
  SecRule ARGS_POST:/^pass/ "@rx (?i)^secret" "t:none,t:urlDecodeUni"
SecRule REQUEST_HEADERS:X-Trusted "@streq yes" "id:100006,phase:1,allow,nolog"
SecRule REQUEST_HEADERS:X-Count "@rx ^\\d+$" "id:100007,phase:1,pass,nolog,setvar:tx.total=+5,setvar:tx.total=+%{MATCHED_VAR}"
SecRule TX:total "@ge 12" "id:100008,phase:1,deny"
SecRule REQUEST_HEADERS:X-Watch "@contains look" "id:100009,phase:1,pass,log,msg:'seen'"
SecRule REMOTE_ADDR "@ipMatch 203.0.113.0/24" "id:100010,phase:1,deny"
SecRule ARGS:plain "@unconditionalMatch" "id:100011,phase:1,pass,nolog,ctl:ruleRemoveTargetById=941110;ARGS:plain"
SecRule ARGS:jump "@streq 1" "id:100012,phase:1,pass,nolog,skipAfter:END"
SecRule ARGS:jump "@unconditionalMatch" "id:100013,phase:1,deny"
SecMarker END
SecRule FILES "@endsWith .exe" "id:100014,phase:2,deny"
SecRule RESPONSE_HEADERS:X-Secret "@unconditionalMatch" "id:100015,phase:3,deny,status:502"
SecRule RESPONSE_STATUS "@eq 418" "id:100016,phase:3,deny,status:404"
`;
const files = {
  "custom.conf": RULES,
  "more/words.conf": 'SecRule ARGS "@pmFromFile words.data" "id:100020,phase:1,deny"\n',
  "more/words.data": "# words\nxyzzy\n",
  "shop.conf": 'SecRule ARGS:shop "@unconditionalMatch" "id:200001,phase:2,deny"\n',
  "loud.conf": 'SecRuleEngine DetectionOnly\nSecRule ARGS "@streq stop" "id:300001,phase:1,deny,msg:loud"\n',
};
const echo = EchoOrigin.start();
const secrets = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname.endsWith("/teapot")) return new Response("short and stout", { status: 418 });
    const headers: Record<string, string> = pathname.endsWith("/secret") ? { "X-Secret": "1" } : {};
    return new Response("x".repeat(100_000), { headers });
  },
});
const routes = [
  upstream("/", echo),
  upstream("/out", { url: `http://127.0.0.1:${secrets.port}` }),
  upstream("/shop", echo, { waf: { rules: ["./shop.conf"] } }),
  upstream("/loud", echo, { waf: { rules: ["./loud.conf"] } }),
  upstream("/none", echo, { waf: { rules: [] } }),
];
const waf = { enabled: true, rules: ["./custom.conf"] };
const on = await startGateway({ config: { server: { waf } }, routes, files });
const server = { waf: { ...waf, mode: "detection" } };
const watching = await startGateway({ config: { server }, routes: routes.slice(0, 2), files });
afterAll(async () => {
  await secrets.stop(true);
  await watching.stop();
  await stopAll(on, echo);
});

const get = (target: string, fields: readonly string[] = []) => on.once(request(`GET ${target}`, fields));
const post = (target: string, type: string, body: string) =>
  on.once(request(`POST ${target}`, [`Content-Type: ${type}`], body));
const FORM = "application/x-www-form-urlencoded";

describe("a rule", () => {
  test("refuses, and is told like one of the firewall's own", async () => {
    const reply = await get("/echo?q=st%6fp");
    expect([reply.status, json(reply)]).toMatchObject([403, { threat_score: 4, triggered_rules: ["100001"] }]);
    const line = await on.log("waf_block", (one) => one.event === "waf_block" && one.rule_id === "100001");
    expect(line).toMatchObject({
      ...{ category: "custom", action: "blocked", location: "query q", anomaly_score: 4, path: "/echo" },
      ...{ msg: "No stop", data: "ARGS:q", severity: "error", tags: ["shop"] },
    });
    expect((await get("/echo?q=go")).status).toBe(200);
  });

  test("on responses looks at those to a request for an upgrade as well", async () => {
    const upgrade = ["Connection: Upgrade", "Upgrade: x"];
    expect((await get("/out/teapot", upgrade)).status).toBe(404);
    expect((await get("/out/secret", upgrade)).status).toBe(502);
  });

  test("has its own status, and may redirect", async () => {
    expect((await get("/echo?n=11")).status).toBe(429);
    expect((await get("/echo?n=10")).status).toBe(200);
    const reply = await get("/old/page?a=b");
    expect([reply.status, reply.fields.get("location")]).toEqual([301, "https://example.com/old/page?a=b"]);
  });

  test("may cut the connection", async () => {
    await expect(get("/echo", ["X-Cut: 1"])).rejects.toThrow();
  });

  test("counts in variables of its own, over several rules", async () => {
    expect((await get("/echo", ["X-Count: 6"])).status).toBe(200);
    expect((await get("/echo", ["X-Count: 7"])).status).toBe(403);
  });

  test("is passed over up to a marker", async () => {
    expect((await get("/echo?jump=1")).status).toBe(200);
    expect((await get("/echo?jump=2")).status).toBe(403);
  });

  test("reads phrases of a file that an included file names", async () => {
    expect((await get("/echo?a=say+XYZZY+now")).status).toBe(403);
  });

  test("that only logs lets the request pass", async () => {
    expect((await get("/echo", ["X-Watch: a look"])).status).toBe(200);
    const line = await on.log("waf_detect", (one) => one.event === "waf_detect" && one.rule_id === "100009");
    expect(line).toMatchObject({ action: "logged", msg: "seen", location: "header x-watch" });
  });

  test("lets a request pass the firewall's own rules", async () => {
    const attack = "/echo?a=%3Cscript%3Ealert(1)%3C/script%3E";
    expect((await get(attack)).status).toBe(403);
    expect((await get(attack, ["X-Trusted: yes"])).status).toBe(200);
  });

  test("takes a parameter out of one of the firewall's own rules, by the number of its counterpart", async () => {
    const attack = "%3Cscript%20src=//evil.test/x.js%3E";
    expect((await get(`/echo?plain=${attack}`)).status).toBe(200);
    expect((await get(`/echo?plain=1&other=${attack}`)).status).toBe(403);
  });
});

describe("a body", () => {
  test("in a form, in pieces too, is seen by a chain", async () => {
    expect((await post("/echo", FORM, "password=SECRET1")).status).toBe(403);
    expect((await post("/echo", FORM, "password=open")).status).toBe(200);
    const pieces = request(
      "POST /echo",
      [`Content-Type: ${FORM}`, "Transfer-Encoding: chunked"],
      chunked("pass=secret", 3),
    );
    expect((await on.once(pieces)).status).toBe(403);
  });

  test("in JSON is seen by its paths", async () => {
    expect((await post("/echo", "application/json", '{"pass":"secret"}')).status).toBe(200);
    expect((await post("/shop/echo", "application/json", '{"a":{"shop":1}}')).status).toBe(200);
    expect((await post("/shop/echo", FORM, "shop=1")).status).toBe(403);
  });

  test("with files", async () => {
    const part = (name: string) =>
      `--b\r\nContent-Disposition: form-data; name="f"; filename="${name}"\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n`;
    expect((await post("/echo", "multipart/form-data; boundary=b", part("a.txt"))).status).toBe(200);
    expect((await post("/echo", "multipart/form-data; boundary=b", part("a.exe"))).status).toBe(403);
  });
});

describe("a response", () => {
  test("is replaced by a refusal, and the connection goes on", async () => {
    const client = await on.connect();
    for (const [path, status] of [
      ["/out/secret", 502],
      ["/out/plain", 200],
      ["/out/teapot", 404],
      ["/out/plain", 200],
    ] as const) {
      client.send(request(`GET ${path}`));
      const reply = await client.reply();
      expect([path, reply.status]).toEqual([path, status]);
      if (status === 200) expect(reply.text).toHaveLength(100_000);
      else expect(json(reply)).toMatchObject({ message: "Request blocked by Web Application Firewall" });
      expect(reply.fields.get("x-secret")).toBeNull();
    }
    client.close();
  });
});

test("a response of the cache is judged by the request that gets it, and stays in the cache", async () => {
  const cached = await startGateway({
    config: {
      server: {
        waf: { enabled: true, rules: ["./late.conf"] },
        cache: { enabled: true, default_ttl: "60s", cookies: "share" },
      },
    },
    routes: [
      upstream("/out", { url: `http://127.0.0.1:${secrets.port}` }),
      { type: "respond", path: "/fixed", body: "<p>a</p>", content_type: "text/html" },
      { type: "respond", path: "/other", body: "a" },
    ],
    files: {
      "late.conf": `SecRule REQUEST_HEADERS:X-Deny "@unconditionalMatch" "id:1,phase:3,deny"
        SecRule RESPONSE_CONTENT_TYPE "@contains html" "id:2,phase:4,deny,status:404"`,
    },
  });
  for (const [fields, status, cache] of [
    [[], 200, "MISS"],
    [["X-Deny: 1"], 403, null],
    [[], 200, "HIT"],
  ] as const) {
    const reply = await cached.once(request("GET /out/plain", fields));
    expect([reply.status, reply.fields.get("x-cache")]).toEqual([status, cache]);
  }
  expect((await cached.once(request("GET /fixed"))).status).toBe(404);
  expect((await cached.once(request("GET /other"))).status).toBe(200);
  await cached.stop();
});

test("all of it holds in HTTP/2", async () => {
  const form = head("POST", "/echo", [["content-type", FORM]]);
  // A connection ends with the request that is refused.
  for (const [fields, status, body] of [
    [head("GET", "/echo?n=11"), 429, ""],
    [head("GET", "/echo?q=go"), 200, ""],
    [head("GET", "/old/page"), 301, ""],
    [head("GET", "/out/secret"), 502, ""],
    [head("GET", "/out/plain"), 200, ""],
    [form, 403, "password=secret"],
    [form, 200, "password=open"],
  ] as const) {
    const client = await H2Client.connect(on.port);
    const reply = await client.request(fields, body === "" ? undefined : body);
    expect([fields, reply.status]).toEqual([fields, status]);
    client.close();
  }
  const client = await H2Client.connect(on.port);
  expect((await client.request(head("GET", "/echo", [["x-cut", "1"]]))).status).toBe(0);
  client.close();
});

describe("at a route", () => {
  test("rules take the place of the server's", async () => {
    expect((await get("/shop/echo?shop=1")).status).toBe(403);
    expect((await get("/shop/echo?q=stop")).status).toBe(200);
    expect((await get("/none/echo?q=stop")).status).toBe(200);
    expect((await get("/loud/echo?q=stop")).status).toBe(200);
    const line = await on.log("waf_detect", (one) => one.event === "waf_detect" && one.rule_id === "300001");
    expect(line).toMatchObject({ action: "logged", msg: "loud" });
  });
});

test("in detection mode nothing is refused, and all is told", async () => {
  expect((await watching.once(request("GET /echo?q=stop&n=11"))).status).toBe(200);
  expect((await watching.once(request("GET /out/secret"))).status).toBe(200);
  const line = await watching.log("waf_detect", (one) => one.event === "waf_detect" && one.rule_id === "100015");
  expect(line).toMatchObject({ location: "response", action: "logged" });
  expect(watching.logs.json.some((one) => one.rule_id === "100002")).toBe(true);
});

describe("beyond the bounds", () => {
  test("a request with more parameters than rules see is refused", async () => {
    const many = Array.from({ length: 1001 }, (_, i) => `a${i}=1`).join("&");
    const reply = await post("/echo", FORM, many);
    expect([reply.status, json(reply)]).toMatchObject([403, { triggered_rules: ["PROTOCOL-007"] }]);
  });
});

describe("a configuration", () => {
  test("with a fault in a file of rules names its line and column", async () => {
    const run = await runEdge(["check"], {
      config: { server: { waf: { enabled: true, rules: ["./bad.conf"] } } },
      files: {
        "bad.conf": 'SecAction "id:1,pass"\n\nSecRule ARGS \\\n  "@rx (?=a)" "id:2"\nInclude sub/*.conf\n',
        "sub/x.conf": "SecRul\n",
      },
    });
    expect(run.code).toBe(1);
    expect(run.stdout + run.stderr).toContain("bad.conf:4:8: this expression cannot be used: it looks around itself");
    expect(run.stdout + run.stderr).toContain("sub/x.conf:1:1: the directive SecRul is not supported");
  });

  test("excludes and disables rules by their numbers, and refuses numbers that there are not", async () => {
    const run = await runEdge(["check"], {
      config: { server: { waf: { ...waf, disabled_rules: [100001], exclusions: [{ rule: 100099, path: "/x" }] } } },
      files,
    });
    expect(run.stdout + run.stderr).toContain("exclusions[0].rule");
    expect(run.stdout + run.stderr).not.toContain("disabled_rules");
    const spared = await startGateway({
      config: {
        server: {
          waf: { ...waf, disabled_rules: [100001], exclusions: [{ rule: 100002, path: "/free", param: "n" }] },
        },
      },
      routes: [upstream("/", echo)],
      files,
    });
    expect((await spared.once(request("GET /echo?q=stop"))).status).toBe(200);
    expect((await spared.once(request("GET /free/echo?n=11"))).status).toBe(200);
    expect((await spared.once(request("GET /echo?n=11"))).status).toBe(429);
    await spared.stop();
  });

  test("is read again with its files at a reload", async () => {
    const gateway = await startGateway({ config: { server: { waf } }, routes: [upstream("/", echo)], files });
    expect((await gateway.once(request("GET /echo?z=new"))).status).toBe(200);
    writeFileSync(join(gateway.folder, "custom.conf"), 'SecRule ARGS:z "@streq new" "id:1,phase:1,deny"\n');
    expect((await gateway.reload()).ok).toBe(true);
    expect((await gateway.once(request("GET /echo?z=new"))).status).toBe(403);
    expect((await gateway.once(request("GET /echo?q=stop"))).status).toBe(200);
    await gateway.stop();
  });

  test("is explained by edge waf test", async () => {
    const options = { config: { server: { waf } }, files };
    const blocked = await runEdge(["waf", "test", "GET /echo?q=stop"], options);
    expect(blocked.code).toBe(1);
    expect(blocked.stdout).toContain("rule       100001  4  No stop");
    expect(blocked.stdout).toContain("in query q: q=stop");
    expect(blocked.stdout).toContain("verdict    blocked with 403");
    const other = await runEdge(["waf", "test", "GET /echo?n=11"], options);
    expect(other.stdout).toContain("verdict    blocked with 429");
    const cut = await runEdge(["waf", "test", "GET /echo", "--header", "X-Cut: 1"], options);
    expect(cut.stdout).toContain("verdict    blocked, and the connection is cut");
    const form = await runEdge(["waf", "test", "POST /echo", "--body", "pass=secret", "--content-type", FORM], options);
    expect(form.stdout).toContain("rule       100005");
    const explained = await runEdge(["explain", "GET /echo?n=11"], { ...options, routes: [upstream("/", echo)] });
    expect(explained.stdout).toContain("429 rule_refused, score 5 of 5: 100002");
  });
});
