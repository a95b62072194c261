// docs/tls.md#a-local-authority: certificates of a local authority, and edge trust.
import { afterAll, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { InternalAuthority } from "../../src/features/tls/control/internal-authority.ts";
import { InternalCertificates } from "../../src/features/tls/control/internal-certificates.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { freePort, restartGateway, runEdge, startGateway } from "../harness/gateway.ts";

const [port, own, clear, redirecting] = [freePort(), freePort(), freePort(), freePort()];
const wild = await makeCertificate([{ type: "dns", value: "*.shop.test" }]);
const routes = [
  { type: "respond", host: "app.test", prefix: "/", body: "app" },
  { type: "respond", host: "*.wild.test", prefix: "/", body: "wild" },
  { type: "respond", host: "a.shop.test", prefix: "/", body: "shop" },
  { type: "respond", prefix: "/", body: "all" },
];
const server = {
  workers: 1,
  shutdown_timeout: "2s",
  listeners: [
    { name: "clear", address: `127.0.0.1:${clear}` },
    { name: "redirecting", address: `127.0.0.1:${redirecting}`, redirect_https: true },
    { name: "both", address: `127.0.0.1:${port}`, tls: true, http3: true },
    { name: "own", address: `127.0.0.1:${own}`, tls: "internal" },
  ],
  tls: { internal: true, cert_file: "wild.pem", key_file: "wild.key" },
};
const options = {
  port: clear,
  routes,
  files: { "listed.yaml": JSON.stringify({ server }), "wild.pem": wild.cert, "wild.key": wild.key },
  args: ["--config", "listed.yaml"],
};
let gateway = await startGateway(options);
const file = join(gateway.folder, ".edge-state/internal-ca.pem");
const root = new X509Certificate(readFileSync(file));
afterAll(() => gateway.stop());

/** Shakes hands as a client that trusts the root, or does not. @returns who has signed, or why it is refused */
function seen(at: number, servername: string, options: object = { ca: root.toString() }): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket: TLSSocket = connect({ host: "127.0.0.1", port: at, servername, ...options }, () => {
    resolve(socket.getPeerX509Certificate()!.subjectAltName ?? "");
    socket.destroy();
  });
  socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  return promise;
}

describe("names of the local authority", () => {
  test.each([
    ["localhost", /DNS:localhost.*IP Address:127\.0\.0\.1/],
    ["app.test", /^DNS:app\.test$/],
    ["APP.test", /^DNS:app\.test$/],
    ["x.wild.test", /^DNS:x\.wild\.test$/],
    ["deep.er.localhost", /^DNS:deep\.er\.localhost$/],
  ])("%s is verified by a client that trusts the root", async (name, names) => {
    for (const at of [port, own]) expect(await seen(at, name)).toMatch(names);
    expect(await seen(port, name, {})).not.toMatch(/DNS:/);
  });

  test("a name with another certificate, and names of nobody, get none", async () => {
    const isRefused = /CERT|ALTNAME|SELF_SIGNED|VERIFY/;
    expect(await seen(port, "a.shop.test")).toMatch(isRefused);
    expect(await seen(port, "a.shop.test", { rejectUnauthorized: false })).toBe("DNS:*.shop.test");
    expect(await seen(own, "a.shop.test")).toBe("DNS:a.shop.test");
    for (const name of ["foreign.example", "wild.test", "*.localhost", "-.localhost"])
      expect(await seen(port, name)).toMatch(isRefused);
  });

  test("requests are served, and clear text is redirected", async () => {
    const base = `https://localhost:${own}`;
    expect(await (await fetch(base, { tls: { ca: root.toString() } })).text()).toBe("all");
    const { status, headers } = await fetch(`http://127.0.0.1:${redirecting}/x`, { redirect: "manual" });
    expect([status, headers.get("location")]).toEqual([301, `https://127.0.0.1:${port}/x`]);
  });

  test("the authority is kept, for its owner alone, and a broken file is not replaced", async () => {
    expect([statSync(file).mode & 0o777, root.ca]).toEqual([0o600, true]);
    gateway = await restartGateway(gateway, options);
    expect(new X509Certificate(readFileSync(file)).fingerprint256).toBe(root.fingerprint256);
    expect(await seen(port, "app.test")).toBe("DNS:app.test");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, "broken");
    expect(await runEdge(["trust", "--print"], {}, gateway.folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("remove the file"),
    });
    expect(readFileSync(file, "utf8")).toBe("broken");
    writeFileSync(file, text);
  });
});

