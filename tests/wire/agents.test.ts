import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signatureHeaders } from "web-bot-auth";
import { signerFromJWK } from "web-bot-auth/crypto";
import { type AgentIdentity, agentIdentity, type Signing, signedLines } from "../harness/agent-signer.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, runEdge, type Settings, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";
import { KeyServer } from "../harness/token-issuer.ts";

// docs/agents.md: who signs is known by name, whatever else a request says; who does not is an unsigned request.

const folder = mkdtempSync(join(tmpdir(), "edge-agents-"));
const origin = EchoOrigin.start();
const fetched = agentIdentity();
const listed = agentIdentity({ agent: "Crawler.Example", kid: "my-key" });
const payer = agentIdentity({ agent: "pay.example" });
const blocked = agentIdentity({ agent: "bad.evil.example" });
const stranger = agentIdentity();
const set = (...all: readonly AgentIdentity[]) => JSON.stringify({ keys: all.map(({ jwk }) => jwk) });
const keysFile = join(folder, "agents.json");
writeFileSync(keysFile, set(listed, payer, blocked));
const directory = new KeyServer(() => new Response(set(fetched, agentIdentity())));
const directoryOrigin = `http://127.0.0.1:${directory.port}`;

const agents = {
  directories: [directoryOrigin],
  keys_file: keysFile,
  rules: [
    { agent: "pay.example", action: "payment" },
    { agent: "*.evil.example", action: "block" },
    { agent: "crawler.example", rate_limit: { requests: 3, window: "1h" } },
  ],
};
const echo = (more: Settings = {}) => upstream("/echo", origin, more);
const named = { headers: { request: { set: { "X-Agent": "{agent.name}" } } } };
const gateway = await startGateway({
  config: {
    server: { workers: 2, agents, access_log: { fields: ["event", "path", "status", "agent.name", "fault"] } },
  },
  routes: [
    upstream("/only", origin, { match: { "agent.name": ["127.0.0.1"] }, ...named }),
    upstream("/limited", origin, { rate_limit: { requests: 2, window: "1h", key: "agent.name" } }),
    upstream("/", origin, named),
  ],
});
const securePort = freePort();
const { cert, key } = await makeCertificate([{ type: "dns", value: "localhost" }]);
const strict = await startGateway({
  config: {
    server: {
      workers: 2,
      tls: { port: securePort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      agents: { ...agents, nonce: "required", unsigned: "block", max_age: "1m" },
    },
  },
  routes: [echo(named)],
  files: { "a.pem": cert, "a.key": key },
});
afterAll(async () => {
  await stopAll(gateway, origin);
  await strict.stop();
  await directory.stop();
  rmSync(folder, { recursive: true, force: true });
});
await eventually(async () => expect(await nameOf(gateway, fetched)).toBe("127.0.0.1"));

async function nameOf(
  to: Gateway,
  who: AgentIdentity,
  signing: Partial<Signing> = {},
  path = "/echo",
): Promise<string> {
  return agentIn(await ask(to, who, signing, path));
}

/** The agent in the request that the origin got; "" for none, and for a refusal. */
function agentIn({ status, text }: { readonly status: number; readonly text: string }): string {
  return status === 200 ? ((JSON.parse(text) as { headers: Record<string, string> }).headers["x-agent"] ?? "") : "";
}

function ask(to: Gateway, who: AgentIdentity, signing: Partial<Signing> = {}, path = "/echo", more: string[] = []) {
  return to.once(request(`GET ${path}`, [...signedLines(who, { host: "gw.test", ...signing }), ...more]));
}

describe("an agent that signs", () => {
  test("has the name of its directory, or of its key, in placeholders, the log, match and limits", async () => {
    expect(await nameOf(gateway, fetched)).toBe("127.0.0.1");
    for (const agent of [`"${directoryOrigin}"`, `sig1="${directoryOrigin}"`, `"${directoryOrigin}/"`])
      expect(await nameOf(gateway, fetched, { agent })).toBe("127.0.0.1");
    expect(await nameOf(gateway, listed, { parameters: { keyid: '"my-key"', alg: '"ed25519"' } })).toBe(
      "crawler.example",
    );
    expect(await nameOf(gateway, stranger)).toBe("");
    expect((await ask(gateway, fetched, {}, "/only/x")).status).toBe(200);
    expect(
      json<{ headers: Record<string, string> }>(await ask(gateway, fetched, {}, "/only/x")).headers["x-agent"],
    ).toBe("127.0.0.1");
    for (const [who, expected] of [
      [fetched, [200, 200, 429]],
      [stranger, [200, 200, 429]],
    ] as const)
      for (const status of expected) expect((await ask(gateway, who, {}, "/limited/echo")).status).toBe(status);
    await eventually(() =>
      expect(gateway.logs.json).toContainEqual(
        expect.objectContaining({ path: "/limited/echo", "agent.name": "127.0.0.1", status: 429 }),
      ),
    );
  });

  test("is treated by the first rule that fits", async () => {
    const paying = await ask(gateway, payer);
    expect(paying.status).toBe(402);
    expect(json(paying)).toMatchObject({ error: "402 Payment Required" });
    expect((await ask(gateway, blocked)).status).toBe(403);
    // Two signatures of the test before count.
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await ask(gateway, listed)).status);
    expect(statuses).toContain(429);
    expect((await gateway.once(request("GET /health"))).status).toBe(200);
    await eventually(() => expect(gateway.logs.json.some(({ fault }) => fault === "payment_required")).toBe(true));
  });

  test("is known over HTTP/2, by every component", async () => {
    const target: [string, string][] = [
      ['"@method"', "GET"],
      ['"@authority"', "gw.test"],
      ['"@scheme"', "http"],
      ['"@path"', "/a%20b/c"],
      ['"@query"', "?x=1&y=a%20b"],
      ['"@request-target"', "/a%20b/c?x=1&y=a%20b"],
      ['"@target-uri"', "http://gw.test/a%20b/c?x=1&y=a%20b"],
      ['"@query-param";name="y"', "a%20b"],
      ['"x-two"', "a, b"],
      ['"x-two";bs', `:${btoa("a")}:, :${btoa("b")}:`],
      ['"x-dict";key="k"', "(1 2);q=0.5"],
      ['"user-agent"', "Bot/1"],
      ['"accept"', "*/*"],
      ['"cookie"', "a=1; b=2"],
      ['"date"', "Fri, 27 Nov 2026 00:00:00 GMT"],
      ['"content-type"', "text/plain"],
      ['"authorization"', "Basic YTpi"],
      ['"if-none-match"', '"x", "y"'],
    ];
    const more = ["X-Two: a", "X-Two:   b ", "X-Dict: j=1, k=( 1   2);q=0.50", "User-Agent: Bot/1", "Accept: */*"];
    more.push("Cookie: a=1; b=2", "Date: Fri, 27 Nov 2026 00:00:00 GMT", "Content-Type: text/plain");
    more.push("Authorization: Basic YTpi", 'If-None-Match: "x"', 'If-None-Match: "y"');
    const path = "/a%20b/c?x=1&y=a%20b";
    const lines = signedLines(fetched, { host: "gw.test", components: target });
    expect(
      json<{ headers: Record<string, string> }>(await gateway.once(request(`GET ${path}`, [...lines, ...more])))
        .headers["x-agent"],
    ).toBe("127.0.0.1");
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head("GET", path, fieldsOf([...lines, ...more])));
    client.close();
    expect(agentIn({ status: 200, text: reply.text })).toBe("127.0.0.1");
    for (const [name, value] of target) {
      const wrong = target.map(([one, was]) => [one, one === name ? `${value}x` : was] as [string, string]);
      const reply2 = await gateway.once(
        request(`GET ${path}`, [...signedLines(fetched, { host: "gw.test", components: wrong }), ...more]),
      );
      expect([name, agentIn(reply2)]).toEqual([name, ""]);
    }
  });

  test("is known when another implementation signs", async () => {
    const signer = await signerFromJWK(fetched.privateKey.export({ format: "jwk" }) as never);
    const url = `http://gw.test/echo`;
    for (const agent of ["", `"${directoryOrigin}"`]) {
      const made = await signatureHeaders(
        new Request(url, { headers: agent === "" ? {} : { "Signature-Agent": agent } }),
        signer,
        { created: new Date(), expires: new Date(Date.now() + 60_000) },
      );
      const lines = [`Signature: ${made.Signature}`, `Signature-Input: ${made["Signature-Input"]}`];
      const reply = await gateway.once(
        request("GET /echo", [...lines, ...(agent === "" ? [] : [`Signature-Agent: ${agent}`])]),
      );
      expect(agentIn(reply)).toBe("127.0.0.1");
    }
  });
});

