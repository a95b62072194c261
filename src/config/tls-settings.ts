import { KEY_GROUPS } from "../proto/tls/key-group.ts";
import type { Form } from "./form.ts";
import { hostPattern } from "./host-kinds.ts";
import { list, type Spot } from "./piece.ts";
import { below, block, type Fields, isFaultyAt, OFF, orWritten, type Rows, type Values } from "./row.ts";
import { fileName, flag, port, word } from "./scalars.ts";

const certificate = block({
  cert_file: { type: fileName(), required: "the PEM file of the certificate and its chain", example: "./other.pem" },
  key_file: { type: fileName(), required: "the PEM file of the private key", example: "./other-key.pem" },
});

/** Of TLS 1.2: those of TLS 1.3 cannot be chosen, and are all good. */
const cipher = word(
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
);
const curve = word(...KEY_GROUPS);

const fileRows = {
  cert_file: {
    type: fileName(),
    default: "",
    field: "",
    example: "./cert.pem",
    doc: "the PEM file of your certificate with its chain; edge reloads it if you replace it",
  },
  key_file: { type: fileName(), default: "", field: "", example: "./key.pem", doc: "the PEM file of the private key" },
} as const satisfies Rows;

/** Of `tls` at a route. */
export const INTERNAL_DOC =
  "internal: the local authority signs for the hosts of this route; edge trust installs its root";

const internalRows = {
  internal: {
    type: flag(),
    default: false,
    field: "isInternal",
    doc: "true: a local authority signs for names without another certificate; edge trust installs its root",
  },
} as const satisfies Rows;

const suiteRows = {
  ciphers: {
    type: list(cipher, "suites"),
    example: ["ECDHE-RSA-AES256-GCM-SHA384"],
    doc: "ciphers of TLS 1.2, your preferred one first; you cannot choose those of TLS 1.3",
  },
  curves: { type: list(curve, "curves"), example: ["X25519", "P-256"], doc: "key exchanges, your preferred one first" },
} as const satisfies Rows;

/** Absent, the value of the section around is taken; an empty list takes it away. */
const ownSuiteRows = {
  ciphers: { ...suiteRows.ciphers, absent: null },
  curves: { ...suiteRows.curves, absent: null },
} as const satisfies Rows;

const CLIENT_AUTH_DOC =
  "require: clients need a certificate of client_ca_file; request: they may show one; any: as request, and edge ignores others";

function clientAuthWord() {
  return word("none", "any", "request", "require");
}

/** A key that is left out has the value of the section around it. */
const ownRows = {
  ...fileRows,
  min_version: {
    type: word("1.2", "1.3"),
    absent: null,
    example: "1.3",
    doc: 'the oldest version of TLS that clients may use: "1.2" or "1.3"',
  },
  client_auth: {
    type: clientAuthWord(),
    absent: null,
    example: "require",
    doc: CLIENT_AUTH_DOC,
  },
  client_ca_file: {
    type: fileName(),
    default: "",
    example: "./clients.pem",
    doc: "the PEM file of the CAs whose client certificates you accept",
  },
  crl_file: {
    type: fileName(),
    default: "",
    example: "./revoked.pem",
    doc: "PEM lists of revoked client certificates, one for each CA",
  },
  ...ownSuiteRows,
} as const satisfies Rows;

const host = block(
  {
    names: {
      type: list(hostPattern(), "names", true),
      example: ["shop.example.com", "*.shop.example.com"],
      doc: "server names whose handshakes get these keys",
    },
    ...ownRows,
    alpn: {
      type: list(word("h2", "http/1.1"), "protocols"),
      example: ["http/1.1"],
      doc: "protocols that edge offers over TCP, your preferred one first",
    },
    own_connections: {
      type: flag(),
      default: false,
      field: "isApart",
      doc: "true: requests for these names need a connection for them, and such a connection takes no others",
    },
  },
  {
    check({ names }, spot) {
      if (names.length === 0 && !isFaultyAt(spot, "names"))
        spot.log.fault(spot.path, "needs names, the server names that it is for", true);
    },
    list: (config, lines) => ({ ...lines, ...pairOf((config as unknown as TlsHost).certificate ?? null) }),
  },
);

