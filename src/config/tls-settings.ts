import { list, type Spot } from "./piece.ts";
import { block, type Fields, isFaultyAt, OFF, type Rows, type Values } from "./row.ts";
import { fileName, flag, port, word } from "./scalars.ts";

const certificate = block({
  cert_file: { type: fileName(), required: "the PEM file of the certificate and its chain", example: "./other.pem" },
  key_file: { type: fileName(), required: "the PEM file of the private key", example: "./other-key.pem" },
});

const tlsRows = {
  enabled: { type: flag(), default: true, doc: "false: no TLS listener" },
  port: { type: port(0), default: 8443, doc: "the port for TLS" },
  // Resolved, these two are the first of `certificates`.
  cert_file: {
    type: fileName(),
    default: "",
    field: "",
    example: "./cert.pem",
    doc: "with its chain; a replaced file is reloaded automatically",
  },
  key_file: { type: fileName(), default: "", field: "", example: "./key.pem", doc: "the PEM file of the private key" },
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
  client_ca_file: {
    type: fileName(),
    default: "",
    restart: "HTTP/3",
    example: "./clients.pem",
    doc: "the PEM file of the CAs whose clients are let in",
  },
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

/** Absolute paths of one certificate chain and its private key, both PEM. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}
