// docs/acme.md#dns-providers. Each provider against a service of the test's own, which checks who asks, in which order, and for what.
import { afterAll, describe, expect, test } from "bun:test";
import { createHash, createHmac, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importSPKI, jwtVerify } from "jose";
import { providerRecords } from "../../../../../../src/features/acme/control/dns/provider-records.ts";
import type { AcmeDnsConfig } from "../../../../../../src/features/acme/settings.ts";

const ZONE = "example.com";
const NAME = "_acme-challenge.www.example.com";
const RELATIVE = "_acme-challenge.www";
const [ONE, TWO] = ["value-one_1", "value-two-2"];
const { publicKey, privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});
const folder = mkdtempSync(join(tmpdir(), "edge-dns-"));

/** A request as the service has got it. */
interface Got {
  readonly call: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly text: string;
  readonly headers: Headers;
  readonly url: string;
}

/** The records of the zone: values as the provider writes them, by id. */
class Records {
  readonly values = new Map<string, string>();
  private last = 0;
  add(value: string): string {
    this.values.set(String(++this.last), value);
    return String(this.last);
  }
  replace(values: readonly string[]): void {
    this.values.clear();
    for (const value of values) this.add(value);
  }
  get all(): string[] {
    return [...this.values.values()];
  }
}

interface Mock {
  readonly keys: Partial<AcmeDnsConfig>;
  /** How values stand in the zone. */
  readonly quoted: boolean;
  /** Whether the request is allowed. */
  readonly allows: (got: Got) => boolean | Promise<boolean>;
  readonly answer: (got: Got, records: Records) => Response | object | null;
  /** Methods and paths, without those of looking for the zone. */
  readonly adds: readonly string[];
  readonly removes: readonly string[];
}

const NONE = Response.json({ message: "not found" }, { status: 404 });
const bearer = (got: Got): boolean => got.headers.get("authorization") === "Bearer s3cret";
const body = (got: Got) => JSON.parse(got.text);

/** Signature Version 4, written from its description. */
function isSigned(got: Got, method: string): boolean {
  const auth = got.headers.get("authorization") ?? "";
  const [, credential, names, signature] = /Credential=(\S+), SignedHeaders=(\S+), Signature=(\w+)/.exec(auth) ?? [];
  if (credential === undefined) return false;
  const [id, day, region, service] = credential.split("/");
  const sorted = [...got.query].map(([k, v]) => `${encodeURIComponent(k)}=${encodeURIComponent(v)}`).sort();
  const lines = names!.split(";").map((name) => `${name}:${got.headers.get(name)}\n`);
  const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
  const canonical = [method, got.path, sorted.join("&"), lines.join(""), names, hash(got.text)].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", got.headers.get("x-amz-date"), scope, hash(canonical)].join("\n");
  const mac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
  const key = [day!, region!, service!, "aws4_request"].reduce<string | Buffer>(mac, "AWS4aws-secret");
  return id === "AKID" && service === "route53" && mac(key, toSign).toString("hex") === signature;
}

const xml = (text: string): Response => new Response(text, { headers: { "Content-Type": "text/xml" } });
const valuesIn = (text: string): string[] =>
  [...text.matchAll(/<Value>(.*?)<\/Value>/g)].map(([, value]) => value!.replaceAll("&#34;", '"'));

