import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AcmeFailure,
  type CertificateAuthority,
  type CertificateRequest,
  type IssuedCertificate,
  type RenewalWindow,
} from "../../../../src/features/acme/certificate-authority.ts";
import { CertificateRenewal } from "../../../../src/features/acme/certificate-renewal.ts";
import { AcmeStore, storedForm } from "../../../../src/features/acme/certificate-store.ts";
import { StoreLock } from "../../../../src/features/acme/store-lock.ts";
import { eventually } from "../../../harness/eventually.ts";
import { issueCertificate } from "./certificates.ts";

const DAY = 86_400_000;
const NAMES = ["a.test"];
const root = mkdtempSync(join(tmpdir(), "edge-renewal-"));
let round = 0;
let desk: Desk;
beforeEach(() => {
  desk = new Desk(join(root, String(++round)));
});
afterEach(() => desk.stop());
afterAll(() => rmSync(root, { recursive: true }));

/** An authority that does as it is told, and everything that a renewal says. */
class Desk implements CertificateAuthority {
  readonly asked: CertificateRequest[] = [];
  readonly shown: IssuedCertificate[] = [];
  readonly events: string[] = [];
  failure: Error | null = null;
  /** Never answers. */
  isSilent = false;
  /** Answers when this has resolved. */
  answering: Promise<void> = Promise.resolve();
  window: RenewalWindow | null = null;
  lifeMs: number = 90 * DAY;
  nowMs: number = Date.now();
  readonly store: AcmeStore;
  private readonly renewals: CertificateRenewal[] = [];

  constructor(readonly dir: string) {
    this.store = new AcmeStore(dir, "https://ca.test/");
  }

  async obtain(request: CertificateRequest): Promise<IssuedCertificate & { accountUrl: string }> {
    this.asked.push(request);
    if (this.isSilent) await new Promise(() => {});
    await this.answering;
    if (this.failure !== null) throw this.failure;
    const life = { notBeforeMs: this.nowMs, notAfterMs: this.nowMs + this.lifeMs };
    return { ...(await issueCertificate({ names: NAMES, ...life })), accountUrl: "https://ca.test/1" };
  }

  renewalWindow(): Promise<RenewalWindow | null> {
    return Promise.resolve(this.window);
  }

  /** Begins, and waits for the first look to be over. */
  async start(isHurried = false): Promise<CertificateRenewal> {
    const renewal = new CertificateRenewal({
      names: NAMES,
      authority: this,
      desk: { answer: () => Promise.resolve() },
      store: this.store,
      lock: new StoreLock(this.dir),
      listener: {
        onCertificates: (certificates) => this.shown.push(...certificates),
        onIssued: (isRenewal) => this.events.push(isRenewal ? "renewed" : "obtained"),
        onWaiting: (failures, retryInMs) => this.events.push(`waits ${failures} ${Math.round(retryInMs / 1000)}`),
        onFailed: (failure, failures, retryInMs) =>
          this.events.push(`${failure.kind} ${failures} ${Math.round(retryInMs / 1000)}`),
      },
      now: () => this.nowMs,
      random: () => 0,
    });
    this.renewals.push(renewal);
    await renewal.start(isHurried);
    return renewal;
  }

  /** The process is gone, without a word, and another one begins. */
  async crash(): Promise<CertificateRenewal> {
    this.stop();
    return this.start();
  }

  stop(): void {
    for (const renewal of this.renewals.splice(0)) renewal.stop();
  }
}

async function untilAsked(times: number): Promise<void> {
  await eventually(() => expect(desk.asked.length).toBe(times));
  await eventually(() => expect(readdirSync(desk.dir)).not.toContain("lock"));
}

describe("with nothing stored", () => {
  test("a self-signed certificate is shown until one is obtained", async () => {
    await desk.start();
    expect(desk.shown.length).toBe(1);
    await untilAsked(1);
    await eventually(() => expect(desk.events).toEqual(["obtained"]));
    expect(desk.shown.length).toBe(2);
    expect(desk.store.load(NAMES)?.chain).toBe(desk.shown[1]!.chain);
    expect(desk.store.account()?.url).toBe("https://ca.test/1");
  });

  test("one that comes after the end is stored, and shown to nobody", async () => {
    const mayAnswer = Promise.withResolvers<void>();
    desk.answering = mayAnswer.promise;
    await desk.start();
    await eventually(() => expect(desk.asked.length).toBe(1));
    desk.stop();
    mayAnswer.resolve();
    await eventually(() => expect(desk.store.load(NAMES)).not.toBeNull());
    await untilAsked(1);
    expect(desk.shown.length).toBe(1);
  });

  test("a failure keeps it, and waits longer each time", async () => {
    desk.failure = new AcmeFailure("unauthorized", "wrong answer");
    const renewal = await desk.start();
    await untilAsked(1);
    renewal.hurry();
    await untilAsked(2);
    expect(desk.events).toEqual(["unauthorized 1 60", "unauthorized 2 120"]);
    desk.failure = null;
    renewal.hurry();
    await untilAsked(3);
    await eventually(() => expect(desk.events.at(-1)).toBe("obtained"));
    expect(desk.asked.map(({ accountKey }) => accountKey)).toEqual(desk.asked.map(() => desk.asked[0]!.accountKey));
  });

  test("a directory that asks to be left alone is left alone", async () => {
    desk.failure = new AcmeFailure("rateLimited", "too many", 7_200_000);
    const renewal = await desk.start();
    await untilAsked(1);
    await eventually(() => expect(desk.events).toEqual(["rateLimited 1 7200"]));
    renewal.hurry();
    await Bun.sleep(50);
    expect(desk.asked.length).toBe(1);
    desk.nowMs += 7_300_000;
    desk.failure = null;
    renewal.hurry();
    await untilAsked(2);
  });

  test("a folder that cannot be made is a failure like any other", async () => {
    writeFileSync(desk.dir, "a file");
    await desk.start();
    await eventually(() => expect(desk.events.some((event) => event.startsWith("failed 1 60"))).toBe(true));
    expect(desk.shown.length).toBe(1);
  });
});

