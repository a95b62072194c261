import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import {
  AcmeClientAuthority,
  type AuthorityAccess,
} from "../../../../../src/features/acme/control/acme-client-authority.ts";
import type {
  AcmeFailure,
  CertificateRequest,
  CertificateWish,
  Challenge,
} from "../../../../../src/features/acme/control/certificate-authority.ts";
import { newPrivateKey } from "../../../../../src/features/acme/control/own-certificate.ts";
import { AcmeDirectory } from "../../../../harness/acme-directory.ts";
import { issueCertificate } from "./certificates.ts";

let directory: AcmeDirectory;
beforeEach(() => {
  directory = AcmeDirectory.start();
});
afterEach(() => directory.stop());

const accountKey = await newPrivateKey();
const WISH: CertificateWish = { names: ["a.test", "b.test"], challengeType: "http-01", profile: "", keyType: "p256" };
const REQUEST: CertificateRequest = { ...WISH, accountKey, accountUrl: "", replaces: "" };

function authority(more: Partial<AuthorityAccess> = {}): AcmeClientAuthority {
  const none = { email: "", eabKid: "", eabHmacKey: "", ca: "" } as const;
  return new AcmeClientAuthority({ directoryUrl: directory.url, ...none, ...more });
}

/** What was put on the recorder, one entry a call. */
class Recorder {
  readonly answers: (readonly Challenge[])[] = [];

  answer(challenges: readonly Challenge[]): Promise<void> {
    this.answers.push(challenges);
    return Promise.resolve();
  }
}

async function failureOf(work: Promise<unknown>): Promise<AcmeFailure> {
  return work.then(
    () => {
      throw new Error("no failure");
    },
    (error) => error as AcmeFailure,
  );
}

describe("a certificate", () => {
  test("for all names comes with a fresh key, once every challenge is answered", async () => {
    const recorder = new Recorder();
    const issue = await authority({ email: "admin@a.test" }).obtain(REQUEST, recorder);
    const certificate = new X509Certificate(issue.chain);
    expect(certificate.subjectAltName).toBe("DNS:a.test, DNS:b.test");
    expect(issue.key).not.toBe(accountKey);
    expect(issue.accountUrl).toBe(`http://127.0.0.1:${directory.port}/account/${issue.accountUrl.split("/").pop()}`);
    expect(directory.accounts).toEqual([{ termsOfServiceAgreed: true, contact: ["mailto:admin@a.test"] }]);
    const [challenges = [], after] = recorder.answers;
    expect(challenges.map(({ name }) => name)).toEqual(["a.test", "b.test"]);
    expect(challenges.every(({ token, keyAuthorization }) => keyAuthorization.startsWith(`${token}.`))).toBe(true);
    expect(after).toEqual([]);
  });

  test("uses the account that is there, and makes one that the directory has forgotten", async () => {
    const { accountUrl } = await authority().obtain(REQUEST, new Recorder());
    await authority().obtain({ ...REQUEST, accountUrl }, new Recorder());
    expect(directory.accounts.length).toBe(1);
    directory.forget();
    const again = await authority().obtain({ ...REQUEST, accountUrl }, new Recorder());
    expect(directory.accounts.length).toBe(2);
    expect(again.accountUrl).not.toBe(accountUrl);
  });

  test("names the one that it replaces", async () => {
    await authority().obtain({ ...REQUEST, replaces: "abc.def" }, new Recorder());
    expect(directory.orders[0]?.replaces).toBe("abc.def");
  });

  test("binds the account to one that the authority knows otherwise", async () => {
    await authority({ eabKid: "kid-1", eabHmacKey: "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTE" }).obtain(
      REQUEST,
      new Recorder(),
    );
    const binding = directory.accounts[0]!.externalAccountBinding as { protected: string };
    expect(JSON.parse(Buffer.from(binding.protected, "base64url").toString())).toMatchObject({
      alg: "HS256",
      kid: "kid-1",
    });
  });
});

describe("a failure says what it is about", () => {
  test("a wrong answer", async () => {
    const recorder = new Recorder();
    const origin = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("something else") });
    directory.challengePort = origin.port!;
    const failure = await failureOf(authority().obtain(REQUEST, recorder));
    await origin.stop(true);
    expect([failure.kind, failure.message]).toEqual(["unauthorized", "wrong answer: something else"]);
    expect(recorder.answers.at(-1)).toEqual([]);
  });

  test("a rate limit, and how long to wait", async () => {
    directory.problem = { status: 429, kind: "rateLimited", detail: "too many certificates", retryAfter: "3600" };
    const failure = await failureOf(authority().obtain(REQUEST, new Recorder()));
    expect([failure.kind, failure.message, failure.retryAfterMs]).toEqual([
      "rateLimited",
      "too many certificates",
      3_600_000,
    ]);
  });

  test("a server error, at once and not after retries of the client's own", async () => {
    directory.problem = { status: 503, kind: "serverInternal", detail: "down\r\nfor maintenance" };
    const failure = await failureOf(authority().obtain(REQUEST, new Recorder()));
    expect([failure.kind, failure.message]).toEqual(["serverInternal", "down for maintenance"]);
  });

  test("a directory that is not there", async () => {
    const directoryUrl = directory.url;
    directory.stop();
    const failure = await failureOf(authority({ directoryUrl }).obtain(REQUEST, new Recorder()));
    expect(failure.kind).toBe("ECONNREFUSED");
  });

  test("a directory that is none", async () => {
    const origin = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("<html>hello") });
    const failure = await failureOf(
      authority({ directoryUrl: `http://127.0.0.1:${origin.port}/` }).obtain(REQUEST, new Recorder()),
    );
    await origin.stop(true);
    expect(failure.message).toContain("Unable to locate API resource");
  });
});

describe("the renewal window", () => {
  test("is asked for where the directory has one", async () => {
    const { chain } = await issueCertificate();
    expect(await authority().renewalWindow(chain)).toBeNull();
    directory.renewalInfo = { suggestedWindow: { start: "2027-01-02T04:00:00Z", end: "2027-01-03T04:00:00Z" } };
    expect((await authority().renewalWindow(chain))?.startMs).toBe(Date.parse("2027-01-02T04:00:00Z"));
    directory.stop();
    expect(await authority().renewalWindow(chain)).toBeNull();
  });
});
