import { readFileSync } from "node:fs";
import { importPKCS8, SignJWT } from "jose";
import type { AcmeDnsConfig } from "../../settings.ts";
import { bearer, zoneAt } from "./record-providers.ts";
import { type DnsProvider, RECORD_TTL_S, recordText, relativeName, type Zone, ZoneClient } from "./zone-client.ts";

// Providers that know only whole sets: all values of a name.

/** The TXT set of a name. */
interface RecordSets {
  readonly zone: DnsProvider["zone"];
  /** All values, as the provider writes them; none if there is no set. */
  read(zone: Zone, name: string): Promise<readonly string[]>;
  /** @param values none removes the set @param before the values that `read` has given */
  write(zone: Zone, name: string, values: readonly string[], before: readonly string[]): Promise<unknown>;
}

/** Adds and removes single values. @param written how the provider writes a value */
export function onSets(sets: RecordSets, written: (value: string) => string = recordText): DnsProvider {
  return {
    zone: (name) => sets.zone(name),
    async add(zone, name, value) {
      const before = await sets.read(zone, name);
      if (!before.includes(written(value))) await sets.write(zone, name, [...before, written(value)], before);
      return "";
    },
    async remove(zone, name, value) {
      const before = await sets.read(zone, name);
      const left = before.filter((one) => one !== written(value));
      if (left.length < before.length) await sets.write(zone, name, left, before);
    },
  };
}

/** https://api.gandi.net/docs/livedns */
export function gandi({ apiToken }: AcmeDnsConfig, endpoint: string): DnsProvider {
  const client = new ZoneClient("gandi", endpoint, () => bearer(apiToken));
  const setOf = (zone: Zone, name: string): string =>
    `/v5/livedns/domains/${zone.id}/records/${relativeName(name, zone)}/TXT`;
  return onSets({
    zone: (name) => zoneAt(client, `/v5/livedns/domains/${name}`, name),
    async read(zone, name) {
      const found = await client.found<{ readonly rrset_values: readonly string[] }>({
        method: "GET",
        path: setOf(zone, name),
      });
      return found?.rrset_values ?? [];
    },
    write: (zone, name, values) =>
      values.length === 0
        ? client.found({ method: "DELETE", path: setOf(zone, name) })
        : client.json({
            method: "PUT",
            path: setOf(zone, name),
            body: { rrset_ttl: GANDI_TTL_S, rrset_values: values },
          }),
  });
}

/** https://desec.readthedocs.io/en/latest/dns/rrsets.html */
export function desec({ apiToken }: AcmeDnsConfig, endpoint: string): DnsProvider {
  const client = new ZoneClient("desec", endpoint, () => ({ Authorization: `Token ${apiToken}` }));
  return onSets({
    zone: (name) => zoneAt(client, `/api/v1/domains/${name}/`, name),
    async read(zone, name) {
      const path = `/api/v1/domains/${zone.id}/rrsets/${relativeName(name, zone)}/TXT/`;
      return (await client.found<{ readonly records: readonly string[] }>({ method: "GET", path }))?.records ?? [];
    },
    write: (zone, name, values) =>
      client.json({
        method: "PATCH",
        path: `/api/v1/domains/${zone.id}/rrsets/`,
        // A set without records is removed.
        body: [
          {
            subname: relativeName(name, zone).replace(/^@$/, ""),
            type: "TXT",
            ttl: DESEC_TTL_S,
            records: values,
          },
        ],
      }),
  });
}

/** https://cloud.google.com/dns/docs/reference/rest/v1 */
export function gcloud({ serviceAccountFile, project }: AcmeDnsConfig, endpoint: string): DnsProvider {
  const account = serviceAccountIn(serviceAccountFile);
  const token = new Token(() => googleToken(account));
  const client = new ZoneClient("gcloud", endpoint, async () => bearer(await token.value()));
  const base = `/dns/v1/projects/${encodeURIComponent(project || account.project_id)}/managedZones`;
  interface Set {
    readonly name: string;
    readonly type: string;
    readonly ttl: number;
    readonly rrdatas: readonly string[];
  }
  const setOf = (name: string, rrdatas: readonly string[]): Set => ({
    name: `${name}.`,
    type: "TXT",
    ttl: RECORD_TTL_S,
    rrdatas,
  });
  // A deletion names the set exactly as it is, with its time to live.
  const known = new Map<string, Set>();
  return onSets({
    async zone(name) {
      const { managedZones = [] } = await client.json<{
        readonly managedZones?: readonly { readonly name: string; readonly visibility?: string }[];
      }>({ method: "GET", path: `${base}?dnsName=${name}.` });
      const found = managedZones.find(({ visibility }) => visibility !== "private");
      return found === undefined ? null : { id: found.name, name };
    },
    async read(zone, name) {
      const path = `${base}/${zone.id}/rrsets?name=${name}.&type=TXT`;
      const { rrsets = [] } = await client.json<{ readonly rrsets?: readonly Set[] }>({ method: "GET", path });
      if (rrsets[0] === undefined) known.delete(name);
      else known.set(name, rrsets[0]);
      return rrsets[0]?.rrdatas ?? [];
    },
    write(zone, name, values) {
      const before = known.get(name);
      const body = {
        ...(values.length > 0 ? { additions: [setOf(name, values)] } : {}),
        ...(before === undefined ? {} : { deletions: [before] }),
      };
      return client.json({ method: "POST", path: `${base}/${zone.id}/changes`, body });
    },
  });
}

