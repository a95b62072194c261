import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AcmeStore } from "../../../../../../src/features/acme/control/certificate-store.ts";
import { DocumentSeal } from "../../../../../../src/features/acme/control/shared/document-seal.ts";
import { StoreAway } from "../../../../../../src/features/acme/control/shared/document-store.ts";
import {
  CertificateNews,
  type SharedChallenge,
} from "../../../../../../src/features/acme/control/shared/fleet-news.ts";
import { Claimed, Fenced, LEASE_MS } from "../../../../../../src/features/acme/control/shared/order-claim.ts";
import { SealedDocuments } from "../../../../../../src/features/acme/control/shared/sealed-documents.ts";
import { SharedStorage } from "../../../../../../src/features/acme/control/shared/shared-storage.ts";
import { eventually } from "../../../../../harness/eventually.ts";
import { MemoryDocuments } from "../../../../../harness/memory-documents.ts";
import { issueCertificate } from "../certificates.ts";

const CA = "https://ca.test/";
const NAMES = ["a.test", "b.test"];
const SECRET = "a secret of some thirty-two characters";
const root = mkdtempSync(join(tmpdir(), "edge-shared-"));
afterAll(() => rmSync(root, { recursive: true }));
let store: MemoryDocuments;
let round = 0;
beforeEach(() => {
  store = new MemoryDocuments();
});

/** One gateway of a fleet. */
function gateway({ secrets = [SECRET], dir = join(root, String(++round)) } = {}) {
  const told: string[] = [];
  const documents = new SealedDocuments(store, new DocumentSeal(secrets), {
    onAway: (reason) => told.push(`away: ${reason}`),
    onBack: () => told.push("back"),
  });
  const changed: string[] = [];
  const storage = new SharedStorage({
    documents,
    cacheDir: dir,
    holder: crypto.randomUUID(),
    tell: async (name) => void changed.push(name),
    onImported: (names) => told.push(`imported ${names}`),
  });
  return { dir, told, changed, documents, storage, at: storage.at(CA) };
}

describe("the right to order", () => {
  test("is one gateway's at a time, and is given back", async () => {
    const [a, b] = [gateway(), gateway()];
    const right = (await a.at.claim(NAMES))!;
    expect(await b.at.claim(NAMES)).toBeNull();
    expect(await b.at.claim(["c.test"])).not.toBeNull();
    await right.release();
    const next = (await b.at.claim(NAMES))!;
    expect(next).not.toBeNull();
    await next.release();
    await b.storage.release();
  });

  test("of two that ask at the same moment one has it", async () => {
    const all = [gateway(), gateway(), gateway()];
    const rights = await Promise.all(all.map(({ at }) => at.claim(NAMES)));
    expect(rights.filter((right) => right !== null).length).toBe(1);
    for (const { storage } of all) await storage.release();
  });

  test("that was left behind is taken over after the lease; the one before can write nothing any more", async () => {
    const [a, b] = [gateway(), gateway()];
    await a.at.claim(NAMES);
    store.nowMs += LEASE_MS;
    expect(await b.at.claim(NAMES)).toBeNull();
    store.nowMs += 1;
    expect(await b.at.claim(NAMES)).not.toBeNull();
    const [late, good] = [await issueCertificate({ names: NAMES }), await issueCertificate({ names: NAMES })];
    await expect(Promise.resolve(a.at.save(NAMES, late, CA))).rejects.toThrow(Fenced);
    await b.at.save(NAMES, good, CA);
    await expect(Promise.resolve(a.at.save(NAMES, late, CA))).rejects.toThrow(Fenced);
    await a.at.saveNote(NAMES, { failures: 3, notBeforeMs: 1, askedToWaitUntilMs: 0 });
    expect((await gateway().at.load(NAMES))?.chain).toBe(good.chain);
    expect(await b.at.readNote(NAMES, 1000)).toBeNull();
    await a.storage.release();
    expect(
      (await b.documents.readFresh<{ claim: unknown }>(store.documents.keys().next().value!))?.value.claim,
    ).not.toBeNull();
    await b.storage.release();
  });

  test("keeps others from changing what it is about", async () => {
    const [a, b] = [gateway(), gateway()];
    await a.at.save(NAMES, await issueCertificate({ names: NAMES }), CA);
    await a.at.claim(NAMES);
    const found = (await b.at.load(NAMES))!;
    await expect(Promise.resolve(b.at.saveRecord(NAMES, { ...found, renewAtMs: 0 }))).rejects.toThrow(Claimed);
    await a.storage.release();
    await b.at.saveRecord(NAMES, { ...found, renewAtMs: 0 });
    expect((await a.at.load(NAMES))?.renewAtMs).toBe(0);
  });

  test("is kept over a write whose confirmation was lost, and over a store that was emptied", async () => {
    const a = gateway();
    await a.at.claim(NAMES);
    const write = store.write.bind(store);
    let isLost = false;
    store.write = async (...words) => {
      const version = await write(...words);
      if (isLost) return version;
      isLost = true;
      throw new StoreAway("the connection broke");
    };
    await a.at.saveNote(NAMES, { failures: 1, notBeforeMs: 1, askedToWaitUntilMs: 0 });
    a.documents.probe("x").catch(() => {});
    await eventually(() => expect(a.told).toContain("back"));
    const issued = await issueCertificate({ names: NAMES });
    await a.at.save(NAMES, issued, CA);
    expect((await gateway().at.load(NAMES))?.chain).toBe(issued.chain);
    store.documents.clear();
    const another = await issueCertificate({ names: NAMES, notBeforeMs: Date.now() });
    await a.at.save(NAMES, another, CA);
    expect((await gateway().at.load(NAMES))?.chain).toBe(another.chain);
    await a.storage.release();
  });
});

