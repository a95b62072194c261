/** Keys of `server.acme.dns` that a provider needs, and optional keys. */
interface ProviderKeys {
  readonly needs: readonly string[];
  readonly takes?: readonly string[];
}

const TOKEN: ProviderKeys = { needs: ["api_token"] };

/** The DNS providers with the keys of each. docs/acme.md#dns-providers */
export const DNS_PROVIDERS: Readonly<Record<DnsProviderName, ProviderKeys>> = {
  cloudflare: TOKEN,
  route53: { needs: ["access_key_id", "secret_access_key"], takes: ["session_token"] },
  gcloud: { needs: ["service_account_file"], takes: ["project"] },
  azure: {
    needs: ["tenant_id", "client_id", "client_secret", "subscription_id", "resource_group"],
    takes: ["login_url"],
  },
  digitalocean: TOKEN,
  hetzner: TOKEN,
  ovh: { needs: ["application_key", "application_secret", "consumer_key"] },
  gandi: TOKEN,
  porkbun: { needs: ["api_key", "secret_api_key"] },
  desec: TOKEN,
};

/** The words of `server.acme.dns.provider`. */
export const DNS_PROVIDER_NAMES = [
  "cloudflare",
  "route53",
  "gcloud",
  "azure",
  "digitalocean",
  "hetzner",
  "ovh",
  "gandi",
  "porkbun",
  "desec",
] as const;

type DnsProviderName = (typeof DNS_PROVIDER_NAMES)[number];
