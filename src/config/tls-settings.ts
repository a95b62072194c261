import { ipVersion } from "../core/ip-address.ts";
import { withoutCredentials } from "../core/secret-name.ts";
import { quote } from "./config-fault.ts";
import { isHostName } from "./origin.ts";
import { list, resolved, type Spot, written } from "./piece.ts";
import { OFF } from "./policy-settings.ts";
import { block, type Fields, isFaultyAt, type Rows, type Values } from "./row.ts";
import { fileName, flag, folderName, port, secret, text, textLike, word } from "./scalars.ts";

// Sections of `server:` about certificates: those from files, and those that the gateway obtains by itself.

const certificate = block({
  cert_file: { type: fileName(), required: "the PEM file of the certificate and its chain", example: "./other.pem" },
  key_file: { type: fileName(), required: "the PEM file of the private key", example: "./other-key.pem" },
});

const tlsRows = {
  enabled: { type: flag(), default: true },
  port: { type: port(0), default: 8443 },
  // Resolved, these two are the first of `certificates`.
  cert_file: {
    type: fileName(),
    default: "",
    field: "",
    example: "./cert.pem",
    doc: "with its chain; a replaced file is reloaded automatically",
  },
  key_file: { type: fileName(), default: "", field: "", example: "./key.pem" },
  certificates: {
    type: list(certificate, "certificates"),
    doc: "further certificates, chosen by the server name that the client sends",
  },
  min_version: { type: word("1.2", "1.3"), default: "1.2", doc: 'or "1.3"' },
  client_auth: {
    type: word("none", "request", "require"),
    default: "none",
    restart: "HTTP/3",
    guard: ["request", "require"],
    doc: "request, or require: client certificates signed by client_ca_file",
  },
  // Resolved, "" unless `client_auth` asks for it.
  client_ca_file: { type: fileName(), default: "", restart: "HTTP/3", example: "./clients.pem" },
  redirect_http: { type: flag(), default: false, guard: true, doc: "true sends cleartext requests to https://" },
  redirect_port: { type: port(0), default: 0, doc: 'the port in that address; 0 is "port"' },
} as const satisfies Rows;

/** The first certificate is that of clients without SNI; there may be none where ACME obtains it. docs/tls.md */
export const tls = block(tlsRows, { absent: OFF, finish: finishTls });

type TlsValues = Values<typeof tlsRows>;

/** Pairs every certificate with its key, and checks them while TLS is on. */
function finishTls(_: Fields<typeof tlsRows>, values: TlsValues, spot: Spot) {
  const { path, files } = spot;
  if (!values.enabled) return { certificates: [], clientCaFile: "" };
  checkBothOrNeither(values.cert_file, values.key_file, spot);
  const named = values.certificates.map((one, i) => ({ ...one, at: [...path, "certificates", i] }));
  const { cert_file, key_file } = values;
  if (cert_file !== "" && key_file !== "") named.unshift({ cert_file, key_file, at: [...path] });
  const certificates = named.map((one) =>
    files.pair([...one.at, "cert_file"], one.cert_file, [...one.at, "key_file"], one.key_file),
  );
  checkClientCa(values, spot);
  const clientCaFile =
    values.client_auth === "none" ? "" : files.bundle([...path, "client_ca_file"], values.client_ca_file);
  return { certificates, clientCaFile };
}

function checkClientCa({ client_auth, client_ca_file }: TlsValues, spot: Spot): void {
  const { log, path } = spot;
  if (client_auth !== "none" && client_ca_file === "" && !isFaultyAt(spot, "client_ca_file")) {
    log.fault(
      path,
      `client_auth: ${client_auth} needs client_ca_file, the CA that client certificates come from`,
      true,
    );
  }
  if (client_auth === "none" && client_ca_file !== "")
    log.warn([...path, "client_ca_file"], "has no effect while client_auth is none");
}

