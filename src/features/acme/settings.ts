import { type KeyPath, quote } from "../../config/config-fault.ts";
import { asciiName } from "../../config/host-kinds.ts";
import { isHostName } from "../../config/origin.ts";
import { list, resolved, type Spot, written } from "../../config/piece.ts";
import { block, type ConfigOf, type Fields, isFaultyAt, orWritten, type Rows, type Values } from "../../config/row.ts";
import {
  duration,
  fileName,
  flag,
  folderName,
  RATE,
  secret,
  text,
  textLike,
  word,
  wordOrEmpty,
} from "../../config/scalars.ts";
import { ipVersion, isThisMachine } from "../../core/ip-address.ts";
import { withoutCredentials } from "../../core/secret-name.ts";
import { DNS_PROVIDER_NAMES, DNS_PROVIDERS } from "./dns-providers.ts";
import { MAX_ACME_NAMES } from "./limits.ts";
import { checkStorageKeys, storageRows } from "./storage-settings.ts";

/** Certificates that are obtained, beside those of hosts. */
export const MAX_ACME_CERTIFICATES = 1000;

/** How a name is proven. */
export type ChallengeType = "http-01" | "tls-alpn-01" | "dns-01";

/** The key of a certificate. */
export type KeyType = "p256" | "p384" | "rsa2048" | "rsa4096";

/** One certificate that is to be obtained. */
export interface AcmeOrder {
  /** DNS names in their ASCII form, and addresses; all on the certificate. */
  readonly names: readonly string[];
  readonly challengeType: ChallengeType;
  /** In the order of attempts: a later one if the earlier ones are down. */
  readonly directoryUrls: readonly string[];
  /** As the directory calls it; "" leaves it to the directory. */
  readonly profile: string;
  readonly keyType: KeyType;
}