describe("a request counts as unsigned", () => {
  const now = (): number => Math.floor(Date.now() / 1000);
  const wrong: Readonly<Record<string, () => Partial<Signing>>> = {
    "without created": () => ({ parameters: { created: null } }),
    "without expires": () => ({ parameters: { expires: null } }),
    "without keyid": () => ({ parameters: { keyid: null } }),
    "without tag": () => ({ parameters: { tag: null } }),
    "with another tag": () => ({ parameters: { tag: '"other"' } }),
    "with another algorithm": () => ({ parameters: { alg: '"hmac-sha256"' } }),
    "with a parameter that is unknown": () => ({ parameters: { extra: '"1"' } }),
    "with a parameter twice": () => ({ parameters: { "tag;tag": '"web-bot-auth"' } }),
    "when created is text": () => ({ parameters: { created: `"${now()}"` } }),
    "when it is of the future": () => ({ parameters: { created: String(now() + 60), expires: String(now() + 90) } }),
    "when it is too old": () => ({ parameters: { created: String(now() - 3600) } }),
    "when it has expired": () => ({ parameters: { created: String(now() - 60), expires: String(now() - 1) } }),
    "when it expires before it is made": () => ({ parameters: { expires: String(now() - 5) } }),
    "when no target is covered": () => ({ components: [['"@method"', "GET"]] }),
    "when nothing is covered": () => ({ components: [] }),
    "when a component is covered twice": () => ({
      components: [
        ['"@authority"', "gw.test"],
        ['"@authority"', "gw.test"],
      ],
    }),
    "when a component is unknown": () => ({
      components: [
        ['"@authority"', "gw.test"],
        ['"@status"', "200"],
      ],
    }),
    "when a field is not there": () => ({
      components: [
        ['"@authority"', "gw.test"],
        ['"x-none"', ""],
      ],
    }),
    "when it is for another host": () => ({ host: "other.test" }),
    "when another directory is named": () => ({ agent: '"https://other.example"' }),
    "when the agent is no URL": () => ({ agent: '"nobody"' }),
    "when the agent is not covered": () => ({
      agent: `"${directoryOrigin}"`,
      components: [['"@authority"', "gw.test"]],
    }),
    "when another member is covered": () => ({ agent: `sig2="${directoryOrigin}"` }),
  };
  test.each(Object.keys(wrong))("%s", async (name) => {
    expect(await nameOf(gateway, fetched, wrong[name]!())).toBe("");
  });

  test("when a field is missing, doubled, cut, longer than any, or random", async () => {
    const lines = signedLines(fetched, { host: "gw.test", agent: `"${directoryOrigin}"` });
    const changed: string[][] = [];
    for (const [i, line] of lines.entries()) {
      const others = lines.filter((_, at) => at !== i);
      const [field = ""] = line.split(":");
      const value = line.slice(field.length + 1).trim();
      changed.push(others, [...lines, line], [...others, `${field}: ${value}, ${value}`]);
      for (let cut = 1; cut < value.length; cut += 7) changed.push([...others, `${field}: ${value.slice(0, cut)}`]);
      for (const filler of ["(", ";a", '"', ",a=1", "=", "\u00e9", "a=:AAAA:, "])
        changed.push([...others, `${field}: ${filler.repeat(900)}`]);
      changed.push([
        ...others,
        `${field}: ${value.replace(/[A-Za-z](?=[^A-Za-z]*$)/, (one) => (one === "A" ? "B" : "A"))}`,
      ]);
    }
    for (const some of changed) {
      const reply = await gateway.once(request("GET /echo", some));
      expect([some, agentIn(reply)]).toEqual([some, ""]);
    }
    const huge = await gateway.once(request("GET /echo", [`Signature: ${"a".repeat(100_000)}`]));
    expect(huge.status).toBe(431);
    expect(await nameOf(gateway, fetched)).toBe("127.0.0.1");
  });
});

