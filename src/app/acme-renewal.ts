import { readFileSync } from "node:fs";
import type { AcmeConfig } from "../config/runtime-config.ts";
import { AcmeClientAuthority } from "../features/acme/acme-client-authority.ts";
import type { ChallengeResponder } from "../features/acme/certificate-authority.ts";
import { CertificateRenewal, type RenewalListener } from "../features/acme/certificate-renewal.ts";
import { AcmeStore } from "../features/acme/certificate-store.ts";
import { StoreLock } from "../features/acme/store-lock.ts";

/**
 * Wires `server.acme`. This file brings the ACME client with it, so it is loaded only where it is wanted.
 * @throws when `ca_file` cannot be read
 */
export function makeRenewal(
  config: AcmeConfig,
  responder: ChallengeResponder,
  listener: RenewalListener,
): CertificateRenewal {
  const { directoryUrl, email, challengeType, eabKid, eabHmacKey, caFile, cacheDir } = config;
  const ca = caFile === "" ? "" : readFileSync(caFile, "utf8");
  return new CertificateRenewal({
    names: config.domains,
    authority: new AcmeClientAuthority({ directoryUrl, email, challengeType, eabKid, eabHmacKey, ca }),
    responder,
    store: new AcmeStore(cacheDir, directoryUrl),
    lock: new StoreLock(cacheDir),
    listener,
    now: Date.now,
    random: Math.random,
  });
}