describe("what a gateway has seen", () => {
  test("it serves without the store, also after a start, and puts it back into an emptied one", async () => {
    const a = gateway();
    const issued = await issueCertificate({ names: NAMES });
    await a.at.save(NAMES, issued, CA);
    await a.at.saveAccount({ key: "KEY", url: "https://ca.test/1" });
    const b = gateway();
    expect((await b.at.load(NAMES))?.chain).toBe(issued.chain);
    await b.at.account();
    store.isAway = true;
    const again = gateway({ dir: b.dir });
    expect((await again.at.load(NAMES))?.chain).toBe(issued.chain);
    expect((await again.at.load(NAMES))?.key).toBe(issued.key);
    expect(again.told).toEqual(["away: the store is away"]);
    await expect(Promise.resolve(again.at.load(NAMES, true))).rejects.toThrow(StoreAway);
    await expect(Promise.resolve(gateway().at.load(NAMES))).rejects.toThrow(StoreAway);
    store.isAway = false;
    store.documents.clear();
    await again.documents.probe("news");
    expect((await again.at.load(NAMES))?.chain).toBe(issued.chain);
    expect((await again.at.account())?.url).toBe("https://ca.test/1");
    expect((await gateway().at.load(NAMES))?.chain).toBe(issued.chain);
    expect((await gateway().at.account())?.key).toBe("KEY");
  });

  test("what was obtained as the store went away is put there when it is back", async () => {
    const a = gateway();
    await a.at.save(NAMES, await issueCertificate({ names: NAMES, notBeforeMs: Date.now() - 86_400_000 }), CA);
    const next = await issueCertificate({ names: NAMES });
    store.isAway = true;
    await expect(Promise.resolve(a.at.save(NAMES, next, CA))).rejects.toThrow(StoreAway);
    expect((await a.at.load(NAMES))?.chain).toBe(next.chain);
    store.isAway = false;
    await a.documents.probe("news");
    expect((await a.at.load(NAMES))?.chain).toBe(next.chain);
    expect((await gateway().at.load(NAMES))?.chain).toBe(next.chain);
  });

  test("in files is taken into a store that has none, and not into one that has", async () => {
    const [a, b] = [gateway(), gateway()];
    const [ofA, ofB] = [await issueCertificate({ names: NAMES }), await issueCertificate({ names: NAMES })];
    for (const [{ dir }, issued] of [
      [a, ofA],
      [b, ofB],
    ] as const) {
      const files = new AcmeStore(dir, CA);
      files.open();
      files.save(NAMES, issued, CA);
    }
    expect((await a.at.load(NAMES))?.chain).toBe(ofA.chain);
    expect((await b.at.load(NAMES))?.chain).toBe(ofA.chain);
    expect([a.told, b.told]).toEqual([[`imported ${NAMES}`], []]);
  });

  test("one account is kept, that of the gateway that was faster", async () => {
    const [a, b] = [gateway(), gateway()];
    const kept = await Promise.all([a.at.saveAccount({ key: "A", url: "" }), b.at.saveAccount({ key: "B", url: "" })]);
    expect(kept[0]).toEqual(kept[1]);
    await a.at.replaceAccount({ key: "C", url: "u" });
    expect(await b.at.account()).toEqual({ key: "C", url: "u" });
  });

  test("is sealed anew with the first secret, and opened by no other gateway's", async () => {
    const NEXT = "another secret of some thirty-two chars";
    const issued = await issueCertificate({ names: NAMES });
    await gateway().at.save(NAMES, issued, CA);
    const stranger = gateway({ secrets: [NEXT] });
    await expect(Promise.resolve(stranger.at.load(NAMES))).rejects.toThrow("another storage_key");
    await expect(Promise.resolve(stranger.at.claim(NAMES))).rejects.toThrow("another storage_key");
    await gateway().at.saveAccount({ key: "KEY", url: "u" });
    const both = gateway({ secrets: [NEXT, SECRET] });
    expect((await both.at.load(NAMES))?.chain).toBe(issued.chain);
    expect(await both.storage.sealAnew()).toEqual({ sealed: 2, left: 0 });
    expect(await both.storage.sealAnew()).toEqual({ sealed: 0, left: 0 });
    expect(await gateway({ secrets: [NEXT] }).at.account()).toEqual({ key: "KEY", url: "u" });
    expect(await stranger.at.account()).toEqual({ key: "KEY", url: "u" });
    expect((await gateway({ secrets: ["a third secret of thirty-two characters"] }).storage.sealAnew()).left).toBe(2);
    expect((await gateway({ secrets: [NEXT] }).at.load(NAMES))?.chain).toBe(issued.chain);
  });

  test("one gateway asks for the window of renewal", async () => {
    const all = [gateway(), gateway(), gateway()];
    await all[0]!.at.save(NAMES, await issueCertificate({ names: NAMES }), CA);
    const may = await Promise.all(all.map(({ at }) => at.mayAsk(NAMES, 5)));
    expect(may.filter(Boolean).length).toBe(1);
    expect(await all[1]!.at.mayAsk(NAMES, 3_600_004)).toBe(false);
    expect(await all[1]!.at.mayAsk(NAMES, 3_600_005)).toBe(true);
  });
});