describe("nonces that are required", () => {
  test("count once, in all workers; without one, or too old, a request is blocked as an unsigned one", async () => {
    expect((await ask(strict, fetched)).status).toBe(403);
    expect((await strict.once(request("GET /echo"))).status).toBe(403);
    const lines = signedLines(fetched, { host: "gw.test", parameters: { nonce: '"abc"' } });
    const all = await Promise.all(Array.from({ length: 40 }, () => strict.once(request("GET /echo", lines))));
    expect(all.filter(({ status }) => status === 200).length).toBe(1);
    expect((await ask(strict, fetched, { parameters: { nonce: '"def"' } })).status).toBe(200);
    const old = { created: String(Math.floor(Date.now() / 1000) - 90), nonce: '"ghi"' };
    expect((await ask(strict, fetched, { parameters: old })).status).toBe(403);
  });
});

/** The fields of a signed request, as HTTP/2 and HTTP/3 have them. */
function fieldsOf(lines: readonly string[]): [string, string][] {
  return lines.map((line) => {
    const [name = "", ...rest] = line.split(":");
    return [name.toLowerCase(), rest.join(":").trim()];
  });
}

test("a signature counts over HTTP/3, and there alone if it was used there", async () => {
  const host = `localhost:${securePort}`;
  const lines = (nonce: string, more: Partial<Signing> = {}) =>
    signedLines(fetched, { host, parameters: { nonce }, ...more });
  const client = await H3Client.connect(securePort);
  const over3 = async (some: readonly string[]) => {
    const { status, body } = await client.ask("GET", "/echo", Object.fromEntries(fieldsOf(some)));
    return status === 200 ? agentIn({ status, text: String(body) }) : status;
  };
  const used = lines('"h3"');
  const target = lines('"uri"', {
    components: [
      ['"@target-uri"', `https://${host}/echo`],
      ['"@scheme"', "https"],
    ],
  });
  expect([await over3(used), await over3(target)]).toEqual(["127.0.0.1", "127.0.0.1"]);
  expect([await over3(used), await over3(lines('"other"', { host: "localhost" })), await over3([])]).toEqual([
    403, 403, 403,
  ]);
  client.close();
  const secure = await TlsClient.open(securePort);
  expect((await secure.exchange(request("GET /echo", [...used, `Host: ${host}`]))).status).toBe(403);
  expect((await secure.exchange(request("GET /echo", [...lines('"h1"'), `Host: ${host}`]))).status).toBe(200);
  secure.close();
});

