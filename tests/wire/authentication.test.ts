import { afterAll, describe, expect, test } from "bun:test";
import { TestAuthority } from "../harness/certificate.ts";
import { type Echo, EchoOrigin, echo } from "../harness/echo-origin.ts";
import { EDGE_BINARY, freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/authentication.md
const bcrypt = (await Bun.password.hash("wonder:land", { algorithm: "bcrypt", cost: 4 })).replace("$2b$", "$2y$");
const argon2 = await Bun.password.hash("pässword", { algorithm: "argon2id", memoryCost: 64, timeCost: 1 });
const authority = await TestAuthority.make("trusted");
const server = await authority.issue({ subject: "server", names: [{ type: "dns", value: "localhost" }] });
const port = freePort();
const origin = EchoOrigin.start();
let reached = 0;
origin.otherwise((call) => {
  reached++;
  return echo(call);
});
origin.on("/cached", (call) =>
  call.send("HTTP/1.1 200 OK\nCache-Control: public, max-age=60\nContent-Length: 2\n\nok"),
);
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      cache: { enabled: true },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      auth: { basic: { users_file: "users", realm: "The shop" } },
    },
  },
  files: {
    "a.pem": server.cert,
    "a.key": server.key,
    users: `# people\nalice:${bcrypt}\n\nbjörn:${argon2}:further\r\n`,
    "f/page.txt": "the page",
  },
  routes: [
    upstream("/node", origin),
    upstream("/named", origin, { headers: { request: { set: { "X-User": "{auth.user}" } } } }),
    upstream("/open", origin, { auth: false, headers: { request: { set: { "X-User": "{auth.user}" } } } }),
    upstream("/kept", origin, { auth: { basic: { users: { carol: argon2 } }, keep_authorization: true } }),
    { type: "static", prefix: "/files", dir: "f" },
  ],
});
afterAll(() => stopAll(gateway, origin));

function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
}

async function statusOf(path: string, ...lines: readonly string[]): Promise<number> {
  return (await gateway.once(request(`GET ${path}`, lines))).status;
}

