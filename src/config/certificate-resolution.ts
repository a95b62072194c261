import { isIP } from "node:net";
import { quote } from "./config-fault.ts";
import type { ConfiguredFiles } from "./configured-file.ts";
import type { FaultLog } from "./fault-log.ts";
import { isHostName } from "./origin.ts";
import type { AcmeConfig, CertificateFiles, TlsConfig } from "./runtime-config.ts";
import type { ServerValues } from "./server-resolution.ts";

/** `server.tls`: pairs every certificate with its key, checks them while TLS is on. Decisions §1 "TLS". */
export function resolveTls(
  values: ServerValues["tls"],
  hasAcme: boolean,
  log: FaultLog,
  files: ConfiguredFiles,
): TlsConfig {
  const path = ["server", "tls"];
  const certificates: CertificateFiles[] = [];
  if (values.enabled) {
    checkBothOrNeither(values.cert_file, values.key_file, path, log);
    if (values.cert_file !== "" && values.key_file !== "") {
      certificates.push(files.pair([...path, "cert_file"], values.cert_file, [...path, "key_file"], values.key_file));
    }
    for (const [i, one] of values.certificates.entries()) {
      const at = [...path, "certificates", i];
      certificates.push(files.pair([...at, "cert_file"], one.cert_file, [...at, "key_file"], one.key_file));
    }
    const isBare = values.cert_file === "" && values.key_file === "" && certificates.length === 0;
    const isMeant = ["cert_file", "key_file", "certificates"].some((key) => log.isFaulty([...path, key]));
    if (isBare && !isMeant && !hasAcme && !log.isFaulty(["server", "acme"])) {
      log.fault(path, "needs cert_file and key_file (or switch server.acme on, which obtains a certificate)", true);
    }
    if (values.client_auth !== "none" && values.client_ca_file === "" && !log.isFaulty([...path, "client_ca_file"])) {
      log.fault(
        path,
        `client_auth: ${values.client_auth} needs client_ca_file, the CA that client certificates come from`,
        true,
      );
    }
    if (values.client_auth === "none" && values.client_ca_file !== "") {
      log.warn([...path, "client_ca_file"], "has no effect while client_auth is none");
    }
  }
  const usesClientCa = values.enabled && values.client_auth !== "none";
  return {
    enabled: values.enabled,
    port: values.port,
    certificates,
    minVersion: values.min_version,
    clientAuth: values.client_auth,
    redirectHttp: values.redirect_http,
    redirectPort: values.redirect_port,
    clientCaFile: usesClientCa ? files.bundle([...path, "client_ca_file"], values.client_ca_file) : "",
  };
}

/** Notes a fault when only one of `cert_file` and `key_file` is there. */
export function checkBothOrNeither(cert: string, key: string, path: readonly (string | number)[], log: FaultLog): void {
  if (cert !== "" && key === "" && !log.isFaulty([...path, "key_file"])) {
    log.fault([...path, "cert_file"], "needs its key_file beside it", true);
  }
  if (key !== "" && cert === "" && !log.isFaulty([...path, "cert_file"])) {
    log.fault([...path, "key_file"], "needs its cert_file beside it", true);
  }
}

/** `server.acme`. Decisions §9. */
export function resolveAcme(
  values: ServerValues["acme"],
  hasTls: boolean,
  log: FaultLog,
  files: ConfiguredFiles,
): AcmeConfig {
  const path = ["server", "acme"];
  if (values.enabled) checkAcme(values, hasTls, log);
  else if (values.domains.length > 0)
    log.warn(path, "the section is there, but enabled is not true: no certificate is obtained");
  return {
    enabled: values.enabled,
    directoryUrl: values.directory_url,
    email: values.email,
    domains: values.domains.map((domain) => domain.toLowerCase()),
    cacheDir: files.absolute(values.cache_dir),
    challengeType: values.challenge_type,
    eabKid: values.eab.kid,
    eabHmacKey: values.eab.hmac_key,
    caFile: values.enabled ? files.bundle([...path, "ca_file"], values.ca_file) : files.absolute(values.ca_file),
  };
}

function checkAcme(values: ServerValues["acme"], hasTls: boolean, log: FaultLog): void {
  const path = ["server", "acme"];
  if (values.domains.length === 0 && !log.isFaulty([...path, "domains"]))
    log.fault(path, "needs domains, the names to obtain a certificate for, such as [example.com]", true);
  for (const [i, domain] of values.domains.entries()) {
    const at = [...path, "domains", i];
    if (domain.startsWith("*.")) {
      log.fault(at, `found ${quote(domain)}: ${values.challenge_type} cannot prove a wildcard; name every host`);
    } else if (isIP(domain) === 0 && (!isHostName(domain) || !domain.includes("."))) {
      log.fault(at, `expected a public domain name such as www.example.com, found ${quote(domain)}`);
    }
  }
  if ((values.eab.kid === "") !== (values.eab.hmac_key === ""))
    log.fault([...path, "eab"], "needs both kid and hmac_key", true);
  if (values.eab.hmac_key !== "" && !/^[\w-]+=*$/.test(values.eab.hmac_key)) {
    log.fault([...path, "eab", "hmac_key"], "expected the key in base64url (letters, digits, - and _)");
  }
  if (hasTls || log.isFaulty(["server", "tls"])) return;
  if (values.challenge_type === "tls-alpn-01") {
    log.fault(
      [...path, "challenge_type"],
      "tls-alpn-01 is answered on the TLS port: switch server.tls on, or use http-01",
    );
  } else {
    log.warn(path, "certificates are obtained, but server.tls is off, so nothing uses them");
  }
}