const MOCKS: Readonly<Record<string, Mock>> = {
  cloudflare: {
    keys: { apiToken: "s3cret" },
    quoted: true,
    allows: bearer,
    answer(got, records) {
      if (got.path === "/client/v4/zones") return { result: got.query.get("name") === ZONE ? [{ id: "z1" }] : [] };
      if (got.call.startsWith("POST")) return { result: { id: records.add(body(got).content) } };
      records.values.delete(got.path.split("/").at(-1)!);
      return { result: {} };
    },
    adds: ["POST /client/v4/zones/z1/dns_records"],
    removes: ["DELETE /client/v4/zones/z1/dns_records/1"],
  },
  digitalocean: {
    keys: { apiToken: "s3cret" },
    quoted: false,
    allows: bearer,
    answer(got, records) {
      if (got.call === `GET /v2/domains/${ZONE}`) return { domain: { name: ZONE } };
      if (got.call.startsWith("GET")) return NONE.clone();
      if (got.call.startsWith("POST")) {
        expect(body(got)).toMatchObject({ type: "TXT", name: RELATIVE });
        return { domain_record: { id: Number(records.add(body(got).data)) } };
      }
      records.values.delete(got.path.split("/").at(-1)!);
      return null;
    },
    adds: [`POST /v2/domains/${ZONE}/records`],
    removes: [`DELETE /v2/domains/${ZONE}/records/1`],
  },
  hetzner: {
    keys: { apiToken: "s3cret" },
    quoted: true,
    allows: bearer,
    answer(got, records) {
      if (got.call === `GET /v1/zones/${ZONE}`) return { zone: { id: 1 } };
      if (got.call.startsWith("GET")) return NONE.clone();
      const [{ value }] = body(got).records;
      if (got.path.endsWith("add_records")) records.add(value);
      else records.replace(records.all.filter((one) => one !== value));
      return { action: { id: 1 } };
    },
    adds: [`POST /v1/zones/${ZONE}/rrsets/${RELATIVE}/TXT/actions/add_records`],
    removes: [`POST /v1/zones/${ZONE}/rrsets/${RELATIVE}/TXT/actions/remove_records`],
  },
  porkbun: {
    keys: { apiKey: "pk", secretApiKey: "s3cret" },
    quoted: false,
    allows: (got) => body(got).apikey === "pk" && body(got).secretapikey === "s3cret",
    answer(got, records) {
      const isOurs = got.path.includes(`/${ZONE}`);
      if (!isOurs) return Response.json({ status: "ERROR", message: "Invalid domain." }, { status: 400 });
      if (got.path.includes("/create/")) return { status: "SUCCESS", id: records.add(body(got).content) };
      if (got.path.includes("/delete/")) records.values.delete(got.path.split("/").at(-1)!);
      return { status: "SUCCESS", records: [] };
    },
    adds: [`POST /api/json/v3/dns/create/${ZONE}`],
    removes: [`POST /api/json/v3/dns/delete/${ZONE}/1`],
  },
  ovh: {
    keys: { applicationKey: "ak", applicationSecret: "as", consumerKey: "ck" },
    quoted: true,
    allows(got) {
      if (got.path === "/auth/time") return true;
      const time = got.headers.get("x-ovh-timestamp")!;
      const text = ["as", "ck", got.call.split(" ")[0], got.url, got.text, time].join("+");
      const isNow = Math.abs(Number(time) - (Date.now() / 1000 + 3600)) < 30;
      return isNow && got.headers.get("x-ovh-signature") === `$1$${createHash("sha1").update(text).digest("hex")}`;
    },
    answer(got, records) {
      // The provider's clock is an hour ahead.
      if (got.path === "/auth/time") return new Response(String(Math.floor(Date.now() / 1000) + 3600));
      if (got.call === `GET /domain/zone/${ZONE}`) return { name: ZONE };
      if (got.call.startsWith("GET")) return NONE.clone();
      if (got.path.endsWith("/refresh")) return null;
      if (got.call.startsWith("POST")) return { id: Number(records.add(body(got).target)) };
      records.values.delete(got.path.split("/").at(-1)!);
      return null;
    },
    adds: [`POST /domain/zone/${ZONE}/record`, `POST /domain/zone/${ZONE}/refresh`],
    removes: [`DELETE /domain/zone/${ZONE}/record/1`, `POST /domain/zone/${ZONE}/refresh`],
  },
  gandi: {
    keys: { apiToken: "s3cret" },
    quoted: true,
    allows: bearer,
    answer(got, records) {
      if (got.call === `GET /v5/livedns/domains/${ZONE}`) return { fqdn: ZONE };
      if (got.call.startsWith("GET")) {
        const isSet = got.path.endsWith(`/records/${RELATIVE}/TXT`) && records.all.length > 0;
        return isSet ? { rrset_values: records.all } : NONE.clone();
      }
      records.replace(got.call.startsWith("PUT") ? body(got).rrset_values : []);
      return null;
    },
    adds: ["GET", "PUT"].map((method) => `${method} /v5/livedns/domains/${ZONE}/records/${RELATIVE}/TXT`),
    removes: ["GET", "PUT"].map((method) => `${method} /v5/livedns/domains/${ZONE}/records/${RELATIVE}/TXT`),
  },
  desec: {
    keys: { apiToken: "s3cret" },
    quoted: true,
    allows: (got) => got.headers.get("authorization") === "Token s3cret",
    answer(got, records) {
      if (got.call === `GET /api/v1/domains/${ZONE}/`) return { name: ZONE };
      if (got.call.startsWith("GET"))
        return records.all.length > 0 && got.path.includes(`/${ZONE}/`) ? { records: records.all } : NONE.clone();
      const [set] = body(got);
      expect(set).toMatchObject({ subname: RELATIVE, type: "TXT" });
      records.replace(set.records);
      return [set];
    },
    adds: [`GET /api/v1/domains/${ZONE}/rrsets/${RELATIVE}/TXT/`, `PATCH /api/v1/domains/${ZONE}/rrsets/`],
    removes: [`GET /api/v1/domains/${ZONE}/rrsets/${RELATIVE}/TXT/`, `PATCH /api/v1/domains/${ZONE}/rrsets/`],
  },
  gcloud: {
    keys: { serviceAccountFile: join(folder, "account.json"), project: "p1" },
    quoted: true,
    async allows(got) {
      if (got.path !== "/token") return got.headers.get("authorization") === "Bearer g-token";
      const form = new URLSearchParams(got.text);
      const key = await importSPKI(publicKey, "RS256");
      const { payload } = await jwtVerify(form.get("assertion")!, key, { issuer: "edge@p1", audience: got.url });
      return String(payload.scope).includes("clouddns") && form.get("grant_type")!.endsWith("jwt-bearer");
    },
    answer(got, records) {
      if (got.path === "/token") return { access_token: "g-token", expires_in: 3600 };
      const base = "/dns/v1/projects/p1/managedZones";
      if (got.path === base)
        return got.query.get("dnsName") === `${ZONE}.`
          ? {
              managedZones: [
                { name: "inner", visibility: "private" },
                { name: "z1", visibility: "public" },
              ],
            }
          : {};
      if (got.path === `${base}/z1/rrsets`)
        return records.all.length > 0
          ? { rrsets: [{ name: `${NAME}.`, type: "TXT", ttl: 60, rrdatas: records.all }] }
          : { rrsets: [] };
      const { additions = [], deletions = [] } = body(got);
      expect(deletions.flatMap((set: { rrdatas: string[] }) => set.rrdatas)).toEqual(records.all);
      records.replace(additions[0]?.rrdatas ?? []);
      return { status: "done" };
    },
    adds: ["GET /dns/v1/projects/p1/managedZones/z1/rrsets", "POST /dns/v1/projects/p1/managedZones/z1/changes"],
    removes: ["GET /dns/v1/projects/p1/managedZones/z1/rrsets", "POST /dns/v1/projects/p1/managedZones/z1/changes"],
  },
  azure: {
    keys: {
      tenantId: "t1",
      clientId: "c1",
      clientSecret: "s3cret",
      subscriptionId: "s1",
      resourceGroup: "rg",
    },
    quoted: false,
    allows(got) {
      if (got.path !== "/t1/oauth2/v2.0/token") return got.headers.get("authorization") === "Bearer a-token";
      const form = Object.fromEntries(new URLSearchParams(got.text));
      return form.client_id === "c1" && form.client_secret === "s3cret" && form.grant_type === "client_credentials";
    },
    answer(got, records) {
      if (got.path.endsWith("/token")) return { access_token: "a-token", expires_in: 3600 };
      expect(got.query.get("api-version")).toBe("2018-05-01");
      if (got.path.endsWith(`/dnsZones/${ZONE}`)) return { name: ZONE };
      if (!got.path.endsWith(`/dnsZones/${ZONE}/TXT/${RELATIVE}`)) return NONE.clone();
      if (got.call.startsWith("GET"))
        return records.all.length === 0
          ? NONE.clone()
          : { properties: { TXTRecords: records.all.map((value) => ({ value: [value] })) } };
      const sets = got.call.startsWith("PUT") ? body(got).properties.TXTRecords : [];
      records.replace(sets.map(({ value }: { value: string[] }) => value.join("")));
      return null;
    },
    adds: ["GET", "PUT"].map(
      (method) =>
        `${method} /subscriptions/s1/resourceGroups/rg/providers/Microsoft.Network/dnsZones/${ZONE}/TXT/${RELATIVE}`,
    ),
    removes: ["GET", "PUT"].map(
      (method) =>
        `${method} /subscriptions/s1/resourceGroups/rg/providers/Microsoft.Network/dnsZones/${ZONE}/TXT/${RELATIVE}`,
    ),
  },
  route53: {
    keys: { accessKeyId: "AKID", secretAccessKey: "aws-secret", sessionToken: "" },
    quoted: true,
    allows: (got) => isSigned(got, got.call.split(" ")[0]!),
    answer(got, records) {
      if (got.path === "/2013-04-01/hostedzonesbyname") {
        const zone = (id: string, name: string, isPrivate: boolean): string =>
          `<HostedZone><Id>/hostedzone/${id}</Id><Name>${name}.</Name><Config><PrivateZone>${isPrivate}</PrivateZone></Config></HostedZone>`;
        // The list goes on behind the name that was asked for.
        const all = zone("P", ZONE, true) + zone("Z1", ZONE, false) + zone("Z2", "other.example", false);
        return xml(`<R><HostedZones>${all}</HostedZones></R>`);
      }
      if (got.path.startsWith("/2013-04-01/change/"))
        return xml("<R><ChangeInfo><Status>INSYNC</Status></ChangeInfo></R>");
      if (got.call.startsWith("GET")) {
        const values = records.all.map((value) => `<Value>${value.replaceAll('"', "&quot;")}</Value>`).join("");
        const set = (name: string, inner: string): string =>
          `<ResourceRecordSet><Name>${name}.</Name><Type>TXT</Type><ResourceRecords>${inner}</ResourceRecords></ResourceRecordSet>`;
        const found = values === "" ? set("behind.example.com", "<Value>x</Value>") : set(NAME, values);
        return xml(`<R><ResourceRecordSets>${found}</ResourceRecordSets></R>`);
      }
      records.replace(got.text.includes("<Action>DELETE</Action>") ? [] : valuesIn(got.text));
      return xml("<R><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status></ChangeInfo></R>");
    },
    adds: ["GET /2013-04-01/hostedzone/Z1/rrset", "POST /2013-04-01/hostedzone/Z1/rrset", "GET /2013-04-01/change/C1"],
    removes: [
      "GET /2013-04-01/hostedzone/Z1/rrset",
      "POST /2013-04-01/hostedzone/Z1/rrset",
      "GET /2013-04-01/change/C1",
    ],
  },
};

