import { isIP } from "node:net";
import type { Challenge, IssuedCertificate } from "../features/acme/certificate-authority.ts";
import { reverseName } from "../features/acme/reverse-name.ts";
import type { CertificateSink, ServerCertificate } from "../message/server-certificate.ts";
import { serverCertificate } from "./certificate-files.ts";

/** Where certificates that are obtained go. */
export interface AcmeDesk {
  /** Shows these for handshakes from now on, and none of those before; of two for one name the first counts. */
  show(certificates: readonly IssuedCertificate[]): void;
  /** Shows the answers to these challenges and no others, to those who ask for them. Resolves when every worker does. */
  showChallenges(challenges: readonly Challenge[]): Promise<void>;
}

/** Puts obtained certificates and challenges among those of the TLS listener. */
export class ListenerDesk implements AcmeDesk {
  private readonly sink: CertificateSink;
  private readonly settled: () => Promise<void>;
  private challenges: readonly string[] = [];
  private count = 0;

  /** @param settled resolves when every worker has taken what was put in before */
  constructor(sink: CertificateSink, settled: () => Promise<void>) {
    this.sink = sink;
    this.settled = settled;
  }

  show(certificates: readonly IssuedCertificate[]): void {
    // In the places of those before, so that there is no moment without one.
    for (const [i, { chain, key }] of certificates.entries()) {
      this.sink.put(serverCertificate(`${CERTIFICATE_ID}-${i}`, chain, key));
    }
    for (let i = certificates.length; i < this.count; i++) this.sink.remove(`${CERTIFICATE_ID}-${i}`);
    this.count = certificates.length;
  }

  async showChallenges(challenges: readonly Challenge[]): Promise<void> {
    for (const id of this.challenges) this.sink.removeChallenge(id);
    const { challengeCertificate } = await import("../features/acme/own-certificate.ts");
    const certificates: ServerCertificate[] = [];
    for (const { name, keyAuthorization } of challenges) {
      const { chain, key } = await challengeCertificate(name, keyAuthorization);
      // RFC 8738 §6: an address is asked for by the name that it has in the reverse tree.
      const asked = isIP(name) === 0 ? name : reverseName(name);
      certificates.push({ id: `${CERTIFICATE_ID}:${name}`, names: [asked], chain, key });
    }
    for (const certificate of certificates) this.sink.putChallenge(certificate);
    this.challenges = certificates.map(({ id }) => id);
    if (certificates.length > 0) await this.settled();
  }
}

const CERTIFICATE_ID = "acme";
