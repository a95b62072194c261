import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AcmeStore,
  BrokenStore,
  listStore,
  storedForm,
} from "../../../../../src/features/acme/control/certificate-store.ts";
import { newPrivateKey } from "../../../../../src/features/acme/control/own-certificate.ts";
import { issueCertificate } from "./certificates.ts";

const CA = "https://ca.test/directory";
const NAMES = ["a.test", "b.test"];
const root = mkdtempSync(join(tmpdir(), "edge-acme-"));
let dir = "";
let store: AcmeStore;
let round = 0;
beforeEach(() => {
  dir = join(root, String(++round));
  store = new AcmeStore(dir, CA);
  store.open();
});
afterAll(() => rmSync(root, { recursive: true }));

const accountKey = await newPrivateKey();
const first = await issueCertificate({ names: NAMES });
const second = await issueCertificate({ names: NAMES });

function fileEnding(end: string): string {
  return join(dir, readdirSync(dir).find((file) => file.endsWith(end) && !file.startsWith("account"))!);
}

describe("a certificate", () => {
  test("is found again, whatever the order of the names, for its directory alone", () => {
    expect(store.load(NAMES)).toBeNull();
    store.save(NAMES, first, CA);
    expect(store.load(NAMES)).toEqual(storedForm(first, CA));
    expect(store.load(["b.test", "a.test"])).toEqual(storedForm(first, CA));
    expect(store.load(["a.test"])).toBeNull();
    expect(new AcmeStore(dir, "https://other.test/").load(NAMES)).toBeNull();
  });

  test("is for its owner's eyes, and nothing is left of the writing", () => {
    store.save(NAMES, first, CA);
    store.saveAccount({ key: accountKey, url: "https://ca.test/1" });
    const files = readdirSync(dir);
    expect(files.map((file) => (statSync(join(dir, file)).mode & 0o777).toString(8))).toEqual(files.map(() => "600"));
    expect(files.map((file) => file.replace(/^.*-[0-9a-f]{12}\./, "")).sort()).toEqual([
      "crt",
      "json",
      "json",
      "key",
      "key",
    ]);
  });

  test("is replaced", () => {
    store.save(NAMES, first, CA);
    store.save(NAMES, second, CA);
    expect(store.load(NAMES)).toEqual(storedForm(second, CA));
  });

  test("survives an end of the process between its two files", () => {
    store.save(NAMES, first, CA);
    const oldKey = readFileSync(fileEnding(".key"), "utf8");
    store.save(NAMES, second, CA);
    const key = fileEnding(".key");
    renameSync(key, key.replace(/key$/, "next.key"));
    writeFileSync(key, oldKey);
    expect(store.load(NAMES)?.key).toBe(second.key);
    expect(readFileSync(key, "utf8")).toBe(second.key);
    expect(readdirSync(dir).filter((file) => file.includes("next"))).toEqual([]);
  });

  test("without a record, or with that of another, was put there by somebody else", () => {
    store.save(NAMES, first, CA);
    expect(store.load(NAMES)?.isOurs).toBe(true);
    writeFileSync(fileEnding(".json"), "{");
    expect(store.load(NAMES)?.isOurs).toBe(false);
    store.saveRecord(NAMES, { ...storedForm(second, CA), renewAtMs: 5 });
    expect(store.load(NAMES)).toMatchObject({ isOurs: false, renewAtMs: null });
    store.saveRecord(NAMES, { ...storedForm(first, CA), renewAtMs: 5 });
    expect(store.load(NAMES)).toMatchObject({ isOurs: true, renewAtMs: 5 });
  });

  test.each([".crt", ".key"])("with a broken %s is told apart from none, and can be put aside", (end) => {
    store.save(NAMES, first, CA);
    writeFileSync(fileEnding(end), "garbage");
    expect(() => store.load(NAMES)).toThrow(BrokenStore);
    store.discard(NAMES);
    expect(store.load(NAMES)).toBeNull();
    expect(readdirSync(dir).every((file) => file.endsWith(".broken"))).toBe(true);
  });

  test("with the key of another is broken", () => {
    store.save(NAMES, first, CA);
    writeFileSync(fileEnding(".key"), second.key);
    expect(() => store.load(NAMES)).toThrow("is not the key of the certificate");
  });

  test("that cannot be written leaves the old one", () => {
    store.save(NAMES, first, CA);
    rmSync(dir, { recursive: true });
    expect(() => store.save(NAMES, second, CA)).toThrow();
  });
});

describe("an account", () => {
  test("is found again; without its record the key alone", () => {
    expect(store.account()).toBeNull();
    const key = accountKey;
    store.saveAccount({ key, url: "https://ca.test/1" });
    expect(store.account()).toEqual({ key, url: "https://ca.test/1" });
    rmSync(join(dir, readdirSync(dir).find((file) => file.endsWith(".json"))!));
    expect(store.account()).toEqual({ key, url: "" });
  });

  test.each([".key", ".json"])("with a broken %s can be put aside", (end) => {
    store.saveAccount({ key: accountKey, url: "https://ca.test/1" });
    writeFileSync(join(dir, readdirSync(dir).find((file) => file.endsWith(end))!), "garbage");
    expect(() => store.account()).toThrow(BrokenStore);
    store.discardAccount();
    expect(store.account()).toBeNull();
  });
});

test("a list shows what is there, and what is broken", () => {
  store.save(NAMES, first, CA);
  store.save(["c.test"], second, CA);
  writeFileSync(join(dir, readdirSync(dir).find((file) => file.startsWith("c.test") && file.endsWith(".key"))!), "");
  const list = listStore(dir);
  expect(list.map((entry) => entry.record?.names)).toEqual([NAMES, ["c.test"]]);
  expect(list[0]!.found).toEqual(storedForm(first, CA));
  expect(list[1]!.found).toContain("is not the key");
  expect(listStore(join(dir, "nowhere"))).toEqual([]);
});