let current: { readonly mock: Mock; readonly records: Records; readonly calls: string[]; status: number };
const service = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(asked) {
    const url = new URL(asked.url);
    const call = `${asked.method} ${url.pathname}`;
    const got: Got = {
      call,
      path: url.pathname,
      query: url.searchParams,
      text: await asked.text(),
      headers: asked.headers,
      url: asked.url,
    };
    current.calls.push(call);
    if (current.status !== 0) return new Response("no such thing\r\nfor you", { status: current.status });
    if (!(await current.mock.allows(got))) return Response.json({ message: "wrong signature" }, { status: 403 });
    const answer = current.mock.answer(got, current.records);
    if (answer === null) return new Response(null, { status: 204 });
    return answer instanceof Response ? answer : Response.json(answer);
  },
});
const endpoint = `http://127.0.0.1:${service.port}`;
writeFileSync(
  join(folder, "account.json"),
  JSON.stringify({
    client_email: "edge@p1",
    private_key: privateKey,
    project_id: "p1",
    token_uri: `${endpoint}/token`,
  }),
);
afterAll(() => {
  service.stop(true);
  rmSync(folder, { recursive: true });
});

function recordsOf(provider: string, keys: object = {}) {
  const mock = MOCKS[provider]!;
  current = { mock, records: new Records(), calls: [], status: 0 };
  const none = { apiToken: "", sessionToken: "", project: "", loginUrl: endpoint };
  return providerRecords({ ...none, ...mock.keys, ...keys, provider, endpoint } as unknown as AcmeDnsConfig);
}

