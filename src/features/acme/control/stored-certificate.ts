// What is kept of an account and of a certificate.
import type { IssuedCertificate } from "./certificate-authority.ts";

/** An account at one directory. */
export interface StoredAccount {
  /** PEM. */
  readonly key: string;
  /** Where the directory keeps it; "" before there is one. */
  readonly url: string;
}

/** A certificate as it lies in the store. */
export interface StoredCertificate extends IssuedCertificate {
  readonly fingerprint: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Whether the record says that we obtained it. */
  readonly isOurs: boolean;
  readonly renewAtMs: number | null;
  /** Where it was obtained, where the record says so; else "". */
  readonly directoryUrl: string;
}
