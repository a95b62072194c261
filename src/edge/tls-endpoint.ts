import type { CertificateStore } from "./certificate-store.ts";
import { HandshakeSet } from "./handshake-set.ts";
import type { WantedCertificates } from "./wanted-certificates.ts";

/** What the connections of one TLS listener share, in one worker. */
export class TlsEndpoint {
  readonly certificates: CertificateStore;
  readonly handshakes: HandshakeSet = new HandshakeSet();

  /** Where certificates are obtained for the names that clients ask for; else null. */
  wanted: WantedCertificates | null = null;

  constructor(certificates: CertificateStore) {
    this.certificates = certificates;
  }
}