const tlsRows = {
  enabled: { type: flag(), default: true, doc: "false: edge does not listen with TLS" },
  port: { type: port(0), default: 8443, doc: "the port for TLS" },
  // Resolved, these two are the first of `certificates`.
  ...fileRows,
  ...internalRows,
  certificates: {
    type: list(certificate, "certificates"),
    doc: "further certificates, chosen by the server name that the client sends",
  },
  min_version: {
    type: word("1.2", "1.3"),
    default: "1.2",
    doc: 'the oldest version of TLS that clients may use: "1.2" or "1.3"',
  },
  client_auth: {
    type: clientAuthWord(),
    default: "none",
    restart: "HTTP/3",
    guard: ["request", "require"],
    doc: CLIENT_AUTH_DOC,
  },
  // Resolved, "" unless `client_auth` asks for it.
  client_ca_file: {
    type: fileName(),
    default: "",
    restart: "HTTP/3",
    example: "./clients.pem",
    doc: "the PEM file of the CAs whose client certificates you accept",
  },
  // Resolved, likewise.
  crl_file: {
    type: fileName(),
    default: "",
    guard: true,
    example: "./revoked.pem",
    doc: "PEM lists of revoked client certificates, one for each CA",
  },
  ...suiteRows,
  hosts: { type: list(host, "hosts"), doc: "other certificates and rules for the server names that you list" },
  redirect_http: { type: flag(), default: false, guard: true, doc: "true redirects cleartext requests to https://" },
  redirect_port: { type: port(0), default: 0, doc: 'the port that redirects name; 0 is "port"' },
} as const satisfies Rows;

const ACME_CURE = "server.acme obtains certificates: docs/lets-encrypt.md shows all of it";
/** Words of other programs in place of the section. */
const MEANT = { auto: ACME_CURE, acme: ACME_CURE, letsencrypt: ACME_CURE };

/** The first certificate is that of clients without SNI; there may be none where ACME obtains it. docs/tls.md */
export const tls = orInternal(block(tlsRows, { absent: OFF, meant: MEANT, finish: finishTls }), OFF);

/** `tls` of a listener: a key that is left out has the value of `server.tls`. docs/listeners.md#tls-of-a-listener */
export const listenerTls = orInternal(listenerBlock(), OFF);

function listenerBlock() {
  return block(
    {
      enabled: { type: flag(), default: true, doc: "false: this listener speaks clear text" },
      ...fileRows,
      ...internalRows,
      certificates: tlsRows.certificates,
      min_version: ownRows.min_version,
      client_auth: ownRows.client_auth,
      client_ca_file: ownRows.client_ca_file,
      crl_file: ownRows.crl_file,
      ...ownSuiteRows,
      hosts: { ...tlsRows.hosts, absent: null },
    },
    { absent: OFF, meant: MEANT, isSwitch: true },
  );
}

/** `tls: internal` is short for `internal: true`. */
export function orInternal<B extends { readonly form: Form }>(section: B, whenAbsent: object): B {
  const word = { is: "word", words: ["internal"] } as const;
  return orWritten(section, word, (value) => (value === "internal" ? { internal: true } : value), whenAbsent);
}

/** `tls` of a route that has no targets: `internal`. docs/tls.md#a-local-authority */
export const internalTls = {
  type: word("internal"),
  absent: null,
  field: "ownTls",
  example: "internal",
  doc: INTERNAL_DOC,
} as const;

type TlsValues = Values<typeof tlsRows>;
type HostValues = (typeof host)["rows"] extends infer R extends Rows ? Values<R> : never;
type OwnValues = Pick<HostValues, "min_version" | "client_auth" | "client_ca_file" | "crl_file" | "ciphers" | "curves">;
type ListenerTlsValues = (typeof listenerTls)["rows"] extends infer R extends Rows ? Values<R> : never;

