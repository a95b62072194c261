import type { CertificateStore } from "./certificate-store.ts";
import { HandshakeSet } from "./handshake-set.ts";

/** What the connections of one TLS listener share, in one worker. */
export class TlsEndpoint {
  readonly certificates: CertificateStore;
  readonly handshakes: HandshakeSet = new HandshakeSet();

  constructor(certificates: CertificateStore) {
    this.certificates = certificates;
  }
}
