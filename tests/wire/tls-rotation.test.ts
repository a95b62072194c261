import { afterAll, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate, type TestCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { OPENSSL, openssl, Scratch } from "../harness/openssl.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { TlsClient } from "../harness/tls-client.ts";

const named = (value: string) => makeCertificate([{ type: "dns", value }]);
const [one, two, three] = await Promise.all([named("one.test"), named("two.test"), named("three.test")]);
const origin = EchoOrigin.start();
const started: Gateway[] = [];
afterAll(async () => {
  await Promise.all(started.map((gateway) => gateway.stop()));
  origin.stop();
});

async function start(workers = 2): Promise<{ gateway: Gateway; port: number }> {
  const port = freePort();
  const tls = { port, cert_file: "tls/cert.pem", key_file: "tls/cert.key" };
  const gateway = await startGateway({
    config: { server: { workers, tls } },
    routes: [upstream("/node", origin)],
    files: { "tls/cert.pem": one.cert, "tls/cert.key": one.key },
  });
  started.push(gateway);
  return { gateway, port };
}

/** Replaces files as tools do that know their craft: a new file beside the old one takes its place. */
function replace(gateway: Gateway, { cert, key }: TestCertificate): void {
  for (const [name, text] of [
    ["cert.pem", cert],
    ["cert.key", key],
  ] as const) {
    const path = join(gateway.folder, "tls", name);
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
}

/** The names that handshakes are shown, asked often enough to meet every worker. */
async function shown(port: number): Promise<string[]> {
  const clients = await Promise.all(Array.from({ length: 12 }, () => TlsClient.open(port)));
  for (const client of clients) client.close();
  return [...new Set(clients.map((client) => client.names[0]!))];
}

async function reloads(gateway: Gateway, result: string): Promise<number> {
  return gateway.metric("gateway_certificate_reloads_total", { result });
}

describe("certificate files", () => {
  test.each([
    ["cut off in its second block", (pem: string) => `${pem}\n${two.cert.slice(0, 200)}`],
    [
      "damaged in its second block",
      (pem: string) => `${pem}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
    ],
    ["in DER", (pem: string) => new X509Certificate(pem).raw],
  ])("a file %s is a fault at a reload, and the old one stays", async (_, spoiled) => {
    const { gateway, port } = await start();
    writeFileSync(join(gateway.folder, "tls", "cert.pem"), spoiled(one.cert));
    await gateway.log("the watch", (line) => line.event === "certificate_reload" && line.ok === false);
    const line = await gateway.reload();
    expect(JSON.stringify(line)).toContain("cert_file");
    expect(await shown(port)).toEqual(["one.test"]);
  });

  test("that are replaced are shown to new clients in every worker, and old connections live on", async () => {
    const { gateway, port } = await start();
    const old = await TlsClient.open(port);
    expect(await shown(port)).toEqual(["one.test"]);
    replace(gateway, two);
    await eventually(async () => expect(await shown(port)).toEqual(["two.test"]));
    expect((await old.exchange(request("GET /node/canary"))).status).toBe(200);
    old.close();
    const samples = await gateway.samples();
    const ends = sumOf(samples, "gateway_certificate_not_after_seconds", { domain: "two.test" });
    expect(Math.abs(ends - Date.now() / 1000 - 86_400)).toBeLessThan(600);
    await eventually(async () => expect(await reloads(gateway, "ok")).toBe(1));
    // Again, since what watches must have survived the first time.
    replace(gateway, three);
    await eventually(async () => expect(await shown(port)).toEqual(["three.test"]));
  });

  test("that do not belong together are left alone, told of, and taken once they do", async () => {
    const { gateway, port } = await start();
    replace(gateway, { cert: two.cert, key: one.key });
    const line = await gateway.log("the fault", (each) => each.event === "certificate_reload" && each.ok === false);
    expect(line.error).toBe("the private key does not belong to the certificate");
    expect(await shown(port)).toEqual(["one.test"]);
    await eventually(async () => expect(await reloads(gateway, "failed")).toBe(1));
    unlinkSync(join(gateway.folder, "tls/cert.key"));
    await gateway.log(
      "the lack",
      (each) => each.event === "certificate_reload" && String(each.error).includes("ENOENT"),
    );
    writeFileSync(join(gateway.folder, "tls/cert.pem"), "nonsense");
    expect(await shown(port)).toEqual(["one.test"]);
    replace(gateway, two);
    await eventually(async () => expect(await shown(port)).toEqual(["two.test"]));
  });

  test("that are links are followed when a link is set anew", async () => {
    const { gateway, port } = await start(1);
    const path = (name: string) => join(gateway.folder, "tls", name);
    for (const [i, pair] of [one, two].entries()) {
      writeFileSync(path(`live-${i}.pem`), pair.cert);
      writeFileSync(path(`live-${i}.key`), pair.key);
    }
    for (const kind of ["pem", "key"]) {
      symlinkSync(`live-1.${kind}`, path("link"));
      renameSync(path("link"), path(`cert.${kind}`));
    }
    await eventually(async () => expect(await shown(port)).toEqual(["two.test"]));
  });

  test("are read at SIGHUP as well", async () => {
    const { gateway, port } = await start();
    replace(gateway, two);
    expect((await gateway.reload()).ok).toBe(true);
    await eventually(async () => expect(await shown(port)).toEqual(["two.test"]));
  });

  test("that change under load cost no request", async () => {
    const { gateway, port } = await start();
    let isOver = false;
    let served = 0;
    const load = Array.from({ length: 6 }, async (_, i) => {
      while (!isOver) {
        const client = await TlsClient.open(port);
        for (let n = 0; n <= i * 3; n++) {
          expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
          served++;
        }
        client.close();
      }
    });
    for (const [pair, name] of [
      [two, "two.test"],
      [three, "three.test"],
      [one, "one.test"],
      [two, "two.test"],
    ] as const) {
      replace(gateway, pair);
      await eventually(async () => expect(await shown(port)).toEqual([name]));
      const before = served;
      await eventually(() => expect(served).toBeGreaterThan(before + 20));
    }
    isOver = true;
    await Promise.all(load);
    await eventually(async () => expect(await reloads(gateway, "ok")).toBe(4));
  }, 180_000);
});

test.skipIf(OPENSSL === null)("a session outlives a reload that leaves the certificate as it is", async () => {
  using scratch = new Scratch();
  const session = scratch.path("session.pem");
  const { gateway, port } = await start(1);
  const GET = "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  await openssl(port, ["-sess_out", session], GET);
  expect((await gateway.reload()).ok).toBe(true);
  expect((await openssl(port, ["-sess_in", session], GET)).text).toContain("Reused, TLSv1.3");
  replace(gateway, two);
  await eventually(async () => expect(await shown(port)).toEqual(["two.test"]));
  expect((await openssl(port, ["-sess_in", session], GET)).text).toContain("New, TLSv1.3");
});

describe("the TLS port", () => {
  test("goes to a new binary with SIGUSR2, and no handshake fails", async () => {
    const { gateway, port } = await start();
    let isOver = false;
    let served = 0;
    const load = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        expect((await TlsClient.once(port, request("GET /node/canary"))).status).toBe(200);
        served++;
      }
    });
    gateway.signal("SIGUSR2");
    const line = await gateway.log("the successor", (each) => each.event === "upgrade" && each.ok === true);
    expect(await gateway.exited()).toBe(0);
    const before = served;
    await eventually(() => expect(served).toBeGreaterThan(before + 10));
    isOver = true;
    await Promise.all(load);
    process.kill(Number(line.successor), "SIGTERM");
    started.splice(started.indexOf(gateway), 1);
    gateway.kill();
  }, 180_000);

  test("that somebody else has is named", async () => {
    const { port } = await start(1);
    const pair = { cert_file: "cert.pem", key_file: "cert.key" };
    const failed = startGateway({
      config: { server: { tls: { ...pair, port } } },
      files: { "cert.pem": one.cert, "cert.key": one.key },
    });
    await expect(failed).rejects.toThrow(`127.0.0.1:${port}: EADDRINUSE`);
  });

  test("is let go in order at the end: what is in flight is answered, handshakes under way may ask", async () => {
    const { gateway, port } = await start();
    const arrived = Promise.withResolvers<void>();
    const mayAnswer = Promise.withResolvers<void>();
    origin.on("/held", async (call) => {
      arrived.resolve();
      await mayAnswer.promise;
      call.reply("200 OK", [], "finished");
    });
    const client = await TlsClient.open(port);
    client.send(request("GET /node/held"));
    await arrived.promise;
    gateway.signal("SIGTERM");
    await eventually(async () => {
      const late = await RawClient.connect(port).catch(() => null);
      late?.close();
      expect(late).toBeNull();
    });
    mayAnswer.resolve();
    const reply = await client.reply();
    expect([reply.text, reply.fields.get("connection")]).toEqual(["finished", "close"]);
    expect(await client.ended()).toBe("fin");
    client.close();
    expect(await gateway.exited()).toBe(0);
    started.splice(started.indexOf(gateway), 1);
    gateway.kill();
  });
});