/** The terms of handshakes, and whose certificates clients show. */
export interface HandshakeTerms {
  readonly minVersion: "1.2" | "1.3";
  /** `any` takes a certificate that cannot be verified for none; `request` refuses it. */
  readonly clientAuth: "none" | "any" | "request" | "require";
  /** "" unless `clientAuth` asks for it, as the next. */
  readonly clientCaFile: string;
  readonly crlFile: string;
  /** None for the usual ones, as the next. */
  readonly ciphers: readonly string[];
  readonly curves: readonly string[];
}

/** What handshakes with some server names have of their own. */
export interface TlsHost extends HandshakeTerms {
  readonly names: readonly string[];
  /** Null: the certificate goes by the name, as for all others. */
  readonly certificate: CertificateFiles | null;
  /** None for those of the listener. */
  readonly alpn: readonly string[];
  /** Whether connections for its names are for these alone. */
  readonly isApart: boolean;
}

/** All that a TLS listener is made with: `server.tls`, or that of a listener. */
export interface TlsSettings extends HandshakeTerms {
  readonly certificates: readonly CertificateFiles[];
  readonly hosts: readonly TlsHost[];
  /** Whether the local authority signs for names without another certificate. docs/tls.md#a-local-authority */
  readonly isInternal: boolean;
}

/** Pairs every certificate with its key, and checks them while TLS is on. */
function finishTls(_: Fields<typeof tlsRows>, values: TlsValues, spot: Spot): TlsSettings {
  if (!values.enabled)
    return { ...termsOf(values, DEFAULT_TERMS, spot, false), certificates: [], hosts: [], isInternal: false };
  const terms = termsOf(values, DEFAULT_TERMS, spot);
  return {
    ...terms,
    certificates: certificatesOf(values, spot),
    hosts: hostsOf(values.hosts, terms, spot),
    isInternal: values.internal,
  };
}

/** The TLS of a listener with keys of its own, the others from `server.tls`; null without own keys. */
export function listenerSite(values: ListenerTlsValues, server: TlsSettings, spot: Spot): TlsSettings | null {
  const certificates = certificatesOf(values, spot);
  const terms = termsOf(values, server, spot);
  const { min_version, client_auth, client_ca_file, crl_file, ciphers, curves, hosts } = values;
  const isPlain =
    !values.internal &&
    [min_version, client_auth, ciphers, curves, hosts].every((one) => one === null) &&
    client_ca_file === "" &&
    crl_file === "";
  if (isPlain && certificates.length === 0) return null;
  const inherits = certificates.length === 0 && !values.internal;
  return {
    ...terms,
    certificates: inherits ? server.certificates : certificates,
    // Without files of its own, a listener shows all that the server has.
    isInternal: values.internal || (inherits && server.certificates.length > 0 && server.isInternal),
    hosts: hosts === null ? server.hosts : hostsOf(hosts, terms, spot),
  };
}

function certificatesOf(
  values: Pick<TlsValues, "cert_file" | "key_file" | "certificates">,
  spot: Spot,
): readonly CertificateFiles[] {
  const { path, files } = spot;
  const { cert_file, key_file } = values;
  checkBothOrNeither(cert_file, key_file, spot);
  const named = values.certificates.map((one, i) => ({ ...one, at: [...path, "certificates", i] }));
  if (cert_file !== "" && key_file !== "") named.unshift({ cert_file, key_file, at: [...path] });
  return named.map((one) => files.pair([...one.at, "cert_file"], one.cert_file, [...one.at, "key_file"], one.key_file));
}

