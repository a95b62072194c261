// An answer that was made for one client is no other client's. docs/security.md#cache-and-identity
import { afterAll, describe, expect, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { makeCertificate, TestAuthority } from "../harness/certificate.ts";
import { freePort, type Gateway, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { type OriginRequest, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const server = await makeCertificate([{ type: "dns", value: "localhost" }]);
const authority = await TestAuthority.make("clients");
const alice = await authority.issue({ subject: "alice" });
const bob = await authority.issue({ subject: "bob" });

/** Whom an origin takes a request to come from. */
function whoIs({ fields }: OriginRequest): string {
  const certificate = fields.get("x-forwarded-client-cert") ?? "";
  const names = [/CN=(\w+)/.exec(certificate)?.[1], fields.get("authorization"), fields.get("cookie")];
  return ["for", ...names].filter((name) => name).join(" ");
}

/** An origin that greets by name, with the Cache-Control that the query asks for. */
function greets(origin: ScriptedOrigin): void {
  origin.otherwise((call) => {
    const lines = new URLSearchParams(call.request.target.split("?")[1]).getAll("say");
    call.reply("200 OK", lines, whoIs(call.request));
  });
}

const outcome = ({ text, fields }: Reply) => `${fields.get("x-cache")} ${text.trim()}`;
const PUBLIC = "say=Cache-Control:public,max-age=60";
const FOR_SHARED = "say=Cache-Control:s-maxage=60";

describe.each(["request", "require"])("with client_auth: %s", (clientAuth) => {
  const port = freePort();
  const origin = ScriptedOrigin.start();
  greets(origin);
  let gateway: Gateway;

  const overTls = (path: string, who: { cert?: string; key?: string } = {}, lines: readonly string[] = []) =>
    TlsClient.once(port, request(`GET ${path}`, lines), who).then(outcome);
  const inClear = (path: string, lines: readonly string[] = []) =>
    gateway.once(request(`GET ${path}`, lines)).then(outcome);

  test("starts", async () => {
    gateway = await startGateway({
      config: {
        server: {
          cache: { enabled: true },
          tls: { port, cert_file: "a.pem", key_file: "a.key", client_auth: clientAuth, client_ca_file: "ca.pem" },
          ...(clientAuth === "require" ? { http3: { enabled: true } } : {}),
        },
      },
      routes: [upstream("/", origin)],
      files: { "a.pem": server.cert, "a.key": server.key, "ca.pem": authority.cert },
    });
  });
  afterAll(() => stopAll(gateway, origin));

  test("what was made for a certificate is no other client's", async () => {
    for (const path of ["/mine", "/mine?say=Cache-Control:s-maxage=60", "/mine?say=Cache-Control:max-age=60"]) {
      for (let i = 0; i < 2; i++) {
        expect(await overTls(path, alice)).toBe("MISS for alice");
        expect(await overTls(path, bob)).toBe("MISS for bob");
      }
      expect(await inClear(path)).toBe("MISS for");
      expect(await inClear(path)).toBe("HIT for");
      expect(await overTls(path, alice)).toBe("MISS for alice");
    }
  });

  test("what is public is shared by all who come over TLS, and by them alone", async () => {
    const path = `/open?${PUBLIC}`;
    expect(await overTls(path, alice)).toBe("MISS for alice");
    expect(await overTls(path, bob)).toBe("HIT for alice");
    expect(await inClear(path)).toBe("MISS for");
    expect(await inClear(path)).toBe("HIT for");
    expect(await overTls(path, bob)).toBe("HIT for alice");
  });

  test("over HTTP/2, too", async () => {
    const path = "/two";
    const ask = async (who: typeof alice) => {
      const h2 = await H2Client.connectTls(port, who);
      const fields = head("GET", path).map(([name, value]) => [name, name === ":authority" ? "gw.test" : value]);
      const reply = await h2.request(fields as [string, string][]);
      h2.close();
      return `${reply.fields.get("x-cache")} ${reply.text.trim()}`;
    };
    for (let i = 0; i < 2; i++) {
      expect(await ask(alice)).toBe("MISS for alice");
      expect(await ask(bob)).toBe("MISS for bob");
    }
  });

  if (clientAuth === "request")
    test("TLS clients without one share what they get, and not with cleartext", async () => {
      expect(await overTls("/none")).toBe("MISS for");
      expect(await overTls("/none")).toBe("HIT for");
      expect(await inClear("/none")).toBe("MISS for");
      expect(await overTls("/none", alice)).toBe("MISS for alice");
      expect(await overTls("/none", bob)).toBe("MISS for bob");
    });

  test("a purge and a change take the answers of both", async () => {
    const path = `/both?${PUBLIC}`;
    for (const ask of [() => overTls(path, alice), () => inClear(path)]) await ask();
    await gateway.once(request(`DELETE ${path}`));
    expect(await overTls(path, alice)).toBe("MISS for alice");
    expect(await inClear(path)).toBe("MISS for");
  });

  if (clientAuth === "require")
    test("an answer over HTTP/3 is as little another client's", async () => {
      const client = await H3Client.connect(port, "localhost", {
        certs: [Buffer.from(alice.cert)],
        keys: [createPrivateKey(alice.key)],
      }).catch(() => null);
      // HTTP/3 may be refused together with client certificates.
      if (client === null) return;
      const first = await client.ask("GET", "/three");
      const second = await client.ask("GET", "/three");
      expect([first.fields["x-cache"], second.fields["x-cache"]]).toEqual(["MISS", "MISS"]);
      client.close();
      expect((await gateway.once(request("GET /three", [`Host: localhost:${port}`]))).fields.get("x-cache")).toBe(
        "MISS",
      );
    });
});

describe("cookies: bypass", () => {
  const A = ["Cookie: user=a"];
  const B = ["Cookie: user=b"];
  let cached: CachedGateway;
  const get = (path: string, lines: readonly string[] = []) => cached.get(path, lines).then(outcome);

  test("starts", async () => {
    const takes = { prefix: "/taken", headers: { response: { remove: ["Set-Cookie"] } } };
    cached = await CachedGateway.start({ cookies: "bypass" }, {}, [{ type: "upstream", ...takes }]);
    greets(cached.origin);
  });
  afterAll(() => cached.stop());

  test.each([
    "/plain?x",
    "/plain?say=Cache-Control:max-age=60",
    "/plain?say=Cache-Control:max-age=60,stale-while-revalidate=60",
    "/plain?say=Expires:Fri, 01 Jan 2100 00:00:00 GMT".replaceAll(" ", "%20"),
    '/plain?say=Cache-Control:max-age=60,x="public',
    '/plain?say=Cache-Control:max-age=60,x="a,public"',
    '/plain?say=Cache-Control:"public"',
    '/plain?say=Cache-Control:x="a,s-maxage=60',
    "/plain?say=Surrogate-Control:public",
  ])("what %j says does not make a page with a cookie another client's", async (path) => {
    expect(await get(path, A)).toBe("MISS for user=a");
    expect(await get(path)).toBe("MISS for");
    expect(await get(path)).toBe("HIT for");
    // Nor does the anonymous page go to one who is logged in.
    expect(await get(path, B)).toBe("MISS for user=b");
    expect(await get(path, ["cookie:"])).toBe("MISS for");
    expect(await get(path)).toBe("HIT for");
  });

  test.each([PUBLIC, FOR_SHARED, "say=Cache-Control:max-age=60&say=Cache-Control:PUBLIC"])(
    "%s is for all",
    async (says) => {
      const path = `/shared?${says}`;
      expect(await get(path, A)).toBe("MISS for user=a");
      expect(await get(path, B)).toBe("HIT for user=a");
      expect(await get(path)).toBe("HIT for user=a");
    },
  );

  test("what is for all that have a cookie is not for those with Authorization, where it only says s-maxage", async () => {
    const path = `/both?${FOR_SHARED}`;
    const both = ["Authorization: Basic x", ...A];
    for (let i = 0; i < 2; i++) expect(await get(path, both)).toBe("MISS for Basic x user=a");
    expect(await get(path)).toBe("MISS for");
    expect(await get(path, both)).toStartWith("MISS");
    expect(await get(path, A)).toBe("HIT for");
  });

  test.each(["Set-Cookie", "set-cookie", "Set-Cookie2", "SET-COOKIE"])(
    "an answer with %s goes to one client, unless it says that it is for all",
    async (name) => {
      const path = `/gives-${name}?say=${name}:a=b`;
      for (let i = 0; i < 2; i++) {
        const reply = await cached.get(path);
        expect([reply.fields.get("x-cache"), reply.fields.get(name)]).toEqual(["MISS", "a=b"]);
      }
      await cached.get(`${path}&${PUBLIC}`);
      const hit = await cached.get(`${path}&${PUBLIC}`);
      expect([hit.fields.get("x-cache"), hit.fields.has(name)]).toEqual(["HIT", false]);
    },
  );

  test("a cookie that the route takes out of the answer is none", async () => {
    expect(await get("/taken?say=Set-Cookie:a=b")).toBe("MISS for");
    expect(await get("/taken?say=Set-Cookie:a=b")).toBe("HIT for");
  });

  test("conditions, ranges and forced refreshes change nothing of it", async () => {
    for (const line of [
      "Range: bytes=0-1",
      'If-None-Match: "x"',
      "If-Range: x",
      "Cache-Control: no-cache",
      "Pragma: no-cache",
    ]) {
      const path = `/special?${encodeURIComponent(line)}&say=ETag:"y"`;
      expect(await get(path, [...A, line])).toBe("MISS for user=a");
      expect(await get(path)).toBe("MISS for");
      expect(await get(path, [...B, "Cache-Control: only-if-cached"])).toStartWith("MISS {");
    }
  });

  test("over HTTP/2 with crumbs", async () => {
    const client = await H2Client.connect(cached.gateway.port);
    const ask = async (...more: (readonly [string, string])[]) => {
      const fields = head("GET", "/crumbs").map(([name, value]) => [name, name === ":authority" ? "gw.test" : value]);
      const reply = await client.request([...fields, ...more] as [string, string][]);
      return `${reply.fields.get("x-cache")} ${reply.text.trim()}`;
    };
    expect(await ask(["cookie", "a=1"], ["cookie", "b=2"])).toBe("MISS for a=1; b=2");
    expect(await ask()).toBe("MISS for");
    expect(await ask(["cookie", "c=3"])).toBe("MISS for c=3");
    client.close();
  });

  test("a stale answer is renewed only by what may be shared", async () => {
    const path = "/renewed";
    let say = "s-maxage=1, stale-while-revalidate=60, stale-if-error=60";
    cached.on(path, (call) => call.reply("200 OK", [`Cache-Control: ${say}`], whoIs(call.request)));
    expect(await get(path, A)).toBe("MISS for user=a");
    await Bun.sleep(1200);
    say = "max-age=60";
    expect(await get(path, B)).toBe("HIT for user=a");
    await cached.origin.until("the second request", () => (cached.seen(path) === 2 ? true : undefined));
    await Bun.sleep(100);
    expect(await get(path)).toBe("MISS for");
    expect(await get(path, B)).toBe("MISS for user=b");
  });

  test("a stale anonymous answer does not stand in for the personal one of a failing origin", async () => {
    const path = "/failing";
    let fails = false;
    cached.on(path, (call) =>
      fails
        ? call.reply("503 Service Unavailable", [], "away")
        : call.reply("200 OK", ["Cache-Control: max-age=1, stale-if-error=60, stale-while-revalidate=0"], "anonymous"),
    );
    await get(path);
    fails = true;
    await Bun.sleep(1200);
    expect(await get(path, A)).toBe("MISS away");
    expect(await get(path)).toBe("HIT anonymous");
  });

  test("those with a cookie neither wait for the answer of others nor let others wait", async () => {
    const path = "/slow";
    const gate = Promise.withResolvers<void>();
    cached.on(path, async (call) => {
      await gate.promise;
      call.reply("200 OK", [], whoIs(call.request));
    });
    const all = [[], A, [], B, A, []].map((lines) => get(path, lines));
    await cached.origin.until("four requests", () => (cached.seen(path) === 4 ? true : undefined));
    gate.resolve();
    // Those that were collapsed came of asking the origin for them, too.
    expect(await Promise.all(all)).toEqual([
      "MISS for",
      "MISS for user=a",
      "MISS for",
      "MISS for user=b",
      "MISS for user=a",
      "MISS for",
    ]);
  });
});

describe("the switch", () => {
  test("share, the default, stores what has to do with cookies like all else", async () => {
    const cached = await CachedGateway.start();
    greets(cached.origin);
    try {
      expect(outcome(await cached.get("/shared", ["Cookie: user=a"]))).toBe("MISS for user=a");
      expect(outcome(await cached.get("/shared"))).toBe("HIT for user=a");
      await cached.get("/gives?say=Set-Cookie:a=b");
      expect((await cached.get("/gives?say=Set-Cookie:a=b")).fields.get("x-cache")).toBe("HIT");
    } finally {
      await cached.stop();
    }
  });

  test("when a reload turns it over, what was stored before is forgotten", async () => {
    const cached = await CachedGateway.start({ cookies: "share" });
    greets(cached.origin);
    try {
      await cached.get("/kept", ["Cookie: user=a"]);
      const file = join(cached.gateway.folder, "config.yaml");
      writeFileSync(file, readFileSync(file, "utf8").replace("cookies: share", "cookies: bypass"));
      expect((await cached.gateway.reload()).ok).toBe(true);
      expect(outcome(await cached.get("/kept"))).toBe("MISS for");
    } finally {
      await cached.stop();
    }
  });

  test.each([
    ["{ enabled: true }", true],
    ["{ enabled: true, cookies: }", true],
    ["{ enabled: true, cookies: share }", false],
    ["{ enabled: true, cookies: bypass }", false],
    ["{ enabled: false }", false],
  ])("edge check of %s warns: %p", async (section, warns) => {
    const { code, stdout, stderr } = await runEdge(["check", "--config", "c.yaml"], {
      files: { "c.yaml": `server:\n  cache: ${section}\n` },
    });
    expect([code, /c\.yaml:2:\d+: server\.cache: cookies is not set/.test(stdout + stderr)]).toEqual([0, warns]);
  });

  test("the files of edge init say bypass", async () => {
    const { stdout, stderr } = await runEdge(["check", "--print", "--config", STARTER], {});
    expect(stdout + stderr).toContain("cookies: bypass");
  });
});

test("a trusted proxy that tells of a certificate or a user speaks for one client", async () => {
  const cached = await CachedGateway.start({}, { trusted_proxies: ["127.0.0.0/8"] });
  greets(cached.origin);
  try {
    const tells = (name: string) => [`X-Forwarded-Client-Cert: Subject="CN=${name}"`, "X-Forwarded-For: 192.0.2.1"];
    expect(outcome(await cached.get("/told", tells("alice")))).toStartWith("MISS");
    expect(outcome(await cached.get("/told", tells("bob")))).toStartWith("MISS");
    expect(outcome(await cached.get("/told"))).toBe("MISS for");
    expect(outcome(await cached.get("/told"))).toBe("HIT for");
    for (const line of [
      "X-Forwarded-User: alice",
      "Remote_User: al",
      "X-Auth-Request-Email: a@b",
      "CF-Access-JWT-Assertion: x",
      "X-SSL-Client-S-DN: cn",
      "x_forwarded_email: a@b",
      "X-HTTP-Method-Override: DELETE",
    ]) {
      const path = `/told-${line.split(":")[0]}`;
      for (let i = 0; i < 2; i++) expect(outcome(await cached.get(path, [line]))).toBe("MISS for");
      expect([outcome(await cached.get(path)), outcome(await cached.get(path))]).toEqual(["MISS for", "HIT for"]);
      expect(outcome(await cached.get(path, [line]))).toBe("MISS for");
    }
    // What every load balancer says does not count.
    await cached.get("/balanced", ["X-Forwarded-Port: 443", "X-Forwarded-For: 192.0.2.1"]);
    expect(outcome(await cached.get("/balanced", ["X-Forwarded-Port: 443"]))).toBe("HIT for");
  } finally {
    await cached.stop();
  }
});

const STARTER = join(import.meta.dir, "..", "..", "config.yaml");
