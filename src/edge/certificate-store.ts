import {
  ACME_PROTOCOL,
  type CertificateSet,
  NO_CERTIFICATES,
  type ServerCertificate,
} from "../message/server-certificate.ts";
import { createTlsContext, type TlsContext } from "../net/tls-context.ts";
import { alpnWire, type HandshakeOptions } from "../net/tls-upgrade.ts";

/** How a listener holds its handshakes. */
export interface TlsPolicy {
  readonly minVersion: "1.2" | "1.3";
  /** `request` takes clients without a certificate, but none with one that is not trusted. */
  readonly clientAuth: "none" | "request" | "require";
  /** Application protocols that are offered, the preferred one first. */
  readonly protocols: readonly string[];
}

/** What one handshake is held with. */
export interface TlsChoice {
  readonly context: TlsContext;
  readonly options: HandshakeOptions;
}

/** What a ClientHello says of the certificates that its client can check; see ClientHello. */
interface ClientSignatures {
  readonly signatures: readonly number[];
  readonly certificateSignatures: readonly number[];
  readonly groups: readonly number[];
  readonly isTls13: boolean;
  readonly allowsEcdsa: boolean;
  readonly allowsRsa: boolean;
}

/**
 * The certificates of one TLS listener in one worker, and which of them a client gets. An exact name beats a wildcard, a
 * wildcard beats the default, which is the first. Where there are several for one name, those of ECDSA come before those of
 * RSA, and the first that the client can check is shown. A client that gets the default and cannot check it gets the first of all others
 * that it can.
 *
 * Contexts are made when they are first wanted, and those of certificates that stay are kept when the set changes, so that
 * sessions are resumed across reloads. Bun has no way to share session keys: a session that one worker began is unknown to
 * the others, which then make a full handshake.
 */
export class CertificateStore {
  private policy: TlsPolicy;
  private authorities: string | null = null;
  private exact: CertificatesByName = new Map();
  private wildcard: CertificatesByName = new Map();
  private challenges: CertificatesByName = new Map();
  private fallback: readonly ServerCertificate[] = [];
  private all: readonly ServerCertificate[] = [];
  private contexts: Map<ServerCertificate, TlsContext> = new Map();
  private options: HandshakeOptions;

  /** A store without certificates. */
  constructor(policy: TlsPolicy) {
    this.policy = policy;
    this.options = handshakeOptions(policy);
    this.use(NO_CERTIFICATES, policy);
  }

  /** Whether clients are asked for certificates. */
  get asksForCertificate(): boolean {
    return this.policy.clientAuth !== "none";
  }

  /** Takes another set and policy for the handshakes that begin from now on. */
  use(set: CertificateSet, policy: TlsPolicy): void {
    const authorities = policy.clientAuth === "none" ? null : set.clientAuthorities;
    const isSamePolicy = policy.minVersion === this.policy.minVersion && authorities === this.authorities;
    const old = this.contexts;
    this.policy = policy;
    this.authorities = authorities;
    this.options = handshakeOptions(policy);
    this.contexts = new Map();
    if (isSamePolicy) this.keepContexts(old, set.certificates);
    this.exact = namesOf(set.certificates, (name) => (name.startsWith("*.") ? null : name));
    this.wildcard = namesOf(set.certificates, (name) => (name.startsWith("*.") ? name.slice(1) : null));
    this.challenges = namesOf(set.challenges, (name) => name);
    this.all = set.certificates;
    this.fallback = alternatives(set.certificates.filter((one) => isTwin(one, set.certificates[0]!)));
  }

  /**
   * Chooses by what a ClientHello asks for.
   * @param serverName lower-case, "" where the client names none
   * @param protocols what the client offers by ALPN
   * @param offer the signatures that it can check
   * @returns null where there is nothing to show
   * @throws when a certificate that was checked before cannot be used after all
   */
  contextFor(
    serverName: string,
    protocols: readonly string[],
    offer: ClientSignatures = NO_SIGNATURES,
  ): TlsChoice | null {
    if (offersChallenge(protocols)) {
      const challenge = this.challenges.get(serverName)?.[0];
      if (challenge === undefined) return null;
      // RFC 8737 §3: the authority shows no certificate of its own. One handshake is all that there will be.
      return {
        context: createTlsContext({ ...challenge, minVersion: "1.2", clientAuthorities: null }),
        options: CHALLENGE,
      };
    }
    const found = this.certificatesFor(serverName);
    const other = found === this.fallback ? this.otherDefault(offer) : undefined;
    const certificate = other ?? firstUsable(found, offer);
    return certificate === undefined ? null : { context: this.contextOf(certificate), options: this.options };
  }

  /** Whether there is a certificate for the name itself. @param serverName lower-case */
  has(serverName: string): boolean {
    const dot = serverName.indexOf(".");
    return this.exact.has(serverName) || (dot > 0 && this.wildcard.has(serverName.slice(dot)));
  }

  private certificatesFor(serverName: string): readonly ServerCertificate[] {
    const exact = this.exact.get(serverName);
    if (exact !== undefined) return exact;
    const dot = serverName.indexOf(".");
    return (dot > 0 ? this.wildcard.get(serverName.slice(dot)) : undefined) ?? this.fallback;
  }

  /** For a client that can check no key of the default, the first that it can. */
  private otherDefault(offer: ClientSignatures): ServerCertificate | undefined {
    const isChecked = (one: ServerCertificate) => one.signatures === undefined || canUse(one, offer);
    if (offer.signatures.length === 0 || this.fallback.some(isChecked)) return undefined;
    return this.all.find((one) => one.signatures !== undefined && canUse(one, offer));
  }

