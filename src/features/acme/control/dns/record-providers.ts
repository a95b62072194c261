import { createHash } from "node:crypto";
import type { AcmeDnsConfig } from "../../settings.ts";
import {
  type DnsProvider,
  ProviderFault,
  RECORD_TTL_S,
  recordText,
  relativeName,
  type Zone,
  type ZoneCall,
  ZoneClient,
} from "./zone-client.ts";

// Providers that have an id for each record.

/** https://developers.cloudflare.com/api/resources/dns */
export function cloudflare({ apiToken }: AcmeDnsConfig, endpoint: string): DnsProvider {
  const client = new ZoneClient("cloudflare", endpoint, () => bearer(apiToken));
  interface Listed {
    readonly result: readonly { readonly id: string; readonly content?: string }[];
  }
  const recordsOf = (zone: Zone): string => `/client/v4/zones/${zone.id}/dns_records`;
  return {
    async zone(name) {
      const { result } = await client.json<Listed>({ method: "GET", path: `/client/v4/zones?name=${name}` });
      return result[0] === undefined ? null : { id: result[0].id, name };
    },
    async add(zone, name, value) {
      const body = { type: "TXT", name, content: recordText(value), ttl: RECORD_TTL_S };
      const { result } = await client.json<{ readonly result: { readonly id: string } }>({
        method: "POST",
        path: recordsOf(zone),
        body,
      });
      return result.id;
    },
    async remove(zone, name, value, handle) {
      const path = `${recordsOf(zone)}?type=TXT&name=${name}`;
      const ids =
        handle !== ""
          ? [handle]
          : (await client.json<Listed>({ method: "GET", path })).result
              .filter(({ content }) => content === recordText(value) || content === value)
              .map(({ id }) => id);
      for (const id of ids) await client.found({ method: "DELETE", path: `${recordsOf(zone)}/${id}` });
    },
  };
}

/** https://docs.digitalocean.com/reference/api/digitalocean/#tag/Domain-Records */
export function digitalocean({ apiToken }: AcmeDnsConfig, endpoint: string): DnsProvider {
  const client = new ZoneClient("digitalocean", endpoint, () => bearer(apiToken));
  interface Listed {
    readonly domain_records: readonly { readonly id: number; readonly data: string }[];
  }
  const recordsOf = (zone: Zone): string => `/v2/domains/${zone.id}/records`;
  return {
    zone: (name) => zoneAt(client, `/v2/domains/${name}`, name),
    async add(zone, name, value) {
      const body = { type: "TXT", name: relativeName(name, zone), data: value, ttl: RECORD_TTL_S };
      const made = await client.json<{ readonly domain_record: { readonly id: number } }>({
        method: "POST",
        path: recordsOf(zone),
        body,
      });
      return String(made.domain_record.id);
    },
    async remove(zone, name, value, handle) {
      const path = `${recordsOf(zone)}?type=TXT&name=${name}`;
      const ids =
        handle !== ""
          ? [handle]
          : (await client.json<Listed>({ method: "GET", path })).domain_records
              .filter(({ data }) => data === value)
              .map(({ id }) => String(id));
      for (const id of ids) await client.found({ method: "DELETE", path: `${recordsOf(zone)}/${id}` });
    },
  };
}

/** https://porkbun.com/api/json/v3/documentation */
export function porkbun({ apiKey, secretApiKey }: AcmeDnsConfig, endpoint: string): DnsProvider {
  const client = new ZoneClient("porkbun", endpoint, () => ({}));
  interface Answer {
    readonly status: string;
    readonly message?: string;
    readonly id?: string | number;
    readonly records?: readonly { readonly id: string; readonly content: string }[];
  }
  const ask = async (path: string, fields: object = {}): Promise<Answer> => {
    const call: ZoneCall = {
      method: "POST",
      path: `/api/json/v3/dns/${path}`,
      body: { apikey: apiKey, secretapikey: secretApiKey, ...fields },
    };
    const response = await client.json<Answer>(call);
    if (response.status !== "SUCCESS") throw new ProviderFault(`porkbun: ${response.message ?? response.status}`, 400);
    return response;
  };
  return {
    async zone(name) {
      try {
        await ask(`retrieve/${name}`);
        return { id: name, name };
      } catch (error) {
        // A domain of others, or none at all, is a bad request.
        if (error instanceof ProviderFault && (error.status === 400 || error.status === 404)) return null;
        throw error;
      }
    },
    async add(zone, name, value) {
      const record = { name: relativeName(name, zone), type: "TXT", content: value, ttl: "600" };
      return String((await ask(`create/${zone.id}`, record)).id ?? "");
    },
    async remove(zone, name, value, handle) {
      const ids =
        handle !== ""
          ? [handle]
          : ((await ask(`retrieveByNameType/${zone.id}/TXT/${relativeName(name, zone)}`)).records ?? [])
              .filter(({ content }) => content === value)
              .map(({ id }) => id);
      for (const id of ids) await ask(`delete/${zone.id}/${id}`);
    },
  };
}