/** https://learn.microsoft.com/rest/api/dns/record-sets */
export function azure(config: AcmeDnsConfig, endpoint: string): DnsProvider {
  const { subscriptionId, resourceGroup } = config;
  const token = new Token(() => azureToken(config));
  const client = new ZoneClient("azure", endpoint, async () => bearer(await token.value()));
  const group = `/subscriptions/${subscriptionId}/resourceGroups/${encodeURIComponent(resourceGroup)}`;
  const zones = `${group}/providers/Microsoft.Network/dnsZones`;
  const setOf = (zone: Zone, name: string): string =>
    `${zones}/${zone.id}/TXT/${relativeName(name, zone)}?${AZURE_API}`;
  interface Set {
    readonly properties: { readonly TXTRecords?: readonly { readonly value: readonly string[] }[] };
  }
  const provider: RecordSets = {
    zone: (name) => zoneAt(client, `${zones}/${name}?${AZURE_API}`, name),
    async read(zone, name) {
      const found = await client.found<Set>({ method: "GET", path: setOf(zone, name) });
      return (found?.properties.TXTRecords ?? []).map(({ value }) => value.join(""));
    },
    write: (zone, name, values) =>
      values.length === 0
        ? client.found({ method: "DELETE", path: setOf(zone, name) })
        : client.json({
            method: "PUT",
            path: setOf(zone, name),
            body: { properties: { TTL: RECORD_TTL_S, TXTRecords: values.map((value) => ({ value: [value] })) } },
          }),
  };
  return onSets(provider, (value) => value);
}

/** The key file of a service account of Google. */
interface ServiceAccount {
  readonly client_email: string;
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly project_id: string;
  readonly token_uri?: string;
}

function serviceAccountIn(file: string): ServiceAccount {
  const { client_email, private_key, ...others } = JSON.parse(readFileSync(file, "utf8")) as Partial<ServiceAccount>;
  if (typeof client_email !== "string" || typeof private_key !== "string")
    throw new Error(`gcloud: ${file} is no key file of a service account: it needs client_email and private_key`);
  return { project_id: "", ...others, client_email, private_key };
}

/** RFC 7523: a signed statement for an access token. */
async function googleToken({ client_email, private_key, private_key_id, token_uri = GOOGLE_TOKENS }: ServiceAccount) {
  const key = await importPKCS8(private_key, "RS256");
  const assertion = await new SignJWT({ scope: GOOGLE_SCOPE })
    .setProtectedHeader({ alg: "RS256", typ: "JWT", ...(private_key_id === undefined ? {} : { kid: private_key_id }) })
    .setIssuer(client_email)
    .setAudience(token_uri)
    .setIssuedAt()
    .setExpirationTime("10m")
    .sign(key);
  return tokenFrom("gcloud", token_uri, { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion });
}

/** RFC 6749 §4.4 */
function azureToken({ tenantId, clientId, clientSecret, loginUrl }: AcmeDnsConfig): Promise<OauthToken> {
  return tokenFrom("azure", `${loginUrl || AZURE_LOGIN}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`, {
    grant_type: "client_credentials",
    client_id: clientId,
    client_secret: clientSecret,
    scope: AZURE_SCOPE,
  });
}

interface OauthToken {
  readonly access_token: string;
  readonly expires_in: number;
}

function tokenFrom(provider: string, url: string, fields: Record<string, string>): Promise<OauthToken> {
  const client = new ZoneClient(provider, url, () => ({ "Content-Type": "application/x-www-form-urlencoded" }));
  return client.json<OauthToken>({ method: "POST", path: "", body: new URLSearchParams(fields).toString() });
}

/** An access token, asked for again before it ends. */
class Token {
  private readonly ask: () => Promise<OauthToken>;
  private held: { readonly token: string; readonly untilMs: number } | null = null;

  constructor(ask: () => Promise<OauthToken>) {
    this.ask = ask;
  }

  async value(): Promise<string> {
    if (this.held !== null && performance.now() < this.held.untilMs) return this.held.token;
    const { access_token: token, expires_in: seconds } = await this.ask();
    this.held = { token, untilMs: performance.now() + Math.max(0, seconds - TOKEN_MARGIN_S) * 1000 };
    return token;
  }
}

/** The least that these providers take. */
const GANDI_TTL_S = 300;
const DESEC_TTL_S = 3600;
const TOKEN_MARGIN_S = 60;
const AZURE_API = "api-version=2018-05-01";
const AZURE_LOGIN = "https://login.microsoftonline.com";
const AZURE_SCOPE = "https://management.azure.com/.default";
const GOOGLE_TOKENS = "https://oauth2.googleapis.com/token";
const GOOGLE_SCOPE = "https://www.googleapis.com/auth/ndev.clouddns.readwrite";