const DIRECTORY = /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/;
const AUTO = "auto";
/** In clear text on this machine alone. */
const API_URL = /^(https:\/\/[^\s?#@]+|http:\/\/(127\.0\.0\.1|localhost|\[::1\])([:/][^\s?#@]*)?)?$/;

const directory = written(
  textLike(DIRECTORY, "the URL of an ACME directory, such as https://ca.example/directory"),
  withoutCredentials,
);
const domainNames = resolved(list(text("a domain name"), "domain names"), (names) => names.map(asciiName));
const challengeType = word("http-01", "tls-alpn-01", "dns-01");
const keyType = word("p256", "p384", "rsa2048", "rsa4096");
const profile = textLike(/^[A-Za-z0-9._-]{0,64}$/, "the name of a profile, such as shortlived");

/** For CAs that ask for an external account. */
const eab = block({
  kid: {
    type: text("the key id that the CA gave"),
    default: "",
    example: "abc",
    doc: "the key id of the account at the CA",
  },
  hmac_key: {
    type: secret("the key that the CA gave, in base64url"),
    default: "",
    example: "${EAB_KEY:-c2VjcmV0}",
    doc: "the key of the account at the CA, in base64url",
  },
});

const certificate = block({
  domains: { type: domainNames, required: "the names on the certificate", example: ["shop.example.com"] },
  challenge_type: { type: challengeType, absent: "", example: "tls-alpn-01", doc: "as of the section by default" },
  directory_url: {
    type: directory,
    absent: "",
    example: "https://ca.example/directory",
    doc: "as of the section by default",
  },
  profile: { type: profile, absent: "", example: "shortlived", doc: "as of the section by default" },
  key_type: { type: keyType, absent: "", example: "rsa2048", doc: "as of the section by default" },
});

const rfc2136 = block({
  server: {
    type: textLike(/^[^\s/]+$/, "the address of a name server, such as 192.0.2.53 or ns1.example.com:53"),
    required: "the address of the name server that takes updates",
    example: "192.0.2.53",
  },
  key: {
    type: secret("algorithm:name:secret"),
    default: "",
    example: "hmac-sha256:edge:${TSIG_KEY:-c2VjcmV0}",
    doc: "your TSIG key, as for nsupdate -y; hmac-sha256 by default",
  },
});

/** Credentials of DNS providers, and where their APIs are. */
const providerRows = {
  api_token: {
    type: secret("a token"),
    default: "",
    example: "${file:/run/secrets/dns-token}",
    doc: "your API token at cloudflare, digitalocean, hetzner, gandi or desec",
  },
  access_key_id: {
    type: text("a key id"),
    default: "",
    example: "AKIAIOSFODNN7EXAMPLE",
    doc: "route53: the id of your access key",
  },
  secret_access_key: {
    type: secret("a key"),
    default: "",
    example: "${AWS_SECRET_ACCESS_KEY:-c2VjcmV0}",
    doc: "route53: your secret access key",
  },
  session_token: {
    type: secret("a token"),
    default: "",
    example: "${AWS_SESSION_TOKEN:-}",
    doc: "route53: the token of temporary credentials",
  },
  service_account_file: {
    type: fileName(),
    default: "",
    example: "./service-account.json",
    doc: "gcloud: the key file of a service account with the role DNS Administrator",
  },
  project: {
    type: text("a project id"),
    default: "",
    example: "my-project",
    doc: "gcloud: your project; the account's by default",
  },
  tenant_id: { type: text("an id"), default: "", doc: "azure: the id of your tenant" },
  client_id: { type: text("an id"), default: "", doc: "azure: the id of your application" },
  client_secret: {
    type: secret("a secret"),
    default: "",
    example: "${AZURE_CLIENT_SECRET:-c2VjcmV0}",
    doc: "azure: the secret of your application",
  },
  subscription_id: { type: text("an id"), default: "", doc: "azure: the subscription of your zone" },
  resource_group: { type: text("a name"), default: "", example: "dns", doc: "azure: the resource group of your zone" },
  login_url: {
    type: textLike(API_URL, "an https URL"),
    default: "",
    example: "https://login.microsoftonline.us",
    doc: "azure: the login URL of a national cloud",
  },
  application_key: { type: text("a key"), default: "", doc: "application key of OVH" },
  application_secret: {
    type: secret("a secret"),
    default: "",
    example: "${OVH_SECRET:-c2VjcmV0}",
    doc: "application secret of OVH",
  },
  consumer_key: {
    type: secret("a key"),
    default: "",
    example: "${OVH_CONSUMER_KEY:-c2VjcmV0}",
    doc: "consumer key of OVH",
  },
  api_key: { type: secret("a key"), default: "", example: "${PORKBUN_API_KEY:-pk1}", doc: "porkbun: your API key" },
  secret_api_key: {
    type: secret("a key"),
    default: "",
    example: "${PORKBUN_SECRET:-sk1}",
    doc: "porkbun: your secret API key",
  },
} as const satisfies Rows;

const dns = block(
  {
    provider: {
      type: wordOrEmpty(...DNS_PROVIDER_NAMES),
      default: "",
      example: "cloudflare",
      doc: "your DNS provider; its credentials follow below",
    },
    ...providerRows,
    endpoint: {
      type: textLike(API_URL, "an https URL"),
      default: "",
      example: "https://ca.api.ovh.com/1.0",
      doc: "another URL of the provider's API",
    },
    exec: {
      type: fileName(),
      default: "",
      example: "./dns.sh",
      doc: "your program, which edge runs as FILE present NAME VALUE and FILE cleanup NAME VALUE",
    },
    module: {
      type: fileName(),
      default: "",
      example: "./dns.ts",
      doc: "your module, which exports present({name, value}) and cleanup({name, value})",
    },
    rfc2136: { type: rfc2136, absent: null, doc: "dynamic updates of your name server (BIND, Knot, PowerDNS)" },
    resolvers: {
      type: list(textLike(/^[^\s/]+$/, "the address of a resolver, such as 192.0.2.53"), "addresses"),
      example: ["192.0.2.53"],
      doc: "resolvers that check that the record is visible; the system's by default",
    },
    timeout: {
      type: duration(0),
      default: "2m",
      doc: "how long the record may take to become visible; 0s skips the check",
    },
  },
  {
    check(values, { path, log }) {
      const { provider, exec, module, rfc2136: updates } = values;
      const ways = [provider !== "", exec !== "", module !== "", updates !== null].filter(Boolean).length;
      if (ways !== 1)
        log.fault(path, "needs one of provider, exec, module and rfc2136, which puts the record into the zone", true);
      checkProvider(values, { path, log });
      if (updates !== null && updates.key !== "" && !TSIG.test(updates.key))
        log.fault([...path, "rfc2136", "key"], "expected algorithm:name:secret, with the secret in base64", true);
    },
    finish: ({ exec, module, serviceAccountFile }, _, { path, files }) => ({
      exec: files.file([...path, "exec"], exec),
      module: files.file([...path, "module"], module),
      serviceAccountFile: files.file([...path, "service_account_file"], serviceAccountFile),
    }),
  },
);

/** A provider has all keys that it needs, and none of another. */
function checkProvider(
  values: Values<typeof providerRows> & { readonly provider: string },
  { path, log }: Pick<Spot, "path" | "log">,
) {
  const { provider } = values;
  const { needs, takes = [] } = provider === "" ? { needs: [] } : DNS_PROVIDERS[provider as keyof typeof DNS_PROVIDERS];
  for (const key of needs)
    if (values[key as keyof typeof providerRows] === "") log.fault(path, `provider: ${provider} needs ${key}`, true);
  for (const key of Object.keys(providerRows) as (keyof typeof providerRows)[]) {
    if (values[key] === "" || needs.includes(key) || takes.includes(key)) continue;
    const owners = DNS_PROVIDER_NAMES.filter((name) => {
      const keys = DNS_PROVIDERS[name];
      return keys.needs.includes(key) || keys.takes?.includes(key) === true;
    });
    log.fault([...path, key], `is for provider: ${owners.join(", ")}`, true);
  }
}

const WINDOWS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

/** Certificates for names that clients ask for and a service approves. */
const onDemand = block(
  {
    ask: {
      type: textLike(/^https?:\/\/[^\s/?#@]+(\/[^\s#]*)?$/, "a URL such as https://app.example/allowed"),
      required: "the URL of your service that approves names",
      example: "http://127.0.0.1:3000/allowed",
      doc: "your URL: edge sends GET with ?domain=NAME; 200 approves, every other status refuses",
    },
    rate: { type: textLike(RATE, "a rate such as 60r/h"), default: "60r/h", doc: "most new certificates in a time" },
    recheck: {
      type: duration(1000),
      default: "24h",
      doc: "how often edge asks again about a name with a certificate; a refused name loses it",
    },
  },
  {
    check({ ask }, { path, log }) {
      const { hostname, protocol } = URL.canParse(ask) ? new URL(ask) : { hostname: "localhost", protocol: "http:" };
      if (protocol === "http:" && !isThisMachine(hostname))
        log.fault([...path, "ask"], "goes in clear text over the network: use https, or http on this machine");
    },
    finish: ({ rate }) => {
      const [, count, unit] = RATE.exec(rate)!;
      return { rateCount: Number(count), rateWindowMs: WINDOWS_MS[unit!]! };
    },
  },
);

/** Resolved. */
export type OnDemandConfig = ConfigOf<typeof onDemand>;

/** `hmac-sha512:edge-key:base64`. */
const TSIG = /^(hmac-sha(256|384|512):)?[A-Za-z0-9._-]{1,255}:[A-Za-z0-9+/]{8,}={0,2}$/;

const acmeRows = {
  enabled: { type: flag(), default: false, doc: "true: edge obtains and renews certificates" },
  directory_url: {
    type: directory,
    default: "https://acme-v02.api.letsencrypt.org/directory",
    doc: "the directory of your CA, https://",
  },
  fallback_directory_urls: {
    type: list(directory, "URLs"),
    example: ["https://ca.example/directory"],
    doc: "CAs that edge tries in this order if earlier ones are down or decline",
  },
  email: {
    type: textLike(/^([^\s@,;:?]+@[^\s@,;:?]+)?$/, "an e-mail address such as admin@example.com"),
    default: "",
    example: "admin@example.com",
    doc: "your address, for letters of the CA about the account",
  },
  domains: {
    type: orWritten(
      domainNames,
      { is: "either", forms: [domainNames.form, { is: "text", pattern: /^auto$/ }] },
      (value) => (value === AUTO ? [AUTO] : value),
    ),
    default: [],
    example: ["example.com"],
    doc: "names of one certificate; auto: a certificate for each host of routes.yaml",
  },
  certificates: { type: list(certificate, "certificates"), doc: "further certificates, each with names of its own" },
  on_demand: {
    type: onDemand,
    absent: null,
    doc: "certificates for names that you do not list, when a client first asks for one",
  },
  cache_dir: {
    type: folderName(),
    default: "certs",
    doc: "the folder of account, keys and certificates; keep it in your backups",
  },
  ...storageRows,
  challenge_type: {
    type: challengeType,
    default: "http-01",
    doc: "http-01: the CA connects to your port 80; tls-alpn-01: to 443; dns-01: reads a DNS record, for wildcards too",
  },
  dns: { type: dns, absent: null, doc: "how edge writes the record of dns-01 into your zone" },
  profile: {
    type: profile,
    default: "",
    example: "shortlived",
    doc: "a profile of the CA, by its name in the directory",
  },
  key_type: { type: keyType, default: "p256", doc: "type of the certificates' keys: p256, p384, rsa2048 or rsa4096" },
  ca_file: {
    type: fileName(),
    default: "",
    example: "./private-ca.pem",
    doc: "roots that edge trusts for your private CA",
  },
  eab: { type: eab, field: "", doc: "your account at a CA that requires external account binding" },
} as const satisfies Rows;

type AcmeValues = Values<typeof acmeRows>;

/** Off unless `enabled` is true: it talks to a certificate authority. docs/acme.md */
export const acme = block(acmeRows, {
  check: checkAcme,
  finish: (fields, values, { path, files }) => ({
    // Both "" when the CA asks for none.
    eabKid: values.eab.kid,
    eabHmacKey: values.eab.hmac_key,
    // "" trusts the system's roots.
    caFile: values.enabled ? files.bundle([...path, "ca_file"], values.ca_file) : files.absolute(values.ca_file),
    // One order for each host of the routes.
    isAuto: isAuto(values.domains),
    orders: ordersOf(fields),
  }),
  list: ({ eabKid, eabHmacKey, isAuto: auto }, lines) => ({
    ...lines,
    ...(auto ? { domains: AUTO } : {}),
    eab: eab.write({ kid: eabKid, hmacKey: eabHmacKey }),
  }),
});

/** Resolved: how records of dns-01 come into the zone. */
export type AcmeDnsConfig = ConfigOf<typeof dns>;

/** The orders of the section: that of `domains` first. */
function ordersOf({ domains, certificates, challengeType, profile, keyType, ...from }: AcmeFields): AcmeOrder[] {
  const directoryUrls = [from.directoryUrl, ...from.fallbackDirectoryUrls];
  const common = { challengeType, directoryUrls, profile, keyType };
  const own = isAuto(domains) || domains.length === 0 ? [] : [{ names: domains, ...common }];
  const further = certificates.map((one) => ({
    names: one.domains,
    challengeType: one.challengeType || challengeType,
    directoryUrls: one.directoryUrl === "" ? directoryUrls : [one.directoryUrl],
    profile: one.profile || profile,
    keyType: one.keyType || keyType,
  }));
  return [...own, ...further];
}

type AcmeFields = Fields<typeof acmeRows>;

function isAuto(domains: readonly string[]): boolean {
  return domains.length === 1 && domains[0] === AUTO;
}

function checkAcme(values: AcmeValues, spot: Spot): void {
  const { log, path } = spot;
  const { enabled, domains, certificates } = values;
  if (!enabled) {
    if (domains.length > 0)
      log.warn(path, "the section is present, but enabled is not true: no certificate is obtained");
    return;
  }
  if (
    values.on_demand === null &&
    domains.length === 0 &&
    certificates.length === 0 &&
    !isFaultyAt(spot, "domains") &&
    !isFaultyAt(spot, "certificates")
  )
    log.fault(path, "needs domains, the names to obtain a certificate for, such as [example.com]", true);
  if (certificates.length > MAX_ACME_CERTIFICATES)
    log.fault(
      [...path, "certificates"],
      `has ${certificates.length} entries: at most ${MAX_ACME_CERTIFICATES} are taken`,
    );
  checkNames(domains, { ...spot, path: [...path, "domains"] }, values.challenge_type, values.dns !== null);
  for (const [i, one] of certificates.entries()) {
    const at = [...path, "certificates", i, "domains"];
    if (one.domains.length === 0) log.fault(at, "needs at least one name");
    checkNames(one.domains, { ...spot, path: at }, one.challenge_type || values.challenge_type, values.dns !== null);
  }
  checkTwice(
    [[["domains"], domains], ...certificates.map((one, i) => [["certificates", i, "domains"], one.domains] as const)],
    spot,
  );
  checkEab(values, spot);
  checkStorageKeys(values, spot);
}

/** The names of one certificate. */
function checkNames(names: readonly string[], { path, log }: Spot, challenge: ChallengeType, hasDns: boolean): void {
  if (challenge === "dns-01" && !hasDns && names.length > 0)
    log.fault(
      path,
      "dns-01 needs server.acme.dns, which puts a record into the zone, such as dns: {exec: ./dns.sh}",
      true,
    );
  if (names.length > MAX_ACME_NAMES)
    log.fault(path, `has ${names.length} names: at most ${MAX_ACME_NAMES} are on one certificate; use certificates`);
  if (isAuto(names)) return;
  for (const [i, name] of names.entries()) {
    const at = [...path, i];
    const bare = asciiName(name).replace(/^\*\./, "");
    if (name === AUTO) log.fault(at, "auto is written alone: domains: auto");
    else if (name.startsWith("*.") && challenge !== "dns-01") {
      log.fault(at, `found ${quote(name)}: ${challenge} cannot prove a wildcard; name every host, or use dns-01`);
    } else if (ipVersion(bare) !== 0) {
      if (challenge === "dns-01") log.fault(at, `found ${quote(name)}: dns-01 proves names alone; use http-01`);
    } else if (!isHostName(bare) || !bare.includes(".")) {
      log.fault(at, `expected a public domain name such as www.example.com, found ${quote(name)}`);
    }
  }
}

function checkTwice(lists: readonly (readonly [KeyPath, readonly string[]])[], { path, log }: Spot): void {
  const seen = new Set<string>();
  for (const [at, names] of lists) {
    for (const [i, name] of names.map(asciiName).entries()) {
      if (seen.has(name)) log.warn([...path, ...at, i], `${name} is named before: one certificate for it is enough`);
      seen.add(name);
    }
  }
}

function checkEab({ eab: { kid, hmac_key } }: AcmeValues, { path, log }: Spot): void {
  if ((kid === "") !== (hmac_key === "")) log.fault([...path, "eab"], "needs both kid and hmac_key", true);
  if (hmac_key !== "" && !/^[\w-]+=*$/.test(hmac_key))
    log.fault([...path, "eab", "hmac_key"], "expected the key in base64url (letters, digits, - and _)");
}

export type AcmeConfig = ConfigOf<typeof acme>;