describe("news", () => {
  function reader() {
    const { documents } = gateway();
    const seen: { challenges: readonly SharedChallenge[]; changed: (readonly string[] | null)[] } = {
      challenges: [],
      changed: [],
    };
    const news = new CertificateNews(
      documents,
      { holder: crypto.randomUUID(), pollMs: 5 },
      {
        onChallenges: async (challenges) => {
          seen.challenges = challenges;
        },
        onChanged: (names) => void seen.changed.push(names),
      },
    );
    news.start();
    return { news, seen };
  }
  const challenge = (token: string) => ({ name: "a.test", token, keyAuthorization: `${token}.x` });

  test("of challenges and changes reach all, and challenges go", async () => {
    const all = [reader(), reader(), reader()];
    await Promise.all([
      all[0]!.news.answer("http-01", [challenge("one"), challenge("two")]),
      all[1]!.news.answer("tls-alpn-01", [challenge("three")]),
    ]);
    for (const { seen } of all)
      await eventually(() => expect(seen.challenges.map(({ token }) => token).sort()).toEqual(["one", "three", "two"]));
    await all[0]!.news.answer("http-01", []);
    await all[1]!.news.tell("cert/x");
    for (const { seen } of all) {
      await eventually(() => expect(seen.challenges.map(({ token }) => token)).toEqual(["three"]));
      await eventually(() => expect(seen.changed.at(-1)).toEqual(["cert/x"]));
    }
    // A gateway that comes later looks at all of it.
    const late = reader();
    await eventually(() => expect(late.seen.changed).toEqual([null]));
    for (let i = 0; i < 20; i++) await all[2]!.news.tell(`cert/${i}`);
    await eventually(() => expect(late.seen.changed.at(-1)).toContain("cert/19"));
    for (const { news } of [...all, late]) news.stop();
  });

  test("that could not be told are told when the store is back", async () => {
    const [a, b] = [reader(), reader()];
    await eventually(() => expect([a.seen.changed, b.seen.changed]).toEqual([[null], [null]]));
    store.isAway = true;
    await a.news.tell("cert/x");
    store.isAway = false;
    await eventually(() => expect(b.seen.changed.at(-1)).toEqual(["cert/x"]));
    for (const { news } of [a, b]) news.stop();
  });
});