test("until there is one for a changed set, those for other sets serve what they cover", async () => {
  const both = await issueCertificate({ names: ["a.test", "b.test"] });
  const expired = await issueCertificate({ names: ["a.test", "c.test"], notBeforeMs: 1000, notAfterMs: 2000 });
  const other = await issueCertificate({ names: ["other.test"] });
  desk.store.open();
  desk.store.save(["a.test", "b.test"], both);
  desk.store.save(["a.test", "c.test"], expired);
  desk.store.save(["other.test"], other);
  desk.failure = new Error("not yet");
  await desk.start();
  expect(desk.shown.map(({ chain }) => chain === both.chain)).toEqual([true, false]);
});

describe("with a certificate stored", () => {
  async function keep(lifeMs: number, ageMs: number): Promise<IssuedCertificate> {
    const notBeforeMs = desk.nowMs - ageMs;
    const issued = await issueCertificate({ names: NAMES, notBeforeMs, notAfterMs: notBeforeMs + lifeMs });
    desk.store.open();
    desk.store.save(NAMES, issued);
    return issued;
  }

  test("that is good nothing is ordered", async () => {
    const issued = await keep(90 * DAY, DAY);
    const renewal = await desk.start();
    renewal.hurry();
    await Bun.sleep(50);
    expect(desk.asked).toEqual([]);
    expect(desk.shown.map(({ chain }) => chain)).toEqual([issued.chain]);
  });

  test("that ends within thirty days another is obtained, and takes its place", async () => {
    const issued = await keep(90 * DAY, 61 * DAY);
    await desk.start();
    await eventually(() => expect(desk.events).toEqual(["renewed"]));
    expect(desk.shown.length).toBe(2);
    expect(desk.store.load(NAMES)?.chain).not.toBe(issued.chain);
    expect(desk.asked[0]!.replaces).toStartWith("aYhba4dGQEHhs3uEe6CuLN4ByNQ.");
  });

  test("the old one is served on while renewals fail", async () => {
    await keep(90 * DAY, 61 * DAY);
    desk.failure = new Error("connection refused");
    await desk.start();
    await eventually(() => expect(desk.events).toEqual(["failed 1 60"]));
    expect(desk.shown.length).toBe(1);
  });

  test("a short-lived one is renewed once, not again and again", async () => {
    await keep(6 * DAY, 5 * DAY);
    desk.lifeMs = 6 * DAY;
    const renewal = await desk.start();
    await eventually(() => expect(desk.events).toEqual(["renewed"]));
    renewal.hurry();
    await Bun.sleep(50);
    expect(desk.asked.length).toBe(1);
  });

  test("what is broken is put aside and ordered again", async () => {
    await keep(90 * DAY, DAY);
    const file = readdirSync(desk.dir).find((name) => name.endsWith(".crt"))!;
    writeFileSync(join(desk.dir, file), "garbage");
    await desk.start();
    await eventually(() => expect(desk.events).toEqual(["broken_store 0 0", "obtained"]));
  });

  test("what breaks while it is served is served on, and stored again", async () => {
    const issued = await keep(90 * DAY, DAY);
    const renewal = await desk.start();
    const file = readdirSync(desk.dir).find((name) => name.endsWith(".crt"))!;
    writeFileSync(join(desk.dir, file), "garbage");
    renewal.hurry();
    await eventually(() => expect(desk.events).toEqual(["broken_store 0 0"]));
    await eventually(() => expect(desk.store.load(NAMES)?.chain).toBe(issued.chain));
    expect([desk.shown.length, desk.asked.length]).toEqual([1, 0]);
  });

  test("a broken account key costs a new account and nothing else", async () => {
    desk.store.open();
    desk.store.saveAccount({ key: "garbage", url: "https://ca.test/old" });
    await desk.start();
    await eventually(() => expect(desk.events).toEqual(["broken_store 0 0", "obtained"]));
    expect(desk.asked[0]!.accountUrl).toBe("");
  });

  test("the directory's window decides, and is remembered", async () => {
    const issued = await keep(90 * DAY, DAY);
    const startMs = desk.nowMs + 10 * DAY;
    desk.window = { startMs, endMs: startMs + DAY, askAgainMs: desk.nowMs + DAY };
    const renewal = await desk.start();
    await eventually(() => expect(desk.store.load(NAMES)?.renewAtMs).toBe(startMs));
    expect(desk.asked).toEqual([]);
    desk.window = { startMs: desk.nowMs - DAY, endMs: desk.nowMs - 1, askAgainMs: desk.nowMs + 2 * DAY };
    desk.nowMs += DAY;
    renewal.hurry();
    await untilAsked(1);
    await eventually(() => expect(desk.events).toEqual(["renewed"]));
    expect(desk.store.load(NAMES)?.fingerprint).not.toBe(storedForm(issued).fingerprint);
  });
});