test("the action challenge asks an agent for the task of bots, and allow never does", async () => {
  const rules = [
    { agent: "crawler.example", action: "allow" },
    { agent: "*", action: "challenge" },
  ];
  const config = (unsigned: string, challenge: string) => ({
    config: { server: { agents: { keys_file: keysFile, rules, unsigned }, bots: { challenge } } },
    routes: [echo(named)],
  });
  for (const [unsigned, challenge, expected] of [
    ["pass", "suspicious", [200, 403, 200]],
    ["challenge", "suspicious", [200, 403, 403]],
    ["pass", "all", [200, 403, 403]],
  ] as const) {
    const own = await startGateway(config(unsigned, challenge));
    const found = [];
    for (const who of [listed, payer, stranger])
      found.push((await ask(own, who, {}, "/echo", ["User-Agent: curl/8"])).status);
    expect([unsigned, challenge, found]).toEqual([unsigned, challenge, [...expected]]);
    await own.stop();
  }
});

describe("directories", () => {
  test("that are slow, huge, redirect, are no JSON or have no keys fail alone, and cost no request", async () => {
    const answers: Readonly<Record<string, () => Response | Promise<Response>>> = {
      slow: () => new Promise<Response>(() => {}),
      huge: () => new Response("a".repeat(400_000)),
      redirects: () => new Response(null, { status: 302, headers: { Location: `${directoryOrigin}/x` } }),
      text: () => new Response("<html>"),
      keyless: () => new Response('{"keys":[{"kty":"RSA"},null,7]}'),
    };
    const servers = Object.values(answers).map((answer) => new KeyServer(answer));
    const urls = servers.map(({ port }) => `http://127.0.0.1:${port}`);
    const other = await startGateway({
      config: { server: { agents: { directories: urls, keys_file: keysFile } } },
      routes: [echo(named)],
    });
    try {
      expect(await nameOf(other, listed)).toBe("crawler.example");
      for (const url of urls.slice(1)) {
        const at = `${url}/.well-known/http-message-signatures-directory`;
        const line = await other.log("failure", (one) => one.event === "agent_directory_failed" && one.url === at);
        expect(line).toMatchObject({ keys_kept: 0 });
      }
      expect((await runEdge(["agents", "check", urls[3]!])).code).toBe(1);
    } finally {
      await other.stop();
      for (const server of servers) await server.stop();
    }
  });

  test("edge agents check shows the keys of one, edge agents list all that are configured", async () => {
    const check = await runEdge(["agents", "check", directoryOrigin, "--json"]);
    expect(check.code).toBe(0);
    expect(JSON.parse(check.stdout).keys.map(({ keyid }: { keyid: string }) => keyid)).toContain(fetched.keyId);
    writeFileSync(join(folder, "config.yaml"), JSON.stringify({ server: { agents } }));
    const list = await runEdge(["agents", "list", "--config", join(folder, "config.yaml")]);
    expect(list.stdout).toContain("crawler.example");
    expect(list.stdout).toContain(fetched.keyId);
    expect(list.code).toBe(0);
  });
});

