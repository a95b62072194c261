import { withinMs } from "../../../../core/time-limit.ts";
import type { AcmeDnsConfig } from "../../settings.ts";
import { DNS_STEP_MS, type DnsRecords } from "../dns-responder.ts";
import { cloudflare, digitalocean, hetzner, ovh, porkbun } from "./record-providers.ts";
import { route53 } from "./route53.ts";
import { azure, desec, gandi, gcloud } from "./set-providers.ts";
import type { DnsProvider, Zone } from "./zone-client.ts";

type MakeProvider = (config: AcmeDnsConfig, endpoint: string) => DnsProvider;

/** The provider with its own endpoint. */
const PROVIDERS: Readonly<Record<string, { readonly make: MakeProvider; readonly endpoint: string }>> = {
  cloudflare: { make: cloudflare, endpoint: "https://api.cloudflare.com" },
  route53: { make: route53, endpoint: "https://route53.amazonaws.com" },
  gcloud: { make: gcloud, endpoint: "https://dns.googleapis.com" },
  azure: { make: azure, endpoint: "https://management.azure.com" },
  digitalocean: { make: digitalocean, endpoint: "https://api.digitalocean.com" },
  hetzner: { make: hetzner, endpoint: "https://api.hetzner.cloud" },
  ovh: { make: ovh, endpoint: "https://eu.api.ovh.com/1.0" },
  gandi: { make: gandi, endpoint: "https://api.gandi.net" },
  porkbun: { make: porkbun, endpoint: "https://api.porkbun.com" },
  desec: { make: desec, endpoint: "https://desec.io" },
};

/** Records by the API of a DNS provider: in the account's zone with the longest name, one change at a time. docs/acme.md#dns-providers */
export function providerRecords(config: AcmeDnsConfig): DnsRecords {
  const { make, endpoint } = PROVIDERS[config.provider]!;
  const provider = make(config, config.endpoint || endpoint);
  const handles = new Map<string, { readonly zone: Zone; readonly handle: string }>();
  /** Several values of one name are one set with most providers: the next change reads the last one's. */
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = turn.then(() =>
      withinMs(work(), DNS_STEP_MS, `${config.provider}: no end within ${DNS_STEP_MS / 1000} s`),
    );
    turn = done.catch(() => {});
    return done;
  };
  return {
    present: (name, value) =>
      inTurn(async () => {
        const zone = await zoneOf(provider, config.provider, name);
        handles.set(`${name} ${value}`, { zone, handle: await provider.add(zone, name, value) });
      }),
    cleanup: (name, value) =>
      inTurn(async () => {
        const key = `${name} ${value}`;
        const known = handles.get(key);
        const zone = known?.zone ?? (await zoneOf(provider, config.provider, name));
        await provider.remove(zone, name, value, known?.handle ?? "");
        handles.delete(key);
      }),
  };
}

/** The zone with the longest name that ends this one. @throws if the account has none */
async function zoneOf(provider: DnsProvider, label: string, name: string): Promise<Zone> {
  const labels = name.toLowerCase().split(".");
  // A zone of one label is a top-level domain.
  for (let from = 0; from < labels.length - 1; from++) {
    const zone = await provider.zone(labels.slice(from).join("."));
    if (zone !== null) return zone;
  }
  throw new Error(
    `${label}: the account has no zone for ${name}: check that the credentials in server.acme.dns belong to the account with this domain`,
  );
}
