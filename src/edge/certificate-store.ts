import { HostTable } from "../message/host-table.ts";
import {
  ACME_PROTOCOL,
  type CertificateSet,
  NO_CERTIFICATES,
  type ServerCertificate,
} from "../message/server-certificate.ts";
import { createTlsContext, type TlsContext } from "../net/tls-context.ts";
import { alpnWire, type HandshakeOptions } from "../net/tls-upgrade.ts";

/** The terms of handshakes. */
export interface TlsPolicy {
  readonly minVersion: "1.2" | "1.3";
  /** `request` takes clients without a certificate, but refuses untrusted certificates; `any` counts them as none. */
  readonly clientAuth: "none" | "any" | "request" | "require";
  /** Names the demand for client certificates and for the names of requests; "" for none. */
  readonly demand: string;
  /** File of the authorities, among `texts` of the set; "" for `clientAuthorities` of it. */
  readonly authoritiesFile: string;
  /** File of the lists of revoked certificates, likewise; "" for none. */
  readonly crlFile: string;
  /** Suites and curves; none for the usual ones. */
  readonly ciphers: readonly string[];
  readonly curves: readonly string[];
  /** Application protocols that are offered, the preferred one first; none for the listener's. */
  readonly protocols: readonly string[];
}

/** The terms of handshakes for some names. */
interface HostPolicy extends TlsPolicy {
  /** Lower-case names, `*.example.com` for all below. */
  readonly names: readonly string[];
}

/** The policies of one site. */
export interface TlsPolicies {
  readonly usual: TlsPolicy;
  /** In the order of `hostCertificates` of the set. */
  readonly hosts: readonly HostPolicy[];
}

/** What one handshake is held with. */
export interface TlsChoice {
  readonly context: TlsContext;
  readonly options: HandshakeOptions;
  /** See TlsPolicy, as the next. */
  readonly demand: string;
  readonly clientAuth: TlsPolicy["clientAuth"];
  readonly curves: readonly string[];
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
 * wildcard beats the default, which is the first. If there are several for one name, those of ECDSA come before those of
 * RSA, and the first that the client can check is shown. A client that gets the default and cannot check it gets the first of all others
 * that it can.
 *
 * Contexts are made when they are first wanted, and those of certificates that stay are kept when the set changes, so that
 * sessions are resumed across reloads. Bun has no way to share session keys: a session that one worker began is unknown to
 * the others, which then make a full handshake.
 */
export class CertificateStore {
  private usual: ReadyPolicy;
  private hosts: HostTable<ReadyPolicy> = new HostTable();
  private exact: CertificatesByName = new Map();
  private wildcard: CertificatesByName = new Map();
  private challenges: CertificatesByName = new Map();
  private fallback: readonly ServerCertificate[] = [];
  private all: readonly ServerCertificate[] = [];
  /** By certificate, then by what else goes into one. */
  private contexts: Map<ServerCertificate, Map<string, TlsContext>> = new Map();

  /** A store without certificates. */
  constructor(policies: TlsPolicies) {
    this.usual = readyPolicy(policies.usual, NO_CERTIFICATES, null);
    this.use(NO_CERTIFICATES, policies);
  }

  /** Whether there is nothing to show. */
  get isEmpty(): boolean {
    return this.all.length === 0;
  }

  /** Takes another set and policies for the handshakes that begin from now on. */
  use(set: CertificateSet, { usual, hosts }: TlsPolicies): void {
    const old = this.contexts;
    this.usual = readyPolicy(usual, set, null);
    this.hosts = new HostTable();
    const ready = hosts.map((host, i) => readyPolicy(host, set, set.hostCertificates?.[i] ?? null));
    for (const [i, host] of hosts.entries()) for (const name of host.names) this.hosts.add(name, ready[i]!);
    this.contexts = new Map();
    const own = ready.flatMap(({ certificate }) => (certificate === null ? [] : [certificate]));
    this.keepContexts(old, [...set.certificates, ...own], new Set([this.usual, ...ready].map(({ terms }) => terms)));
    this.exact = namesOf(set.certificates, (name) => (name.startsWith("*.") ? null : name));
    this.wildcard = namesOf(set.certificates, (name) => (name.startsWith("*.") ? name.slice(1) : null));
    this.challenges = namesOf(set.challenges, (name) => name);
    this.all = set.certificates.length > 0 ? set.certificates : own;
    this.fallback = alternatives(this.all.filter((one) => isTwin(one, this.all[0]!)));
  }

  /**
   * Chooses by what a ClientHello asks for.
   * @param serverName lower-case, "" if the client names none
   * @param protocols what the client offers by ALPN
   * @param offer the signatures that it can check
   * @returns null if there is nothing to show
   * @throws when a certificate that was checked before cannot be used after all
   */
  contextFor(
    serverName: string,
    protocols: readonly string[],
    offer: ClientSignatures = NO_SIGNATURES,
    hasHttp2 = true,
  ): TlsChoice | null {
    if (offersChallenge(protocols)) {
      const challenge = this.challenges.get(serverName)?.[0];
      if (challenge === undefined) return null;
      // RFC 8737 §3: the authority shows no certificate of its own. One handshake is all that there will be.
      const context = createTlsContext({ ...challenge, minVersion: "1.2", clientAuthorities: null });
      return { context, options: CHALLENGE, demand: "", clientAuth: "none", curves: [] };
    }
    const policy = serverName === "" ? this.usual : (this.hosts.get(serverName) ?? this.usual);
    const certificate = policy.certificate ?? this.certificateFor(serverName, offer);
    if (certificate === undefined || policy.isUnready) return null;
    return {
      context: this.contextOf(certificate, policy),
      options: hasHttp2 ? policy.options : policy.optionsWithoutHttp2,
      demand: policy.policy.demand,
      clientAuth: policy.policy.clientAuth,
      curves: policy.policy.curves,
    };
  }