/** Notes a fault when only one of `cert_file` and `key_file` is there. */
export function checkBothOrNeither(cert: string, key: string, spot: Spot): void {
  const { log, path } = spot;
  if (cert !== "" && key === "" && !isFaultyAt(spot, "key_file"))
    log.fault([...path, "cert_file"], "needs its key_file beside it", true);
  if (key !== "" && cert === "" && !isFaultyAt(spot, "cert_file"))
    log.fault([...path, "key_file"], "needs its cert_file beside it", true);
}

const DIRECTORY = /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/;

/** For CAs that ask for an external account. */
const eab = block({
  kid: { type: text("the key id that the CA gave"), default: "", example: "abc" },
  hmac_key: {
    type: secret("the key that the CA gave, in base64url"),
    default: "",
    example: "${EAB_KEY:-c2VjcmV0}",
  },
});

const acmeRows = {
  enabled: { type: flag(), default: false },
  directory_url: {
    type: written(
      textLike(DIRECTORY, "the URL of an ACME directory, such as https://ca.example/directory"),
      withoutCredentials,
    ),
    default: "https://acme-v02.api.letsencrypt.org/directory",
  },
  email: {
    type: textLike(/^([^\s@,;:?]+@[^\s@,;:?]+)?$/, "an e-mail address such as admin@example.com"),
    default: "",
    example: "admin@example.com",
  },
  domains: {
    type: resolved(list(text("a domain name"), "domain names"), (names) => names.map((name) => name.toLowerCase())),
    example: ["example.com"],
    doc: "all on one certificate",
  },
  cache_dir: { type: folderName(), default: "certs", doc: "account, keys and certificates: keep this folder" },
  challenge_type: {
    type: word("http-01", "tls-alpn-01"),
    default: "http-01",
    doc: "the CA connects to port 80; tls-alpn-01: to port 443",
  },
  ca_file: {
    type: fileName(),
    default: "",
    example: "./private-ca.pem",
    doc: "roots to trust for a private directory",
  },
  eab: { type: eab, field: "", doc: "for CAs that require an external account" },
} as const satisfies Rows;

type AcmeValues = Values<typeof acmeRows>;

/** Off unless `enabled` is true: it talks to a certificate authority. docs/acme.md */
export const acme = block(acmeRows, {
  check: checkAcme,
  finish: (_, values, { path, files }) => ({
    // Both "" when the CA asks for none.
    eabKid: values.eab.kid,
    eabHmacKey: values.eab.hmac_key,
    // "" trusts the system's roots.
    caFile: values.enabled ? files.bundle([...path, "ca_file"], values.ca_file) : files.absolute(values.ca_file),
  }),
  list: ({ eabKid, eabHmacKey }, lines) => ({ ...lines, eab: eab.write({ kid: eabKid, hmacKey: eabHmacKey }) }),
});

function checkAcme(values: AcmeValues, spot: Spot): void {
  const { log, path } = spot;
  if (!values.enabled) {
    if (values.domains.length > 0)
      log.warn(path, "the section is present, but enabled is not true: no certificate is obtained");
    return;
  }
  if (values.domains.length === 0 && !isFaultyAt(spot, "domains"))
    log.fault(path, "needs domains, the names to obtain a certificate for, such as [example.com]", true);
  for (const [i, domain] of values.domains.entries()) {
    const at = [...path, "domains", i];
    if (domain.startsWith("*.")) {
      log.fault(at, `found ${quote(domain)}: ${values.challenge_type} cannot prove a wildcard; name every host`);
    } else if (ipVersion(domain) === 0 && (!isHostName(domain) || !domain.includes("."))) {
      log.fault(at, `expected a public domain name such as www.example.com, found ${quote(domain)}`);
    }
  }
  if ((values.eab.kid === "") !== (values.eab.hmac_key === ""))
    log.fault([...path, "eab"], "needs both kid and hmac_key", true);
  if (values.eab.hmac_key !== "" && !/^[\w-]+=*$/.test(values.eab.hmac_key))
    log.fault([...path, "eab", "hmac_key"], "expected the key in base64url (letters, digits, - and _)");
}
