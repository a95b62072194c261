import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { ServerProcess } from "../bench/server-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, runEdge, type Settings, startGateway } from "../harness/gateway.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { hasPebble, Pebble } from "./pebble.ts";

// dns-01, several certificates and profiles with a real authority (Pebble), and dynamic updates with a real name server (BIND).
const NAMED = Bun.which("named", { PATH: `${process.env.PATH}:/usr/sbin` });
const hasBind = NAMED !== null;
if (!hasPebble) console.log("skipped: dns-01 needs pebble (Debian: apt install pebble)");
else if (!hasBind) console.log("skipped: dynamic updates need BIND (Debian: apt install bind9)");

let pebble: Pebble;
let gateway: Gateway | null = null;
let round = 0;
let cacheDir = "";

afterEach(async () => {
  await gateway?.stop();
  gateway = null;
});

async function start(acme: Settings, routes: readonly Settings[] = []): Promise<Gateway> {
  cacheDir = join(pebble.folder, `dns${++round}`);
  const settings = {
    enabled: true,
    directory_url: pebble.directoryUrl,
    ca_file: pebble.caFile,
    cache_dir: cacheDir,
    ...acme,
  };
  const server = { workers: 2, tls: { port: pebble.tlsPort }, access_log: { enabled: false }, acme: settings };
  gateway = await startGateway({
    port: pebble.httpPort,
    config: { server },
    routes,
  });
  return gateway;
}

async function shownBy(name: string): Promise<string> {
  return (await shownCertificate(pebble.tlsPort, name)).issuer;
}