  private certificateFor(serverName: string, offer: ClientSignatures): ServerCertificate | undefined {
    const found = this.certificatesFor(serverName);
    const other = found === this.fallback ? this.otherDefault(offer) : undefined;
    return other ?? firstUsable(found, offer);
  }

  /** Whether there is a certificate for the name itself. @param serverName lower-case */
  has(serverName: string): boolean {
    const dot = serverName.indexOf(".");
    const isNamed = this.exact.has(serverName) || (dot > 0 && this.wildcard.has(serverName.slice(dot)));
    return isNamed || (this.hosts.get(serverName)?.certificate ?? null) !== null;
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

  private contextOf(certificate: ServerCertificate, ready: ReadyPolicy): TlsContext {
    const known = this.contexts.get(certificate) ?? new Map<string, TlsContext>();
    const found = known.get(ready.terms);
    if (found !== undefined) return found;
    this.contexts.set(certificate, known);
    const { chain, key } = certificate;
    const { minVersion, ciphers, curves } = ready.policy;
    const { authorities: clientAuthorities, revocations } = ready;
    const context = createTlsContext({ chain, key, minVersion, clientAuthorities, revocations, ciphers, curves });
    known.set(ready.terms, context);
    return context;
  }

  /** Certificates come by message, so the same one is another object each time. @param terms still in use */
  private keepContexts(
    old: ReadonlyMap<ServerCertificate, ReadonlyMap<string, TlsContext>>,
    certificates: readonly ServerCertificate[],
    terms: ReadonlySet<string>,
  ): void {
    const byId = new Map([...old].map((entry) => [entry[0].id, entry]));
    for (const certificate of certificates) {
      const [before, contexts] = byId.get(certificate.id) ?? [];
      if (before === undefined || contexts === undefined) continue;
      if (before.chain !== certificate.chain || before.key !== certificate.key) continue;
      this.contexts.set(certificate, new Map([...contexts].filter(([of]) => terms.has(of))));
    }
  }
}

/** A policy, made ready with a set of certificates. */
interface ReadyPolicy {
  readonly policy: TlsPolicy;
  /** What goes into a context beside the certificate. */
  readonly terms: string;
  /** The certificate of its names; null: chosen by the name. */
  readonly certificate: ServerCertificate | null;
  readonly authorities: string | null;
  /** PEM texts, one a list. */
  readonly revocations: readonly string[];
  readonly options: HandshakeOptions;
  readonly optionsWithoutHttp2: HandshakeOptions;
  /** Whether a file that says whom to trust is missing: then every handshake is refused. */
  readonly isUnready: boolean;
}

function readyPolicy(policy: TlsPolicy, set: CertificateSet, certificate: ServerCertificate | null): ReadyPolicy {
  const { clientAuth, authoritiesFile, crlFile } = policy;
  const isAsked = clientAuth !== "none";
  const named = authoritiesFile === "" ? set.clientAuthorities : set.texts?.[authoritiesFile]?.[0];
  const lists = crlFile === "" ? [] : set.texts?.[crlFile];
  const authorities = isAsked ? (named ?? "") : null;
  const revocations = isAsked ? (lists ?? []) : [];
  const { minVersion, ciphers, curves } = policy;
  return {
    policy,
    certificate,
    authorities,
    revocations,
    terms: JSON.stringify([minVersion, ciphers, curves, authorities, revocations]),
    options: handshakeOptions(policy, true),
    optionsWithoutHttp2: handshakeOptions(policy, false),
    isUnready: isAsked && (named === undefined || lists === undefined),
  };
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
 * gets RSA if it may. One that can check none of them says so itself.
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

function handshakeOptions({ protocols, clientAuth }: TlsPolicy, hasHttp2: boolean): HandshakeOptions {
  const offered = protocols.length > 0 ? protocols : USUAL_PROTOCOLS;
  return {
    ALPNProtocols: alpnWire(hasHttp2 ? offered : offered.filter((name) => name !== "h2")),
    requestCert: clientAuth !== "none",
    // A certificate that is shown is judged after the handshake, where one can be told from none.
    rejectUnauthorized: clientAuth === "require",
  };
}

/** RFC 7301 §6: old clients offer HTTP/1.0 alone, and are served by the same engine. */
const USUAL_PROTOCOLS: readonly string[] = ["h2", "http/1.1", "http/1.0"];

const CHALLENGE: HandshakeOptions = {
  ALPNProtocols: alpnWire([ACME_PROTOCOL]),
  requestCert: false,
  rejectUnauthorized: false,
};