describe("names and passwords", () => {
  test("are asked for with the realm", async () => {
    const reply = await gateway.once(request("GET /node/a"));
    expect(reply.status).toBe(401);
    expect(reply.fields.get("www-authenticate")).toBe('Basic realm="The shop", charset="UTF-8"');
    expect(json<object>(reply)).toEqual({ error: "401 Unauthorized", message: "credentials are needed" });
  });

  test("let in, with bcrypt and argon2, again from memory, and files too", async () => {
    for (let i = 0; i < 2; i++) {
      expect(await statusOf("/node/a", `Authorization: ${basic("alice", "wonder:land")}`)).toBe(200);
      expect(await statusOf("/node/a", `authorization: ${basic("björn", "pässword").replace("Basic", "bASIC")}`)).toBe(
        200,
      );
      expect(await statusOf("/files/page.txt", `Authorization: ${basic("alice", "wonder:land")}`)).toBe(200);
    }
  });

  const WRONG: readonly (readonly [string, readonly string[]])[] = [
    ["a wrong password", [`Authorization: ${basic("alice", "wonder")}`]],
    ["a name in another case", [`Authorization: ${basic("Alice", "wonder:land")}`]],
    ["an unknown name", [`Authorization: ${basic("mallory", "wonder:land")}`]],
    ["another's password", [`Authorization: ${basic("alice", "pässword")}`]],
    ["no name", [`Authorization: ${basic("", "wonder:land")}`]],
    ["no colon", [`Authorization: Basic ${Buffer.from("alice").toString("base64")}`]],
    ["no base64", ["Authorization: Basic alice:wonder"]],
    ["bytes that are not UTF-8", [`Authorization: Basic ${Buffer.from("alice:\xff", "latin1").toString("base64")}`]],
    ["a control character", [`Authorization: ${basic("alice", "wonder:land\0")}`]],
    ["another scheme", ["Authorization: Bearer abc"]],
    ["the scheme alone", ["Authorization: Basic"]],
    ["two fields", [`Authorization: ${basic("alice", "wonder:land")}`, `Authorization: ${basic("alice", "x")}`]],
    ["the hash itself", [`Authorization: ${basic("alice", bcrypt)}`]],
    ["a prefixed name", [`X-Authorization: ${basic("alice", "wonder:land")}`]],
  ];

  test.each(WRONG)("refuse %s", async (_, lines) => {
    const before = reached;
    expect(await statusOf("/node/a", ...lines)).toBe(401);
    expect(reached).toBe(before);
  });

  test.each(["/node/%61", "//node/a", "/open/../node/a", "/node/./a", "/files/page.txt"])("guard %s", async (path) => {
    expect(await statusOf(path)).toBe(401);
  });

  test("are a route's own, or none's; what the gateway answers itself stays open", async () => {
    expect(await statusOf("/open/a")).toBe(200);
    expect(await statusOf("/health")).toBe(200);
    expect(await statusOf("/kept/a", `Authorization: ${basic("alice", "wonder:land")}`)).toBe(401);
    expect(await statusOf("/kept/a", `Authorization: ${basic("carol", "pässword")}`)).toBe(200);
  });

  test("do not reach the upstream unless they shall", async () => {
    const carol = basic("carol", "pässword");
    const alice = basic("alice", "wonder:land");
    const hidden = await gateway.once(request("GET /node/echo", [`Authorization: ${alice}`, "X-A: b"]));
    expect(json<Echo>(hidden).headers).toMatchObject({ "x-a": "b" });
    expect(json<Echo>(hidden).headers).not.toHaveProperty("authorization");
    const kept = await gateway.once(request("GET /kept/echo", [`Authorization: ${carol}`]));
    expect(json<Echo>(kept).headers).toMatchObject({ authorization: carol });
    const open = await gateway.once(request("GET /open/echo", ["Authorization: Bearer own"]));
    expect(json<Echo>(open).headers).toMatchObject({ authorization: "Bearer own" });
  });

  test("name the user to the upstream, whatever the client says", async () => {
    const lines = [`Authorization: ${basic("alice", "wonder:land")}`, "X-User: root", "X_User: root"];
    const named = await gateway.once(request("GET /named/echo", lines));
    expect(json<Echo>(named).fields.filter(([name]) => /^x.user$/i.test(name))).toEqual([["X-User", "alice"]]);
    const open = await gateway.once(request("GET /open/echo", lines));
    expect(json<Echo>(open).fields.filter(([name, value]) => /^x.user$/i.test(name) && value !== "")).toEqual([]);
  });

  test("are asked for before the cache answers", async () => {
    const lines = [`Authorization: ${basic("alice", "wonder:land")}`];
    const path = "/node/cached";
    await gateway.once(request(`GET ${path}`, lines));
    await gateway.once(request(`GET ${path}`, lines));
    expect(await statusOf(path)).toBe(401);
  });

  test("a body waits for the judgement, whatever the protocol", async () => {
    const body = Buffer.alloc(40_000, "b");
    const rows = [
      [200, basic("björn", "pässword")],
      [401, basic("björn", "wrong")],
    ] as const;
    for (const [status, authorization] of rows) {
      const over1 = await gateway.once(request("POST /node/echo", [`Authorization: ${authorization}`], body));
      const h2 = await H2Client.connect(gateway.port);
      const id = h2.headers(head("POST", "/node/echo", [["authorization", authorization]]), false);
      for (let at = 0; at < body.length; at += 10_000) h2.data(id, body.subarray(at, at + 10_000), at === 30_000);
      const over2 = await h2.reply(id);
      h2.close();
      const h3 = await H3Client.connect(port);
      const over3 = await h3.ask("POST", "/node/echo", { authorization }, { pieces: [body] });
      h3.close();
      expect([over1.status, over2.status, over3.status]).toEqual([status, status, status]);
      if (status === 401) continue;
      const lengths = [over1.text, over2.text, over3.body.toString()].map((text) => (JSON.parse(text) as Echo).length);
      expect(lengths).toEqual([40_000, 40_000, 40_000]);
    }
  });

  test("a client that leaves while its password is checked harms no other", async () => {
    const line = `Authorization: ${basic("mallory", "x")}`;
    for (let i = 0; i < 40; i++) {
      const connection = await gateway.connect();
      connection.send(request("POST /node/upload", [line, "Content-Length: 5"]));
      connection.close();
    }
    expect(await statusOf("/node/a", `Authorization: ${basic("alice", "wonder:land")}`)).toBe(200);
  });

  test("refusals are counted and logged without the name that was tried", async () => {
    expect(await gateway.metric("gateway_auth_refusals_total", { status: "401" })).toBeGreaterThan(10);
    const line = await gateway.log("a refusal", ({ event }) => event === "auth_refused");
    expect(line).toMatchObject({ auth: "basic", status: 401, client_ip: "127.0.0.1", method: "GET" });
    expect(JSON.stringify(gateway.logs.lines)).not.toContain("mallory");
  });
});

describe("edge passwd", () => {
  test.each(["argon2id", "bcrypt"])("writes a line with %s that lets in", async (algorithm) => {
    const command = [EDGE_BINARY, "passwd", "--algorithm", algorithm, "dora"];
    const { stdout, code } = await runProcess(command, { stdin: Buffer.from("se cret\n"), timeout: 30_000 });
    expect(code).toBe(0);
    const hash = /^dora:(\$(2y|argon2id)\$[^\n:]+)\n$/.exec(stdout)![1]!;
    expect(await Bun.password.verify("se cret", hash)).toBe(true);
  });
});
