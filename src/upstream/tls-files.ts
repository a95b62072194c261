import { readFileSync } from "node:fs";
import { ipVersion } from "../core/ip-address.ts";
import { readCertificates, readPrivateKey } from "../proto/pem/pem-text.ts";
import type { UpstreamTls } from "./origin-trust.ts";

/** The files and switches of a route's `tls:` section. */
interface UpstreamTlsFiles {
  readonly caFile: string;
  readonly clientCertificate: { readonly certFile: string; readonly keyFile: string };
  readonly serverName: string;
  readonly insecureSkipVerify: boolean;
  readonly altNames: readonly string[];
}

/**
 * Reads what a TLS connection to an origin needs.
 * @param hostname name to ask for and to check where the section names none
 * @throws when a file cannot be read, or is damaged
 */
export function readUpstreamTls(files: UpstreamTlsFiles, hostname: string): UpstreamTls {
  const { certFile, keyFile } = files.clientCertificate;
  return {
    // RFC 6066 §3: an address is not sent as a name. Without one it is the address that the certificate must have.
    serverName: files.serverName === "" && ipVersion(hostname) === 0 ? hostname : files.serverName,
    ca: files.caFile === "" ? undefined : readCertificates(readFileSync(files.caFile)).pem,
    cert: certFile === "" ? undefined : readCertificates(readFileSync(certFile)).pem,
    key: keyFile === "" ? undefined : readPrivateKey(readFileSync(keyFile)).pem,
    rejectUnauthorized: !files.insecureSkipVerify,
    altNames: files.altNames,
  };
}
