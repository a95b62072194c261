import type { CertificateSet } from "../../message/server-certificate.ts";

/** The certificates of the TLS listeners. What a sidecar shows to those who call it, it shows to those whom it calls. */
export interface ListenerCertificates {
  readonly https?: CertificateSet;
  readonly sidecar?: CertificateSet;
  /** Of listeners whose TLS has keys of its own, by their names. */
  readonly own?: Readonly<Record<string, CertificateSet>>;
}

/** From the control thread to workers: the changes. */
export interface CertificatesMessage {
  readonly kind: "certificates";
  readonly certificates: ListenerCertificates;
}