function hostsOf(hosts: readonly HostValues[], around: HandshakeTerms, spot: Spot): readonly TlsHost[] {
  const taken = new Map<string, number>();
  return hosts.map((values, i) => {
    const at = below(below(spot, "hosts"), i);
    checkBothOrNeither(values.cert_file, values.key_file, at);
    const { names } = host.resolve(values, at);
    for (const [k, name] of names.entries()) {
      const earlier = taken.get(name);
      if (earlier !== undefined)
        at.log.fault([...at.path, "names", k], `${name} is in hosts[${earlier}] already: name it once`);
      else taken.set(name, i);
    }
    const isPair = values.cert_file !== "" && values.key_file !== "";
    const [pair = null] = isPair ? certificatesOf({ ...values, certificates: [] }, at) : [];
    return {
      ...termsOf(values, around, at),
      names,
      certificate: pair,
      alpn: values.alpn,
      isApart: values.own_connections,
    };
  });
}

/** @param isRead whether the files are checked */
function termsOf(values: OwnValues, around: HandshakeTerms, spot: Spot, isRead = true): HandshakeTerms {
  const clientAuth = values.client_auth ?? around.clientAuth;
  const terms = {
    minVersion: values.min_version ?? around.minVersion,
    clientAuth,
    ciphers: values.ciphers ?? around.ciphers,
    curves: values.curves ?? around.curves,
  };
  if (!isRead) return { ...terms, clientCaFile: "", crlFile: "" };
  const { path, files } = spot;
  const inherits = values.client_ca_file === "";
  checkClientFiles(values, clientAuth, around.clientCaFile, spot);
  if (clientAuth === "none") return { ...terms, clientCaFile: "", crlFile: "" };
  return {
    ...terms,
    clientCaFile: inherits ? around.clientCaFile : files.bundle([...path, "client_ca_file"], values.client_ca_file),
    // A list is for its CAs: it says nothing of others.
    crlFile:
      values.crl_file !== "" ? files.revoked([...path, "crl_file"], values.crl_file) : inherits ? around.crlFile : "",
  };
}

function checkClientFiles(
  { client_ca_file, crl_file }: OwnValues,
  clientAuth: string,
  inherited: string,
  spot: Spot,
): void {
  const { log, path } = spot;
  if (clientAuth !== "none" && client_ca_file === "" && inherited === "" && !isFaultyAt(spot, "client_ca_file")) {
    log.fault(path, `client_auth: ${clientAuth} needs client_ca_file, the CA that client certificates come from`, true);
  }
  if (clientAuth !== "none") return;
  if (client_ca_file !== "") log.warn([...path, "client_ca_file"], "has no effect while client_auth is none");
  if (crl_file !== "") log.warn([...path, "crl_file"], "has no effect while client_auth is none");
}

/** Notes a fault when only one of `cert_file` and `key_file` is there. */
export function checkBothOrNeither(cert: string, key: string, spot: Spot): void {
  const { log, path } = spot;
  if (cert !== "" && key === "" && !isFaultyAt(spot, "key_file"))
    log.fault([...path, "cert_file"], "needs its key_file beside it", true);
  if (key !== "" && cert === "" && !isFaultyAt(spot, "cert_file"))
    log.fault([...path, "key_file"], "needs its cert_file beside it", true);
}

/** Absolute paths of one certificate chain and its private key, both PEM. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

function pairOf(files: CertificateFiles | null): object {
  return files === null ? {} : { cert_file: files.certFile, key_file: files.keyFile };
}

/**
 * Names which client certificates a handshake demands, and for names with connections of their own, which names: a connection is for one such demand
 * alone. "" demands nothing. docs/tls.md#tls-by-host
 */
export function clientDemand(terms: HandshakeTerms | TlsHost): string {
  const { clientAuth, clientCaFile, crlFile } = terms;
  const own = "isApart" in terms && terms.isApart ? terms.names : [];
  return clientAuth === "none" && own.length === 0 ? "" : JSON.stringify([clientAuth, clientCaFile, crlFile, ...own]);
}

const DEFAULT_TERMS: HandshakeTerms = {
  minVersion: "1.2",
  clientAuth: "none",
  clientCaFile: "",
  crlFile: "",
  ciphers: [],
  curves: [],
};