/** https://api.ovh.com/console/?section=%2Fdomain */
export function ovh(config: AcmeDnsConfig, endpoint: string): DnsProvider {
  const { applicationKey, applicationSecret, consumerKey } = config;
  const clock = new ZoneClient("ovh", endpoint, () => ({}));
  let skewS: number | null = null;
  const client = new ZoneClient("ovh", endpoint, async ({ method }, url, body) => {
    // The signature holds the time of the provider's clock.
    skewS ??= (await clock.json<number>({ method: "GET", path: "/auth/time" })) - Math.floor(Date.now() / 1000);
    const time = String(Math.floor(Date.now() / 1000) + skewS);
    const signed = [applicationSecret, consumerKey, method, url, body, time].join("+");
    return {
      "X-Ovh-Application": applicationKey,
      "X-Ovh-Consumer": consumerKey,
      "X-Ovh-Timestamp": time,
      "X-Ovh-Signature": `$1$${createHash("sha1").update(signed).digest("hex")}`,
    };
  });
  const refresh = (zone: Zone) => client.json({ method: "POST", path: `/domain/zone/${zone.id}/refresh` });
  const recordsOf = (zone: Zone): string => `/domain/zone/${zone.id}/record`;
  const idsOf = async (zone: Zone, name: string, value: string): Promise<string[]> => {
    const path = `${recordsOf(zone)}?fieldType=TXT&subDomain=${relativeName(name, zone).replace(/^@$/, "")}`;
    const found: string[] = [];
    for (const id of await client.json<readonly number[]>({ method: "GET", path })) {
      const at = `${recordsOf(zone)}/${id}`;
      const record = await client.found<{ readonly target: string }>({ method: "GET", path: at });
      if (record?.target === recordText(value) || record?.target === value) found.push(String(id));
    }
    return found;
  };
  return {
    zone: (name) => zoneAt(client, `/domain/zone/${name}`, name),
    async add(zone, name, value) {
      const subDomain = relativeName(name, zone).replace(/^@$/, "");
      const body = { fieldType: "TXT", subDomain, target: recordText(value), ttl: RECORD_TTL_S };
      const { id } = await client.json<{ readonly id: number }>({ method: "POST", path: recordsOf(zone), body });
      await refresh(zone);
      return String(id);
    },
    async remove(zone, name, value, handle) {
      for (const id of handle !== "" ? [handle] : await idsOf(zone, name, value))
        await client.found({ method: "DELETE", path: `${recordsOf(zone)}/${id}` });
      await refresh(zone);
    },
  };
}

/** https://docs.hetzner.cloud/reference/cloud#zone-rrset-actions */
export function hetzner({ apiToken }: AcmeDnsConfig, endpoint: string): DnsProvider {
  const client = new ZoneClient("hetzner", endpoint, () => bearer(apiToken));
  const act = (zone: Zone, name: string, action: string, body: object) =>
    client.json({
      method: "POST",
      path: `/v1/zones/${zone.id}/rrsets/${relativeName(name, zone)}/TXT/actions/${action}`,
      body,
    });
  return {
    zone: (name) => zoneAt(client, `/v1/zones/${name}`, name),
    async add(zone, name, value) {
      await act(zone, name, "add_records", { ttl: RECORD_TTL_S, records: [{ value: recordText(value) }] });
      return "";
    },
    async remove(zone, name, value) {
      await act(zone, name, "remove_records", { records: [{ value: recordText(value) }] });
    },
  };
}

/** A zone that a provider knows by its name. */
export async function zoneAt(client: ZoneClient, path: string, name: string): Promise<Zone | null> {
  return (await client.found({ method: "GET", path })) === null ? null : { id: name, name };
}

/** The field of a bearer token. */
export function bearer(token: string): { readonly Authorization: string } {
  return { Authorization: `Bearer ${token}` };
}