describe("a wait is kept to by the process that comes after", () => {
  /** The file that remembers it. */
  const noteFile = () => join(desk.dir, readdirSync(desk.dir).find((name) => name.endsWith(".retry.json"))!);
  const rest = () => Bun.sleep(50);

  test("when attempts fail: a crash loop asks no more often than one process would", async () => {
    desk.failure = new AcmeFailure("unauthorized", "wrong answer");
    await desk.start();
    await eventually(() => expect(desk.events).toEqual(["unauthorized 1 60"]));
    for (let i = 0; i < 5; i++) await desk.crash();
    await rest();
    expect([desk.asked.length, new Set(desk.events)]).toEqual([1, new Set(["unauthorized 1 60", "waits 1 60"])]);
    desk.nowMs += 61_000;
    await desk.crash();
    await eventually(() => expect(desk.events.at(-1)).toBe("unauthorized 2 120"));
    await desk.crash();
    await rest();
    expect(desk.asked.length).toBe(2);
    desk.nowMs += 121_000;
    desk.failure = null;
    await desk.crash();
    await eventually(() => expect(desk.events.at(-1)).toBe("obtained"));
    expect(readdirSync(desk.dir).filter((name) => name.includes("retry"))).toEqual([]);
  });

  test("when it dies in the midst of an order; an orderly end is no failure", async () => {
    desk.isSilent = true;
    await desk.start();
    await eventually(() => expect(desk.asked.length).toBe(1));
    const file = noteFile();
    const note = readFileSync(file, "utf8");
    desk.stop();
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, note);
    // Its lock is one that nobody has touched for long.
    writeFileSync(join(desk.dir, "lock"), "elsewhere 1 gone");
    utimesSync(join(desk.dir, "lock"), 0, 0);
    await desk.crash();
    await rest();
    expect([desk.asked.length, desk.events]).toEqual([1, ["waits 1 60"]]);
    desk.nowMs += 61_000;
    await desk.crash();
    await eventually(() => expect(desk.asked.length).toBe(2));
  });

  test("when the directory has asked for it, whatever is changed; SIGHUP ends every other wait", async () => {
    desk.failure = new AcmeFailure("rateLimited", "too many", 7_200_000);
    await desk.start();
    await eventually(() => expect(desk.events).toEqual(["rateLimited 1 7200"]));
    const renewal = await desk.crash();
    renewal.hurry();
    await desk.start(true);
    await rest();
    expect(desk.asked.length).toBe(1);
    desk.nowMs += 7_300_000;
    desk.failure = new AcmeFailure("unauthorized", "wrong answer");
    (await desk.crash()).hurry();
    await untilAsked(2);
    await eventually(() => expect(desk.events.at(-1)).toBe("unauthorized 2 120"));
    await desk.start(true);
    await untilAsked(3);
  });

  test.each([
    ["garbage", "{"],
    ["nothing", ""],
    ["another form", "[]"],
    ["words for numbers", '{"failures":"1","notBeforeMs":"9","askedToWaitUntilMs":null}'],
    ["null", "null"],
    ["a negative number", '{"failures":-1,"notBeforeMs":9e15,"askedToWaitUntilMs":0}'],
    ["a wait of more than a day", `{"failures":3,"notBeforeMs":${9e15},"askedToWaitUntilMs":${9e15}}`],
  ])("but a note with %s is none", async (_what, text) => {
    desk.failure = new Error("refused");
    await desk.start();
    await eventually(() => expect(desk.events).toEqual(["failed 1 60"]));
    writeFileSync(noteFile(), text);
    await desk.crash();
    await untilAsked(2);
  });
});

test("of two processes on one folder one orders, and the other takes what it got", async () => {
  const renewals = await Promise.all([desk.start(), desk.start()]);
  await untilAsked(1);
  for (const renewal of renewals) renewal.hurry();
  await eventually(() => expect(new Set(desk.shown.slice(2).map(({ chain }) => chain)).size).toBe(1));
  await eventually(() => expect(desk.shown.length).toBe(4));
  expect(desk.asked.length).toBe(1);
});