test("a route signs requests to its targets, and the gateway behind it knows the agent", async () => {
  const pem = join(folder, "key.pem");
  writeFileSync(pem, fetched.privateKey.export({ type: "pkcs8", format: "pem" }) as string);
  const strictUrl = `http://127.0.0.1:${strict.port}`;
  const front = await startGateway({
    routes: [
      upstream("/h1", { url: strictUrl }, { sign: { key_file: pem }, preserve_host: false }),
      upstream("/h2", { url: strictUrl.replace("http://", "h2c://") }, { sign: { key_file: pem } }),
      upstream("/agent", { url: strictUrl }, { sign: { key_file: pem, agent: "https://bot.example" } }),
      upstream("/raw", origin, { sign: { key_file: pem, agent: "https://bot.example" } }),
    ],
  });
  try {
    const client = signedLines(stranger, { host: "gw.test", agent: '"https://other.example"' });
    for (const path of ["/h1/echo/a%20b?x=1", "/h2/echo", "/h1/echo"])
      expect([path, agentIn(await front.once(request(`GET ${path}`, client)))]).toEqual([path, "127.0.0.1"]);
    // The directory that it names is not one of the other gateway's.
    expect((await front.once(request("GET /agent/echo"))).status).toBe(403);
    const { headers } = json<{ headers: Record<string, string> }>(await front.once(request("GET /raw/x", client)));
    expect(headers["signature-agent"]).toBe('edge="https://bot.example"');
    expect(headers["signature-input"]).toContain(`keyid="${fetched.keyId}"`);
    expect(headers["signature-input"]).not.toContain("sig1");
  } finally {
    await front.stop();
  }
});