describe.each(Object.keys(MOCKS))("%s", (provider) => {
  const written = (value: string): string => (MOCKS[provider]!.quoted ? `"${value}"` : value);

  test("puts records into the zone of the longest name, signed and in order, and takes out its own", async () => {
    const records = recordsOf(provider);
    const { mock, calls, records: zone } = current;
    await records.present(NAME, ONE);
    expect(zone.all).toEqual([written(ONE)]);
    expect(calls.slice(-mock.adds.length)).toEqual([...mock.adds]);
    // A certificate for a name and its wildcard has two values at one name.
    await records.present(NAME, TWO);
    expect(zone.all).toEqual([written(ONE), written(TWO)]);
    calls.length = 0;
    await records.cleanup(NAME, ONE);
    expect(zone.all).toEqual([written(TWO)]);
    expect(calls).toEqual([...mock.removes]);
    await records.cleanup(NAME, TWO);
    expect(zone.all).toEqual([]);
  });

  test("says what is wrong, and how to cure it, in one line and without its credentials", async () => {
    const records = recordsOf(provider);
    const fault = (name: string): Promise<string> => records.present(name, ONE).then(() => "", String);
    expect(await fault("_acme-challenge.other.test")).toContain(
      "the account has no zone for _acme-challenge.other.test",
    );
    current.status = 403;
    const refused = await fault(NAME);
    expect(refused).toMatch(new RegExp(`${provider}: \\w+ .*: 403 \\(the credentials .* give them that right\\)`));
    expect(refused).not.toMatch(/s3cret|aws-secret|PRIVATE|[\r\n]/);
    current.status = 429;
    expect(await fault(NAME)).toContain("tried again later");
  });
});

test.each(["", "session-1"])(
  "route53 with the session token %p: it goes with each call, and is signed",
  async (sessionToken) => {
    const records = recordsOf("route53", { sessionToken });
    const { mock } = current;
    const tokens: (string | null)[] = [];
    const allows: Mock["allows"] = (got) => {
      tokens.push(got.headers.get("x-amz-security-token"));
      return mock.allows(got);
    };
    current = { ...current, mock: { ...mock, allows } };
    await records.present(NAME, ONE);
    expect(current.records.all).toEqual([`"${ONE}"`]);
    expect(new Set(tokens)).toEqual(new Set([sessionToken === "" ? null : sessionToken]));
  },
);