/** A program as people write it, for the records of the test's name server. */
function program(): string {
  const file = join(pebble.folder, `dns${round}.sh`);
  const json = `"{\\"host\\": \\"$2\\", \\"value\\": \\"$3\\"}"`;
  const lines = [
    "#!/bin/sh",
    `echo "$@" >> ${join(pebble.folder, "dns.log")}`,
    "case $1 in present) path=set-txt ;; *) path=clear-txt ;; esac",
    `exec curl -sS --fail --data ${json} ${pebble.records}/$path`,
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  chmodSync(file, 0o755);
  return file;
}

describe.skipIf(!hasPebble)("with Pebble", () => {
  beforeAll(async () => {
    pebble = await Pebble.start();
  });
  afterAll(() => pebble.stop());

  test("dns-01 by a program gives a wildcard, and takes its records out again", async () => {
    const dns = { exec: program(), resolvers: [pebble.nameServer] };
    const edge = await start({ domains: ["example.test", "*.example.test"], challenge_type: "dns-01", dns });
    await edge.log("the certificate", (line) => line.event === "cert_obtained");
    await eventually(async () => expect(await shownBy("any.example.test")).toContain("Pebble"));
    const calls = readFileSync(join(pebble.folder, "dns.log"), "utf8").trim().split("\n");
    expect(calls.map((call) => call.split(" ").slice(0, 2).join(" "))).toEqual([
      "present _acme-challenge.example.test.",
      "present _acme-challenge.example.test.",
      "cleanup _acme-challenge.example.test.",
      "cleanup _acme-challenge.example.test.",
    ]);
    expect(readdirSync(cacheDir).some((file) => file.includes("*"))).toBe(false);
  });

  test("dns-01 by a module in TypeScript", async () => {
    const file = join(pebble.folder, "dns.ts");
    const post = (path: string, value: string): string =>
      `const answer = await fetch("${pebble.records}/${path}", { method: "POST", body: JSON.stringify({ host: name + "."${value} }) });\n`;
    writeFileSync(
      file,
      `type Entry = { name: string; value: string };\n` +
        `export async function present({ name, value }: Entry): Promise<void> {\n${post("set-txt", ", value")}}\n` +
        `export async function cleanup({ name }: Entry): Promise<void> {\n${post("clear-txt", "")}}\n`,
    );
    const dns = { module: file, resolvers: [pebble.nameServer] };
    const edge = await start({ domains: ["*.module.test"], challenge_type: "dns-01", dns });
    await edge.log("the certificate", (line) => line.event === "cert_obtained");
    await eventually(async () => expect(await shownBy("a.module.test")).toContain("Pebble"));
  });

  test("a program that fails is told of with what it said, and nothing is asked of the authority", async () => {
    const file = join(pebble.folder, "fails.sh");
    writeFileSync(file, '#!/bin/sh\necho "no such zone" >&2\nexit 3\n');
    chmodSync(file, 0o755);
    const edge = await start({ domains: ["fails.test"], challenge_type: "dns-01", dns: { exec: file } });
    const failed = await edge.log("the failure", (line) => line.event === "cert_failed");
    expect(failed).toMatchObject({ kind: "dns", names: ["fails.test"] });
    expect(String(failed.error)).toContain("ended with 3: no such zone");
    await edge.log("the record", (line) => line.event === "cert_record_left");
  });

  test("several certificates: one bad name does not keep the others, nor those beside it, from theirs", async () => {
    await pebble.point("lost.test", "127.0.0.77");
    const certificates = [
      { domains: ["one.test", "lost.test"] },
      { domains: ["two.test"], challenge_type: "tls-alpn-01", key_type: "rsa2048" },
    ];
    const edge = await start({ domains: ["first.test"], certificates, key_type: "p384" });
    const failed = await edge.log("the failure", (line) => line.event === "cert_failed");
    expect(failed).toMatchObject({ names: ["one.test", "lost.test"], refused: ["lost.test"] });
    for (const name of ["first.test", "one.test", "two.test"]) {
      await eventually(async () => expect(await shownBy(name)).toContain("Pebble"));
    }
    expect(await shownBy("lost.test")).toBe("CN=edge");
    const [first, two] = [
      await shownCertificate(pebble.tlsPort, "first.test"),
      await shownCertificate(pebble.tlsPort, "two.test"),
    ];
    expect(first.publicKey.asymmetricKeyDetails?.namedCurve).toBe("secp384r1");
    expect(two.publicKey.asymmetricKeyDetails?.modulusLength).toBe(2048);
    const listed = await runEdge(["certs", "--dir", cacheDir]);
    expect(listed.stdout.trim().split("\n").length).toBe(4);
    await pebble.point("lost.test", "");
    edge.signal("SIGHUP");
    await eventually(async () => expect(await shownBy("lost.test")).toContain("Pebble"));
  });

  test("auto takes the hosts of the routes, one certificate each, also those that a reload brings", async () => {
    const route = (host: string) => ({ type: "respond", prefix: "/", host, body: "x" });
    const edge = await start({ domains: "auto" }, [route("b\u00fccher.test"), route("shop.test"), route("localhost")]);
    await eventually(async () => expect(await shownBy("xn--bcher-kva.test")).toContain("Pebble"));
    await eventually(async () => expect(await shownBy("shop.test")).toContain("Pebble"));
    writeFileSync(join(edge.folder, "routes.yaml"), stringify([route("shop.test"), route("new.test")]));
    edge.signal("SIGHUP");
    await eventually(async () => expect(await shownBy("new.test")).toContain("Pebble"));
    expect(await shownBy("shop.test")).toContain("Pebble");
    const obtained = () => edge.logs.json.filter((line) => line.event === "cert_obtained").map((line) => line.names);
    await eventually(() => expect(obtained().sort()).toEqual([["new.test"], ["shop.test"], ["xn--bcher-kva.test"]]));
  });

  test("edge certs: a new account key, a renewal by hand, a revocation", async () => {
    const edge = await start({ domains: ["certs.test"] });
    await eventually(async () => expect(await shownBy("certs.test")).toContain("Pebble"));
    const serial = async () => (await shownCertificate(pebble.tlsPort, "certs.test")).serialNumber;
    const certs = (...args: string[]) => runEdge(["certs", ...args, "--config", join(edge.folder, "config.yaml")]);
    expect((await certs("rollover")).stdout).toBe(`The account at ${pebble.directoryUrl} has a new key.\n`);
    for (const action of ["renew", "revoke"]) {
      const before = await serial();
      const done = await certs(action, "certs.test");
      expect([done.code, done.stderr]).toEqual([0, ""]);
      edge.signal("SIGHUP");
      await eventually(async () => expect(await serial()).not.toBe(before));
    }
    expect((await certs("revoke", "other.test")).code).toBe(1);
    expect(readdirSync(cacheDir).filter((file) => file.includes("next"))).toEqual([]);
  });

  test("a directory that is away leaves the order to the next one", async () => {
    const away = `https://127.0.0.1:${freePort()}/dir`;
    const edge = await start({
      domains: ["fallback.test"],
      directory_url: away,
      fallback_directory_urls: [pebble.directoryUrl],
    });
    await edge.log("the certificate", (line) => line.event === "cert_obtained");
    await eventually(async () => expect(await shownBy("fallback.test")).toContain("Pebble"));
  });
});

describe.skipIf(!hasPebble || !hasBind)("with BIND", () => {
  let bind: ServerProcess;
  const port = freePort();
  const secret = Buffer.from("a secret of the zone that is long").toString("base64");

  beforeAll(async () => {
    pebble = await Pebble.start({ nameServer: `127.0.0.1:${port}` });
    const { folder } = pebble;
    writeFileSync(
      join(folder, "named.conf"),
      `options { directory "${folder}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file none; session-keyfile none; dnssec-validation no; };\n` +
        "controls { };\n" +
        `key "edge" { algorithm hmac-sha512; secret "${secret}"; };\n` +
        `zone "zone.test" { type master; file "zone.db"; journal "zone.jnl"; allow-update { key "edge"; }; };\n`,
    );
    writeFileSync(
      join(folder, "zone.db"),
      "$TTL 5\n@ IN SOA ns.zone.test. admin.zone.test. 1 60 60 60 5\n@ IN NS ns.zone.test.\nns IN A 127.0.0.1\n* IN A 127.0.0.1\n",
    );
    bind = new ServerProcess([NAMED!, "-g", "-c", join(folder, "named.conf")], folder, join(folder, "named.log"));
    await eventually(() => expect(readFileSync(join(folder, "named.log"), "utf8")).toContain("all zones loaded"));
  });
  afterAll(async () => {
    await bind.stop();
    await pebble.stop();
  });

  test("dns-01 by signed updates", async () => {
    const rfc2136 = { server: `127.0.0.1:${port}`, key: `hmac-sha512:edge:${secret}` };
    const dns = { rfc2136, resolvers: [`127.0.0.1:${port}`] };
    const edge = await start({ domains: ["*.zone.test", "zone.test"], challenge_type: "dns-01", dns });
    await edge.log("the certificate", (line) => line.event === "cert_obtained");
    await eventually(async () => expect(await shownBy("www.zone.test")).toContain("Pebble"));
    const log = readFileSync(join(pebble.folder, "named.log"), "utf8");
    expect([log.split("adding an RR").length, log.split("deleting an RR").length]).toEqual([3, 3]);
    const printed = await runEdge(["check", "--print", "--config", join(edge.folder, "config.yaml")]);
    expect(printed.stdout).not.toContain(secret);
  });

  test("a key that the name server does not know is told of", async () => {
    const rfc2136 = { server: `127.0.0.1:${port}`, key: `edge:${Buffer.from("another one").toString("base64")}` };
    const edge = await start({ domains: ["zone.test"], challenge_type: "dns-01", dns: { rfc2136 } });
    const failed = await edge.log("the failure", (line) => line.event === "cert_failed");
    expect(failed).toMatchObject({ kind: "dns", error: expect.stringMatching(/NOTAUTH|REFUSED/) });
  });
});
