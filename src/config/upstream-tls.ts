import { quote } from "./config-fault.ts";
import { asciiName } from "./host-kinds.ts";
import { isHostName } from "./origin.ts";
import { list, resolved, type Spot } from "./piece.ts";
import { block, type Rows, type Values } from "./row.ts";
import { fileName, flag, text } from "./scalars.ts";
import { checkBothOrNeither, INTERNAL_DOC, orInternal } from "./tls-settings.ts";

const rows = {
  ca_file: {
    type: fileName(),
    default: "",
    example: "./ca.pem",
    doc: "roots that edge trusts; the system's by default",
  },
  // Resolved, these two are `clientCertificate`, whose files are "" if there is none.
  cert_file: {
    type: fileName(),
    default: "",
    field: "",
    example: "./client.pem",
    doc: "the PEM file of the certificate that edge shows",
  },
  key_file: {
    type: fileName(),
    default: "",
    field: "",
    example: "./client-key.pem",
    doc: "the PEM file of its private key",
  },
  server_name: {
    type: text("a host name"),
    default: "",
    example: "api.internal",
    doc: "the name that its certificate must have; the target's by default",
  },
  alt_names: {
    type: list(altName(), "names"),
    example: ["spiffe://example.org/api", "api.internal"],
    doc: "names or URIs of which its certificate must have one",
  },
  insecure_skip_verify: {
    type: flag(),
    default: false,
    doc: "true: edge does not verify the server's certificate; use it in tests only",
  },
} as const satisfies Rows;

/** How upstreams are spoken to over TLS: `tls` of an upstream route, and of the transcoder. docs/upstreams.md#tls-to-origins */
export const upstreamTls = block(rows, { check: checkUpstreamTls, finish, list: lines });

/** `tls` of an upstream route: the same, and whether the local authority signs for the route's hosts. docs/tls.md#a-local-authority */
export const upstreamRouteTls = orInternal(
  block(
    {
      ...rows,
      internal: { type: flag(), default: false, field: "", doc: INTERNAL_DOC },
    },
    {
      check: (values, spot) => checkUpstreamTls(values, spot),
      finish: (_, values, spot) => ({ ...finish(null, values, spot), isInternal: values.internal }),
      list: (config, shown) => ({ ...lines(config, shown), ...(config.isInternal ? { internal: true } : {}) }),
    },
  ),
  {},
);

/** A host name, or a URI. */
function altName() {
  return resolved(text("a host name or a URI"), (name, { path, log }) => {
    // RFC 3986 §3.1
    if (/^[A-Za-z][A-Za-z0-9+.-]*:\S+$/.test(name)) return name;
    const lower = asciiName(name);
    if (!isHostName(lower.replace(/^\*\./, "")))
      log.fault(path, `expected a host name, or a URI such as spiffe://example.org/api, found ${quote(name)}`);
    return lower;
  });
}

type TlsValues = Values<typeof rows>;

function finish(_: unknown, values: TlsValues, { path, files }: Spot) {
  return {
    caFile: files.bundle([...path, "ca_file"], values.ca_file),
    clientCertificate: files.pair([...path, "cert_file"], values.cert_file, [...path, "key_file"], values.key_file),
    // For SNI and the check of the certificate.
    serverName: values.server_name.toLowerCase(),
    isInternal: false,
  };
}

function lines({ clientCertificate: { certFile, keyFile } }: ReturnType<typeof finish>, shown: object): object {
  return { ...shown, cert_file: certFile, key_file: keyFile };
}

function checkUpstreamTls(values: TlsValues, spot: Spot): void {
  const { log, path } = spot;
  checkBothOrNeither(values.cert_file, values.key_file, spot);
  if (values.insecure_skip_verify) {
    const user = path[0] === "transcoder" ? "gRPC upstreams" : "this route";
    log.warn([...path, "insecure_skip_verify"], `certificate verification is disabled for ${user}`);
    if (values.alt_names.length > 0) log.warn([...path, "alt_names"], "has no effect with insecure_skip_verify");
  }
  if (values.server_name !== "" && !isHostName(values.server_name))
    log.fault([...path, "server_name"], `expected a host name, found ${quote(values.server_name)}`);
}
