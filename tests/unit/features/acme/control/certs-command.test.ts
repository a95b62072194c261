import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCerts } from "../../../../../src/cli/certs.ts";
import { AcmeStore, storedForm } from "../../../../../src/features/acme/control/certificate-store.ts";
import { issueCertificate } from "./certificates.ts";

const dir = mkdtempSync(join(tmpdir(), "edge-certs-"));
afterAll(() => rmSync(dir, { recursive: true }));

async function run(args: readonly string[], nowMs: number): Promise<{ readonly code: number; readonly out: string }> {
  let out = "";
  const code = await runCerts(args, { out: (text) => (out += text), err: (text) => (out += text) }, nowMs);
  return { code, out };
}

test("lists names, expiry and renewal; a broken or expired one is a failure", async () => {
  const now = Date.parse("2027-01-10T00:00:00Z");
  const store = new AcmeStore(dir, "https://ca.test/");
  const life = { notBeforeMs: Date.parse("2027-01-01T00:00:00Z"), notAfterMs: Date.parse("2027-04-01T00:00:00Z") };
  expect(await run(["--dir", dir], now)).toEqual({ code: 0, out: `${dir} holds no certificates.\n` });
  const issued = await issueCertificate({ names: ["a.test", "b.test"], ...life });
  store.save(["a.test", "b.test"], issued, "https://ca.test/");
  const { code, out } = await run(["--dir", dir], now);
  expect(code).toBe(0);
  expect(out).toMatch(/^NAMES +EXPIRES \(UTC\) +RENEWAL \(UTC\) +FILE\n/);
  expect(out).toMatch(/\na\.test, b\.test +2027-04-01 00:00 +2027-03-02 00:00 +a\.test-[0-9a-f]+\.crt\n$/);
  const renewAtMs = Date.parse("2027-02-03T04:05:00Z");
  store.saveRecord(["a.test", "b.test"], { ...storedForm(issued), renewAtMs });
  expect((await run(["--dir", dir], now)).out).toContain("2027-02-03 04:05 (as the directory asks)");
  const later = await run(["--dir", dir], Date.parse("2027-05-01T00:00:00Z"));
  expect([later.code, later.out]).toEqual([1, expect.stringMatching(/00:00 \(expired\) +due /)]);
  writeFileSync(join(dir, "broken.crt"), "garbage");
  const broken = await run(["--dir", dir], now);
  expect([broken.code, broken.out]).toEqual([1, expect.stringMatching(/\n\? +broken +at the next start/)]);
});

test("a wrong flag is wrong usage", async () => {
  expect((await run(["--nonsense"], 0)).code).toBe(2);
});

test("renew marks what is for a name", async () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-certs-"));
  const store = new AcmeStore(folder, "https://first.test/");
  store.open();
  const issued = await issueCertificate({ names: ["a.test", "b.test"] });
  store.save(["a.test", "b.test"], issued, "https://second.test/");
  expect(await run(["renew", "--dir", folder], 0)).toMatchObject({ code: 2 });
  expect(await run(["renew", "c.test", "--dir", folder], 0)).toMatchObject({ code: 1 });
  expect(await run(["renew", "B.test", "--dir", folder], 0)).toMatchObject({ code: 0 });
  expect(store.load(["a.test", "b.test"])).toMatchObject({ renewAtMs: 0, directoryUrl: "https://second.test/" });
  expect((await run(["--dir", folder], Date.now())).out).toContain("due");
  rmSync(folder, { recursive: true });
});
