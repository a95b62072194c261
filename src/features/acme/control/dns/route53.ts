import { AwsV4Signer } from "aws4fetch";
import type { AcmeDnsConfig } from "../../settings.ts";
import { onSets } from "./set-providers.ts";
import { type DnsProvider, RECORD_TTL_S, ZoneClient } from "./zone-client.ts";

/** https://docs.aws.amazon.com/Route53/latest/APIReference: XML, signed by Signature Version 4. */
export function route53(config: AcmeDnsConfig, endpoint: string): DnsProvider {
  const { accessKeyId, secretAccessKey, sessionToken } = config;
  const client = new ZoneClient("route53", endpoint, async ({ method }, url, body) => {
    const signer = new AwsV4Signer({
      url,
      method,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === "" ? {} : { sessionToken }),
      service: "route53",
      region: REGION,
      ...(body === "" ? {} : { body }),
    });
    const { headers } = await signer.sign();
    headers.delete("host");
    return Object.fromEntries(headers);
  });
  const settled = async (response: string): Promise<void> => {
    const id = inElement(response, "Id").replace("/change/", "");
    for (let look = 0; look < MAX_LOOKS && id !== ""; look++) {
      const change = await client.text({ method: "GET", path: `${VERSION}/change/${id}` });
      if (inElement(change, "Status") === "INSYNC") return;
      await Bun.sleep(LOOK_EVERY_MS);
    }
  };
  return onSets({
    async zone(name) {
      const path = `${VERSION}/hostedzonesbyname?dnsname=${name}&maxitems=${MAX_ZONES}`;
      for (const zone of elements(await client.text({ method: "GET", path }), "HostedZone")) {
        const isPrivate = inElement(zone, "PrivateZone") === "true";
        if (inElement(zone, "Name") === `${name}.` && !isPrivate)
          return { id: inElement(zone, "Id").replace("/hostedzone/", ""), name };
      }
      return null;
    },
    async read(zone, name) {
      const path = `${VERSION}/hostedzone/${zone.id}/rrset?maxitems=1&name=${name}.&type=TXT`;
      const [set = ""] = elements(await client.text({ method: "GET", path }), "ResourceRecordSet");
      // The list goes on with the next name after it.
      if (inElement(set, "Name") !== `${name}.` || inElement(set, "Type") !== "TXT") return [];
      return elements(set, "Value").map(unescaped);
    },
    async write(zone, name, values, before) {
      const isLast = values.length === 0;
      const set = recordSet(name, isLast ? before : values);
      const body = `<?xml version="1.0" encoding="UTF-8"?>
<ChangeResourceRecordSetsRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeBatch><Changes><Change><Action>${isLast ? "DELETE" : "UPSERT"}</Action>${set}</Change></Changes></ChangeBatch></ChangeResourceRecordSetsRequest>`;
      const path = `${VERSION}/hostedzone/${zone.id}/rrset`;
      const response = await client.text({ method: "POST", path, body });
      if (!isLast) await settled(response);
    },
  });
}

function recordSet(name: string, values: readonly string[]): string {
  const records = values.map((value) => `<ResourceRecord><Value>${escaped(value)}</Value></ResourceRecord>`).join("");
  return `<ResourceRecordSet><Name>${escaped(name)}.</Name><Type>TXT</Type><TTL>${RECORD_TTL_S}</TTL><ResourceRecords>${records}</ResourceRecords></ResourceRecordSet>`;
}

/** The contents of all elements of a name, which none of the same name is in. */
function elements(xml: string, name: string): string[] {
  const found: string[] = [];
  const [open, close] = [`<${name}>`, `</${name}>`];
  for (let at = xml.indexOf(open); at >= 0; at = xml.indexOf(open, at)) {
    const from = at + open.length;
    const to = xml.indexOf(close, from);
    if (to < 0) break;
    found.push(xml.slice(from, to));
    at = to;
  }
  return found;
}

function inElement(xml: string, name: string): string {
  return elements(xml, name)[0] ?? "";
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function unescaped(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&#34;", '"').replaceAll("&amp;", "&");
}

const VERSION = "/2013-04-01";
/** The service is one for all regions. */
const REGION = "us-east-1";
const MAX_ZONES = 20;
const MAX_LOOKS = 10;
const LOOK_EVERY_MS = 2000;