test("tls: internal at a route signs for its hosts beside the certificates of the server, whatever its type and source", async () => {
  const [plain, secure] = [freePort(), freePort()];
  const says = { type: "respond", prefix: "/", body: "x" };
  const only = {
    listeners: [
      { name: "clear", address: `127.0.0.1:${plain}` },
      { name: "tls", address: `127.0.0.1:${secure}`, tls: true },
    ],
    tls: { cert_file: "wild.pem", key_file: "wild.key" },
  };
  const other = await startGateway({
    port: plain,
    routes: [
      { ...says, host: "one.test", tls: "internal" },
      { type: "upstream", prefix: "/", host: "*.two.test", target: "http://127.0.0.1:1", tls: { internal: true } },
      { type: "redirect", prefix: "/", host: "three.test", to: "https://a.test/x", tls: "internal" },
      { type: "static", prefix: "/", host: "four.test", dir: "site", tls: "internal" },
      { ...says, host: "five.test" },
      says,
    ],
    files: {
      "listed.yaml": JSON.stringify({ server: only }),
      "site/index.html": "x",
      "wild.pem": wild.cert,
      "wild.key": wild.key,
    },
    args: ["--config", "listed.yaml"],
  });
  const any = { rejectUnauthorized: false };
  for (const name of ["one.test", "x.two.test", "three.test", "four.test"])
    expect(await seen(secure, name, any)).toBe(`DNS:${name}`);
  for (const name of ["five.test", "localhost", "a.shop.test"])
    expect(await seen(secure, name, any)).toBe("DNS:*.shop.test");
  writeFileSync(join(other.folder, "six.yaml"), JSON.stringify({ ...says, host: "six.test", tls: "internal" }));
  const put = await runEdge(["routes", "put", "six.yaml", "--url", `http://127.0.0.1:${plain}`], {}, other.folder);
  expect(put).toMatchObject({ code: 0, stderr: "" });
  expect(await seen(secure, "six.test", any)).toBe("DNS:six.test");
  writeFileSync(join(other.folder, "bad.yaml"), JSON.stringify({ ...says, tls: "internal" }));
  const bad = await runEdge(["routes", "put", "bad.yaml", "--url", `http://127.0.0.1:${plain}`], {}, other.folder);
  expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("name them with host")]);
  await other.stop();
});

test("an authority signs for a week, is made again before its end, and two starts at once share one", async () => {
  const folder = join(gateway.folder, "other");
  const both = await Promise.all([InternalAuthority.open(folder), InternalAuthority.open(folder)]);
  expect(both[0]!.authority.fingerprint).toBe(both[1]!.authority.fingerprint);
  const now = Date.now();
  const leaf = new X509Certificate((await both[0]!.authority.issue(["a.test", "::1"], now)).chain);
  expect(leaf.subjectAltName).toBe("DNS:a.test, IP Address:0:0:0:0:0:0:0:1");
  expect(Date.parse(leaf.validTo)).toBeLessThanOrEqual(now + 7 * 86_400_000);
  expect(leaf.verify(new X509Certificate(both[0]!.authority.root).publicKey)).toBe(true);
  const later = await InternalAuthority.open(folder, now + 3645 * 86_400_000);
  expect([later.isNew, later.authority.fingerprint === both[0]!.authority.fingerprint]).toEqual([true, false]);
});

test("the number of names that clients may invent is bounded, and what ends soon is signed again", async () => {
  const errors: unknown[] = [];
  const folder = join(gateway.folder, "bounded");
  const event = (_: string, fields: { error?: string }) =>
    void (fields.error !== undefined && errors.push(fields.error));
  const signer = new InternalCertificates({ folder, event: event as never, changed: () => {} });
  await signer.use({ server: { listeners: [] } } as never, { isWhole: true, hosts: ["late.test"] });
  const names = Array.from({ length: 103 }, (_, i) => `n${i}.localhost`);
  await Promise.all([...names, names[0]!].map((name) => signer.wanted(name)));
  await signer.wanted("last.localhost");
  await signer.wanted("foreign.example");
  expect(errors).toEqual([expect.stringContaining("100 names have certificates")]);
  const before = signer.certificates;
  expect(before.length).toBe(102);
  await signer.renew(Date.now());
  expect(signer.certificates).toEqual(before);
  await signer.renew(Date.now() + 5.5 * 86_400_000);
  expect(signer.certificates.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  expect(signer.certificates.some(({ chain }, i) => chain === before[i]!.chain)).toBe(false);
  signer.stop();
});

describe("edge trust", () => {
  const trust = (...args: string[]) => runEdge(["trust", ...args], {}, gateway.folder);

  test.each(["usr/local/share/ca-certificates", "etc/pki/ca-trust/source/anchors"])("in %s", async (store) => {
    const system = join(gateway.folder, store.startsWith("usr") ? "debian" : "fedora");
    const at = join(system, store);
    mkdirSync(at, { recursive: true });
    expect(await trust("--root", system)).toMatchObject({ code: 0, stderr: "" });
    const [name = ""] = readdirSync(at);
    expect(readFileSync(join(at, name), "utf8")).toBe(root.toString());
    expect(statSync(join(at, name)).mode & 0o777).toBe(0o644);
    expect(await trust("--root", system, "--uninstall")).toMatchObject({ code: 0, stderr: "" });
    expect(readdirSync(at)).toEqual([]);
    expect(await trust("--root", system, "--uninstall")).toMatchObject({ code: 1 });
  });

  test("prints the root without its key; without a store it says so", async () => {
    expect(await trust("--print")).toEqual({ code: 0, stdout: root.toString(), stderr: "" } as never);
    const bare = join(gateway.folder, "bare");
    mkdirSync(bare);
    expect(await trust("--root", bare)).toMatchObject({ code: 1, stderr: expect.stringContaining("--print") });
    expect(await trust("--uninstall", "--dir", bare)).toMatchObject({ code: 1 });
    expect(existsSync(join(bare, "internal-ca.pem"))).toBe(false);
  });
});
