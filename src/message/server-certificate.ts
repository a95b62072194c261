/** A certificate that the gateway shows to clients. Plain data, since it goes to every worker by message. */
export interface ServerCertificate {
  /** Unique among all of them: where it comes from, such as a file name. Putting another of the same id replaces it. */
  readonly id: string;
  /** Lower-case names that it is shown for: `example.com`, or `*.example.com` for the names one label below. */
  readonly names: readonly string[];
  /** PEM, the server's own certificate first and then those that lead to the root. */
  readonly chain: string;
  /** PEM, not encrypted. */
  readonly key: string;
  /**
   * Signature schemes that its key makes (RFC 8446 §4.2.3), by which it is beside others for the same names that say so
   * too, as one of RSA beside one of ECDSA; without them it is shown to every client or to none.
   */
  readonly signatures?: readonly number[];
  /** The schemes that its own signature may be called by; left out if it signed itself, or is signed in another way. */
  readonly issuedWith?: readonly number[];
}

/** All that one TLS listener shows and trusts. A listener's set is replaced as a whole. */
export interface CertificateSet {
  /** The first is shown to clients that name nothing, or nothing that is here; of two for one name the first counts, unless both say `signatures`. */
  readonly certificates: readonly ServerCertificate[];
  /** Shown to clients that offer `acme-tls/1` alone, by their exact name. RFC 8737. */
  readonly challenges: readonly ServerCertificate[];
  /** PEM certificates of the authorities whose client certificates are accepted; "" means those of the system. */
  readonly clientAuthorities: string;
  /** Certificates of `tls.hosts`, in their order; null without one. */
  readonly hostCertificates?: readonly (ServerCertificate | null)[];
  /** PEM texts of files, by path: one of authorities, one for each list of revoked certificates. */
  readonly texts?: Readonly<Record<string, readonly string[]>>;
}

/** Who may put certificates in at run time: new handshakes in every worker have them from then on. */
export interface CertificateSink {
  /** Adds a certificate after those from files, or replaces the one with its id. */
  put(certificate: ServerCertificate): void;
  /** Takes a certificate away; nothing happens if there is none of this id. */
  remove(id: string): void;
  /** Likewise, for handshakes with `acme-tls/1`. */
  putChallenge(certificate: ServerCertificate): void;
  removeChallenge(id: string): void;
}

/** A set with nothing in it: every handshake is refused. */
export const NO_CERTIFICATES: CertificateSet = { certificates: [], challenges: [], clientAuthorities: "" };

/** The one protocol name that a certificate authority offers when it looks at a challenge. RFC 8737 §6.2. */
export const ACME_PROTOCOL = "acme-tls/1";