  private contextOf(certificate: ServerCertificate): TlsContext {
    const known = this.contexts.get(certificate);
    if (known !== undefined) return known;
    const { chain, key } = certificate;
    const { minVersion } = this.policy;
    const context = createTlsContext({ chain, key, minVersion, clientAuthorities: this.authorities });
    this.contexts.set(certificate, context);
    return context;
  }

  /** Certificates come by message, so those that stay are other objects each time. */
  private keepContexts(old: Map<ServerCertificate, TlsContext>, certificates: readonly ServerCertificate[]): void {
    const byId = new Map([...old].map((entry) => [entry[0].id, entry]));
    for (const certificate of certificates) {
      const [before, context] = byId.get(certificate.id) ?? [];
      if (before === undefined || context === undefined) continue;
      if (before.chain === certificate.chain && before.key === certificate.key) this.contexts.set(certificate, context);
    }
  }
}

/** Whether a client is an authority that looks at a challenge: it offers nothing else. RFC 8737 §3. */
export function offersChallenge(protocols: readonly string[]): boolean {
  return protocols.length === 1 && protocols[0] === ACME_PROTOCOL;
}

/** All that may be shown for a name, in the order of preference. */
type CertificatesByName = Map<string, readonly ServerCertificate[]>;

function namesOf(
  certificates: readonly ServerCertificate[],
  keyOf: (name: string) => string | null,
): CertificatesByName {
  const names = new Map<string, ServerCertificate[]>();
  for (const certificate of certificates) {
    for (const name of certificate.names) {
      const key = keyOf(name);
      const known = key === null ? undefined : names.get(key);
      if (known !== undefined) known.push(certificate);
      else if (key !== null) names.set(key, [certificate]);
    }
  }
  return new Map([...names].map(([name, found]) => [name, alternatives(found)]));
}

/** Of several for one name the first counts, and beside it those that say what their keys sign, ECDSA before RSA. */
function alternatives(found: readonly ServerCertificate[]): readonly ServerCertificate[] {
  if (found.length < 2 || found[0]!.signatures === undefined) return found.slice(0, 1);
  const known = found.filter(({ signatures }) => signatures !== undefined);
  return known.sort((a, b) => Number(isEcdsa(b)) - Number(isEcdsa(a)));
}

function isTwin(one: ServerCertificate, other: ServerCertificate): boolean {
  return one === other || (one.names.length > 0 && one.names.join() === other.names.join());
}

/**
 * The first whose key and whose own signature the client can check, else the first whose key it can (RFC 8446 §4.4.2.2: a chain
 * that does not fit is better than none), else one that its suites go with. A client that names no signatures is an old one: it
 * gets RSA where it may. One that can check none of them says so itself.
 */
function firstUsable(
  certificates: readonly ServerCertificate[],
  offer: ClientSignatures,
): ServerCertificate | undefined {
  if (certificates.length < 2) return certificates[0];
  const usable = certificates.filter((one) => canUse(one, offer));
  const named = offer.certificateSignatures.length > 0 ? offer.certificateSignatures : offer.signatures;
  return (
    usable.find(({ issuedWith }) => issuedWith === undefined || issuedWith.some((scheme) => named.includes(scheme))) ??
    usable[0] ??
    certificates.find((one) => !isEcdsa(one) && offer.allowsRsa) ??
    certificates.find((one) => isEcdsa(one) && offer.allowsEcdsa) ??
    certificates[0]
  );
}

function canUse(
  one: ServerCertificate,
  { signatures, groups, isTls13, allowsEcdsa, allowsRsa }: ClientSignatures,
): boolean {
  const schemes = one.signatures!;
  if (!isEcdsa(one)) {
    // With TLS 1.3 a handshake is never signed with PKCS #1. RFC 8446 §4.2.3.
    return allowsRsa && schemes.some((scheme) => !(isTls13 && isPkcs1(scheme)) && signatures.includes(scheme));
  }
  if (!allowsEcdsa || !signatures.includes(schemes[0]!)) return false;
  // Before TLS 1.3 the groups bound the keys of certificates too. RFC 8422 §5.1.1.
  return isTls13 || groups.length === 0 || groups.includes(CURVES.get(schemes[0]!) ?? 0);
}

function isPkcs1(scheme: number): boolean {
  return (scheme & 0xff) === PKCS1;
}

/** RFC 8446 §4.2.3: the low byte 3 stands for ECDSA. */
function isEcdsa({ signatures }: ServerCertificate): boolean {
  return ((signatures?.[0] ?? 0) & 0xff) === ECDSA;
}

const PKCS1 = 1;
const ECDSA = 3;
/** The group of the curve that a scheme of ECDSA means. */
const CURVES: ReadonlyMap<number, number> = new Map([
  [0x0403, 23],
  [0x0503, 24],
  [0x0603, 25],
]);
const NO_SIGNATURES: ClientSignatures = {
  signatures: [],
  certificateSignatures: [],
  groups: [],
  isTls13: false,
  allowsEcdsa: false,
  allowsRsa: true,
};

function handshakeOptions(policy: TlsPolicy): HandshakeOptions {
  return {
    ALPNProtocols: alpnWire(policy.protocols),
    requestCert: policy.clientAuth !== "none",
    // A certificate that is shown is judged after the handshake, where one can be told from none.
    rejectUnauthorized: policy.clientAuth === "require",
  };
}

const CHALLENGE: HandshakeOptions = {
  ALPNProtocols: alpnWire([ACME_PROTOCOL]),
  requestCert: false,
  rejectUnauthorized: false,
};
