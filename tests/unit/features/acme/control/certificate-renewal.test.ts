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
} from "../../../../../src/features/acme/control/certificate-authority.ts";
import { CertificateRenewal } from "../../../../../src/features/acme/control/certificate-renewal.ts";
import { AcmeStore, storedForm } from "../../../../../src/features/acme/control/certificate-store.ts";
import { eventually } from "../../../../harness/eventually.ts";
import { issueCertificate } from "./certificates.ts";

const DAY = 86_400_000;
const NAMES = ["a.test"];
const CA = "https://ca.test/";
const root = mkdtempSync(join(tmpdir(), "edge-renewal-"));
let round = 0;
let setup: Setup;
beforeEach(() => {
  setup = new Setup(join(root, String(++round)));
});
afterEach(() => setup.stop());
afterAll(() => rmSync(root, { recursive: true }));

/** An authority that does as it is told, and everything that a renewal says. */
class Setup implements CertificateAuthority {
  names: readonly string[] = NAMES;
  readonly sources: CertificateAuthority[] = [this];
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
    this.store = new AcmeStore(dir, CA);
  }

  async obtain(request: CertificateRequest): Promise<IssuedCertificate & { accountUrl: string }> {
    this.asked.push(request);
    if (this.isSilent) await new Promise(() => {});
    await this.answering;
    if (this.failure !== null) throw this.failure;
    const life = { notBeforeMs: this.nowMs, notAfterMs: this.nowMs + this.lifeMs };
    return { ...(await issueCertificate({ names: request.names, ...life })), accountUrl: "https://ca.test/1" };
  }

  renewalWindow(): Promise<RenewalWindow | null> {
    return Promise.resolve(this.window);
  }

  /** Begins, and waits for the first look to be over. */
  async start(isHurried = false): Promise<CertificateRenewal> {
    const renewal = new CertificateRenewal({
      wish: { names: setup.names, challengeType: "http-01", profile: "", keyType: "p256" },
      sources: setup.sources.map((authority, i) => {
        const directoryUrl = i === 0 ? CA : `https://ca${i}.test/`;
        return { directoryUrl, authority, accounts: new AcmeStore(this.dir, directoryUrl) };
      }),
      hasStandIn: true,
      approval: null,
      inTurn: (work) => work(),
      responder: { answer: () => Promise.resolve() },
      store: this.store,
      listener: {
        onCertificates: (certificates) => this.shown.push(...certificates),
        onIssued: (_, isRenewal) => this.events.push(isRenewal ? "renewed" : "obtained"),
        onTaken: () => this.events.push("taken"),
        onStoreAway: () => this.events.push("store away"),
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
  await eventually(() => expect(setup.asked.length).toBe(times));
  await eventually(() => expect(readdirSync(setup.dir)).not.toContain("lock"));
}

describe("with nothing stored", () => {
  test("a self-signed certificate is shown until one is obtained", async () => {
    await setup.start();
    expect(setup.shown.length).toBe(1);
    await untilAsked(1);
    await eventually(() => expect(setup.events).toEqual(["obtained"]));
    expect(setup.shown.length).toBe(2);
    expect(setup.store.load(NAMES)?.chain).toBe(setup.shown[1]!.chain);
    expect(setup.store.account()?.url).toBe("https://ca.test/1");
  });

  test("one that comes after the end is stored, and shown to nobody", async () => {
    const mayAnswer = Promise.withResolvers<void>();
    setup.answering = mayAnswer.promise;
    await setup.start();
    await eventually(() => expect(setup.asked.length).toBe(1));
    setup.stop();
    mayAnswer.resolve();
    await eventually(() => expect(setup.store.load(NAMES)).not.toBeNull());
    await untilAsked(1);
    expect(setup.shown.length).toBe(1);
  });

  test("a failure keeps it, and waits longer each time", async () => {
    setup.failure = new AcmeFailure("unauthorized", "wrong answer");
    const renewal = await setup.start();
    await untilAsked(1);
    renewal.hurry();
    await untilAsked(2);
    expect(setup.events).toEqual(["unauthorized 1 60", "unauthorized 2 120"]);
    setup.failure = null;
    renewal.hurry();
    await untilAsked(3);
    await eventually(() => expect(setup.events.at(-1)).toBe("obtained"));
    expect(setup.asked.map(({ accountKey }) => accountKey)).toEqual(setup.asked.map(() => setup.asked[0]!.accountKey));
  });

  test("a directory that asks to be left alone is left alone", async () => {
    setup.failure = new AcmeFailure("rateLimited", "too many", 7_200_000);
    const renewal = await setup.start();
    await untilAsked(1);
    await eventually(() => expect(setup.events).toEqual(["rateLimited 1 7200"]));
    renewal.hurry();
    await Bun.sleep(50);
    expect(setup.asked.length).toBe(1);
    setup.nowMs += 7_300_000;
    setup.failure = null;
    renewal.hurry();
    await untilAsked(2);
  });

  test("a folder that cannot be made is a failure like any other", async () => {
    writeFileSync(setup.dir, "a file");
    await setup.start();
    await eventually(() => expect(setup.events.some((event) => event.startsWith("failed 1 60"))).toBe(true));
    expect(setup.shown.length).toBe(1);
  });
});

test("until there is one for a changed set, those for other sets serve what they cover", async () => {
  const both = await issueCertificate({ names: ["a.test", "b.test"] });
  const expired = await issueCertificate({ names: ["a.test", "c.test"], notBeforeMs: 1000, notAfterMs: 2000 });
  const other = await issueCertificate({ names: ["other.test"] });
  setup.store.open();
  setup.store.save(["a.test", "b.test"], both, CA);
  setup.store.save(["a.test", "c.test"], expired, CA);
  setup.store.save(["other.test"], other, CA);
  setup.failure = new Error("not yet");
  await setup.start();
  expect(setup.shown.map(({ chain }) => chain === both.chain)).toEqual([true, false]);
});

describe("with a certificate stored", () => {
  async function keep(lifeMs: number, ageMs: number): Promise<IssuedCertificate> {
    const notBeforeMs = setup.nowMs - ageMs;
    const issued = await issueCertificate({ names: NAMES, notBeforeMs, notAfterMs: notBeforeMs + lifeMs });
    setup.store.open();
    setup.store.save(NAMES, issued, CA);
    return issued;
  }

  test("that is good nothing is ordered", async () => {
    const issued = await keep(90 * DAY, DAY);
    const renewal = await setup.start();
    renewal.hurry();
    await Bun.sleep(50);
    expect(setup.asked).toEqual([]);
    expect(setup.shown.map(({ chain }) => chain)).toEqual([issued.chain]);
  });

  test("that ends within thirty days another is obtained, and takes its place", async () => {
    const issued = await keep(90 * DAY, 61 * DAY);
    await setup.start();
    await eventually(() => expect(setup.events).toEqual(["renewed"]));
    expect(setup.shown.length).toBe(2);
    expect(setup.store.load(NAMES)?.chain).not.toBe(issued.chain);
    expect(setup.asked[0]!.replaces).toStartWith("aYhba4dGQEHhs3uEe6CuLN4ByNQ.");
  });

  test("the old one is served on while renewals fail", async () => {
    await keep(90 * DAY, 61 * DAY);
    setup.failure = new Error("connection refused");
    await setup.start();
    await eventually(() => expect(setup.events).toEqual(["failed 1 60"]));
    expect(setup.shown.length).toBe(1);
  });

  test("a short-lived one is renewed once, not again and again", async () => {
    await keep(6 * DAY, 5 * DAY);
    setup.lifeMs = 6 * DAY;
    const renewal = await setup.start();
    await eventually(() => expect(setup.events).toEqual(["renewed"]));
    renewal.hurry();
    await Bun.sleep(50);
    expect(setup.asked.length).toBe(1);
  });

  test("what is broken is put aside and ordered again", async () => {
    await keep(90 * DAY, DAY);
    const file = readdirSync(setup.dir).find((name) => name.endsWith(".crt"))!;
    writeFileSync(join(setup.dir, file), "garbage");
    await setup.start();
    await eventually(() => expect(setup.events).toEqual(["broken_store 0 0", "obtained"]));
  });

  test("what breaks while it is served is served on, and stored again", async () => {
    const issued = await keep(90 * DAY, DAY);
    const renewal = await setup.start();
    const file = readdirSync(setup.dir).find((name) => name.endsWith(".crt"))!;
    writeFileSync(join(setup.dir, file), "garbage");
    renewal.hurry();
    await eventually(() => expect(setup.events).toEqual(["broken_store 0 0"]));
    await eventually(() => expect(setup.store.load(NAMES)?.chain).toBe(issued.chain));
    expect([setup.shown.length, setup.asked.length]).toEqual([1, 0]);
  });

  test("a broken account key costs a new account and nothing else", async () => {
    setup.store.open();
    setup.store.saveAccount({ key: "garbage", url: "https://ca.test/old" });
    await setup.start();
    await eventually(() => expect(setup.events).toEqual(["broken_store 0 0", "obtained"]));
    expect(setup.asked[0]!.accountUrl).toBe("");
  });

  test("the directory's window decides, and is remembered", async () => {
    const issued = await keep(90 * DAY, DAY);
    const startMs = setup.nowMs + 10 * DAY;
    setup.window = { startMs, endMs: startMs + DAY, askAgainMs: setup.nowMs + DAY };
    const renewal = await setup.start();
    await eventually(() => expect(setup.store.load(NAMES)?.renewAtMs).toBe(startMs));
    expect(setup.asked).toEqual([]);
    setup.window = { startMs: setup.nowMs - DAY, endMs: setup.nowMs - 1, askAgainMs: setup.nowMs + 2 * DAY };
    setup.nowMs += DAY;
    renewal.hurry();
    await untilAsked(1);
    await eventually(() => expect(setup.events).toEqual(["renewed"]));
    expect(setup.store.load(NAMES)?.fingerprint).not.toBe(storedForm(issued).fingerprint);
  });
});

describe("a wait is kept to by the process that comes after", () => {
  /** The file that remembers it. */
  const noteFile = () => join(setup.dir, readdirSync(setup.dir).find((name) => name.endsWith(".retry.json"))!);
  const rest = () => Bun.sleep(50);

  test("when attempts fail: a crash loop asks no more often than one process would", async () => {
    setup.failure = new AcmeFailure("unauthorized", "wrong answer");
    await setup.start();
    await eventually(() => expect(setup.events).toEqual(["unauthorized 1 60"]));
    for (let i = 0; i < 5; i++) await setup.crash();
    await rest();
    expect([setup.asked.length, new Set(setup.events)]).toEqual([1, new Set(["unauthorized 1 60", "waits 1 60"])]);
    setup.nowMs += 61_000;
    await setup.crash();
    await eventually(() => expect(setup.events.at(-1)).toBe("unauthorized 2 120"));
    await setup.crash();
    await rest();
    expect(setup.asked.length).toBe(2);
    setup.nowMs += 121_000;
    setup.failure = null;
    await setup.crash();
    await eventually(() => expect(setup.events.at(-1)).toBe("obtained"));
    expect(readdirSync(setup.dir).filter((name) => name.includes("retry"))).toEqual([]);
  });

  test("when it dies in the midst of an order; an orderly end is no failure", async () => {
    setup.isSilent = true;
    await setup.start();
    await eventually(() => expect(setup.asked.length).toBe(1));
    const file = noteFile();
    const note = readFileSync(file, "utf8");
    setup.stop();
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, note);
    // Its lock is one that nobody has touched for long.
    writeFileSync(join(setup.dir, "lock"), "elsewhere 1 gone");
    utimesSync(join(setup.dir, "lock"), 0, 0);
    await setup.crash();
    await rest();
    expect([setup.asked.length, setup.events]).toEqual([1, ["waits 1 60"]]);
    setup.nowMs += 61_000;
    await setup.crash();
    await eventually(() => expect(setup.asked.length).toBe(2));
  });

  test("when the directory has asked for it, whatever is changed; SIGHUP ends every other wait", async () => {
    setup.failure = new AcmeFailure("rateLimited", "too many", 7_200_000);
    await setup.start();
    await eventually(() => expect(setup.events).toEqual(["rateLimited 1 7200"]));
    const renewal = await setup.crash();
    renewal.hurry();
    await setup.start(true);
    await rest();
    expect(setup.asked.length).toBe(1);
    setup.nowMs += 7_300_000;
    setup.failure = new AcmeFailure("unauthorized", "wrong answer");
    (await setup.crash()).hurry();
    await untilAsked(2);
    await eventually(() => expect(setup.events.at(-1)).toBe("unauthorized 2 120"));
    await setup.start(true);
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
    setup.failure = new Error("refused");
    await setup.start();
    await eventually(() => expect(setup.events).toEqual(["failed 1 60"]));
    writeFileSync(noteFile(), text);
    await setup.crash();
    await untilAsked(2);
  });
});

test("of two processes on one folder one orders, and the other takes what it got", async () => {
  const renewals = await Promise.all([setup.start(), setup.start()]);
  await untilAsked(1);
  for (const renewal of renewals) renewal.hurry();
  await eventually(() => expect(new Set(setup.shown.slice(2).map(({ chain }) => chain)).size).toBe(1));
  await eventually(() => expect(setup.shown.length).toBe(4));
  expect(setup.asked.length).toBe(1);
});

describe("names that are refused", () => {
  const BOTH = ["a.test", "bad.test"];

  /** Refuses one name, and issues for the others. */
  function refuse(name: string): void {
    const { obtain } = setup;
    setup.obtain = (request) => {
      setup.failure = request.names.includes(name) ? new AcmeFailure("dns", "no such name", 0, [name]) : null;
      return obtain.call(setup, request);
    };
  }

  test("the others have a certificate of their own meanwhile, also after a restart", async () => {
    setup.names = BOTH;
    refuse("bad.test");
    await setup.start();
    await untilAsked(2);
    expect(setup.asked.map(({ names }) => names)).toEqual([BOTH, ["a.test"]]);
    await eventually(() => expect(setup.events).toEqual(["obtained", "dns 1 60"]));
    const good = setup.store.load(["a.test"])!;
    expect(setup.shown.map(({ chain }) => chain).includes(good.chain)).toBe(true);
    setup.shown.length = 0;
    await setup.crash();
    expect(setup.shown[0]!.chain).toBe(good.chain);
    expect(setup.asked.length).toBe(2);
  });

  test("the next attempt is for all, and makes no second one for the others", async () => {
    setup.names = BOTH;
    refuse("bad.test");
    const renewal = await setup.start();
    await untilAsked(2);
    renewal.hurry();
    await untilAsked(3);
    expect(setup.asked.map(({ names }) => names.length)).toEqual([2, 1, 2]);
  });

  test("where all are refused nothing more is asked", async () => {
    setup.names = ["bad.test"];
    refuse("bad.test");
    await setup.start();
    await untilAsked(1);
    await eventually(() => expect(setup.events).toEqual(["dns 1 60"]));
  });
});

describe("a second directory", () => {
  test.each(["ECONNREFUSED", "rateLimited", "serverInternal", "http 503"])(
    "is asked where the first says %s",
    async (kind) => {
      const second = new Setup(setup.dir);
      setup.sources.push(second);
      setup.failure = new AcmeFailure(kind, "not now", 5000);
      await setup.start();
      await eventually(() => expect(setup.events.at(-1)).toBe("obtained"));
      expect([setup.asked.length, second.asked.length]).toEqual([1, 1]);
      expect(setup.store.load(NAMES)?.directoryUrl).toBe("https://ca1.test/");
    },
  );

  test("is not asked where the first refuses the name", async () => {
    const second = new Setup(setup.dir);
    setup.sources.push(second);
    setup.failure = new AcmeFailure("unauthorized", "wrong answer", 0, NAMES);
    await setup.start();
    await eventually(() => expect(setup.events).toEqual(["unauthorized 1 60"]));
    expect(second.asked).toEqual([]);
  });
});
