import type { AcmeOrder } from "../settings.ts";

/** One certificate with its key, both PEM; the certificate with its chain. */
export interface IssuedCertificate {
  readonly chain: string;
  readonly key: string;
}

/** The order: all names on one certificate. */
export type CertificateWish = Omit<AcmeOrder, "directoryUrls">;

/** The subject of a certificate order. */
export interface CertificateRequest extends CertificateWish {
  /** The account's private key, PEM. */
  readonly accountKey: string;
  /** The URL of the account at the authority; "" before there is one. */
  readonly accountUrl: string;
  /** The certificate that is renewed (RFC 9773 §5); "" if there is none. */
  readonly replaces: string;
}

/** The result. */
export interface CertificateIssue extends IssuedCertificate {
  readonly accountUrl: string;
}

/** A challenge whose response must be in place before the authority is told to look. RFC 8555 §8. */
export interface Challenge {
  /** The DNS name or address that is to be proven; a wildcard's is the one below which it is. */
  readonly name: string;
  readonly token: string;
  /** Of dns-01 its digest, the content of the record. RFC 8555 §8.4 */
  readonly keyAuthorization: string;
}

/** Where challenges are answered. */
export interface ChallengeResponder {
  /** Puts the responses to all challenges in place of those before. Once it resolves, every worker gives them. */
  answer(challenges: readonly Challenge[]): Promise<void>;
}

/** When a certificate should be renewed by the authority's own word, in milliseconds since the epoch. RFC 9773 §4.2. */
export interface RenewalWindow {
  readonly startMs: number;
  readonly endMs: number;
  /** When to ask again. */
  readonly askAgainMs: number;
}

/** A certificate authority: the one port between this feature and whatever speaks ACME for it. */
export interface CertificateAuthority {
  /**
   * Obtains a certificate.
   * @throws AcmeFailure
   */
  obtain(request: CertificateRequest, responder: ChallengeResponder): Promise<CertificateIssue>;
  /** The suggested renewal window; null if the authority has none or does not answer. */
  renewalWindow(chain: string): Promise<RenewalWindow | null>;
}

/** Why there is no certificate, and how long the authority wants to be left alone. */
export class AcmeFailure extends Error {
  /** Such as `rateLimited`: the end of the problem's type (RFC 8555 §6.7), or our own error. */
  readonly kind: string;
  /** Milliseconds, from Retry-After; 0 without one. */
  readonly retryAfterMs: number;
  /** The names that were refused; none if it is not about names. */
  readonly names: readonly string[];

  constructor(kind: string, message: string, retryAfterMs = 0, names: readonly string[] = []) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
    this.names = names;
  }

  /** Whether another authority may do better: this one is away, or has enough. */
  get isOfAuthority(): boolean {
    return /^E[A-Z_]+$|^http 5\d\d$|^(unreachable|serverInternal|rateLimited|failed|userActionRequired)$/.test(
      this.kind,
    );
  }
}
