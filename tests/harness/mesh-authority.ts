import "reflect-metadata";
import { ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension } from "@peculiar/x509";
import { daysFromNow, LOOPBACK, TestAuthority, type TestCertificate } from "./certificate.ts";

/** What a certificate is made for. */
export interface Issued {
  /** Its common name. */
  readonly name: string;
  /** A SPIFFE id; none without it. */
  readonly id?: string;
  /** A second URI. */
  readonly more?: string;
  /** In the place of 127.0.0.1 and localhost. */
  readonly dnsNames?: readonly string[];
  /** Days until it ends, from now; negative for one that has ended. */
  readonly days?: number;
}

/** A certificate authority of its own, as a mesh has one. */
export class MeshAuthority {
  private constructor(private readonly authority: TestAuthority) {}

  static async make(name = "mesh"): Promise<MeshAuthority> {
    return new MeshAuthority(await TestAuthority.make(name));
  }

  get pem(): string {
    return `${this.authority.cert}\n`;
  }

  /** A certificate for 127.0.0.1 and localhost, good as client and as server. */
  async issue({ name, id, more, dnsNames, days = 10 }: Issued): Promise<TestCertificate> {
    const uris = [id, more].flatMap((value) => (value === undefined ? [] : [{ type: "url" as const, value }]));
    const places = dnsNames === undefined ? LOOPBACK : dnsNames.map((value) => ({ type: "dns" as const, value }));
    const { cert, key } = await this.authority.issue({
      subject: name,
      names: [...places, ...uris],
      notBefore: daysFromNow(-20),
      notAfter: daysFromNow(days),
      extensions: [
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]),
      ],
    });
    return { cert: `${cert}\n`, key };
  }
}
