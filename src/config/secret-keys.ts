import { MASK } from "../core/secret-name.ts";
import type { KeyPath } from "./config-fault.ts";
import type { FaultLog } from "./fault-log.ts";

/** Characters of a secret with which the gateway encrypts, at least. */
const MIN_SECRET_CHARS = 32;
/** Secrets of one key of the configuration: each is tried with what was encrypted before. */
const MAX_SECRETS = 4;

/** Checks secrets with which the gateway encrypts; `masked` says what becomes of one that is what a listing shows of it. */
export function checkSecrets(secrets: readonly string[], log: FaultLog, path: KeyPath, masked: string): void {
  if (secrets.length > MAX_SECRETS) log.fault(path, `at most ${MAX_SECRETS} secrets are tried`);
  for (const [i, value] of secrets.entries()) {
    if (value === MASK) log.warn([...path, i], `is what edge check --print shows of a secret: ${masked}`);
    else if (value.length < MIN_SECRET_CHARS)
      log.fault(
        [...path, i],
        `needs at least ${MIN_SECRET_CHARS} characters, found ${value.length}: "openssl rand -base64 32" makes one`,
      );
  }
}
