import { type AuthIdentity, type ClientIdentity, NO_IDENTITY_PARTS } from "../../message/client-peer.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { AuthMethod } from "./auth-phase.ts";
import { claimText } from "./claims.ts";
import { attributeOf, canonicalName } from "./distinguished-name.ts";
import { FORBIDDEN, type Judgement, letIn } from "./judgement.ts";

/** Which certificates let in: one that any of the lists names. */
interface MtlsTerms {
  /** Distinguished names; `*` is every one. */
  readonly subjects: readonly string[];
  /** URIs among the alternative names; with `*` at the end, all that begin like that. */
  readonly uris: readonly string[];
  /** Lower-case hexadecimal without colons. */
  readonly fingerprints: readonly string[];
}

/**
 * `mtls`: the certificate that the listener has verified in the handshake. What a proxy says of one counts for nothing here.
 * docs/authentication.md#client-certificates
 */
export class MtlsMethod implements AuthMethod {
  readonly name = "mtls";
  readonly challenge = "";
  private readonly terms: MtlsTerms;
  private readonly takesAll: boolean;
  private readonly subjects: ReadonlySet<string>;
  private readonly fingerprints: ReadonlySet<string>;
  /** By what the connection has shown: judged once a connection. */
  private readonly judged: WeakMap<ClientIdentity, Judgement> = new WeakMap();

  constructor(terms: MtlsTerms) {
    this.terms = terms;
    this.takesAll = terms.subjects.includes("*");
    this.subjects = new Set(terms.subjects.map((name) => canonicalName(name)).filter((name) => name !== null));
    this.fingerprints = new Set(terms.fingerprints);
  }

  judge({ client }: Exchange): Judgement {
    const { identity } = client;
    if (identity === null) return FORBIDDEN;
    let judgement = this.judged.get(identity);
    if (judgement === undefined) {
      judgement = this.isNamed(identity) ? letIn(identityOf(identity)) : FORBIDDEN;
      this.judged.set(identity, judgement);
    }
    return judgement;
  }

  private isNamed({ subject, uris, sha256 }: ClientIdentity): boolean {
    if (this.takesAll || this.fingerprints.has(sha256)) return true;
    if (uris.some((uri) => this.terms.uris.some((one) => fits(uri, one)))) return true;
    const name = this.subjects.size === 0 ? null : canonicalName(subject);
    return name !== null && this.subjects.has(name);
  }
}

function fits(uri: string, pattern: string): boolean {
  return pattern.endsWith("*") ? uri.startsWith(pattern.slice(0, -1)) : uri === pattern;
}

function identityOf({ subject, uris, dnsNames, sha256 }: ClientIdentity): AuthIdentity {
  const cn = claimText(attributeOf(subject, "CN"));
  const claims = { subject: claimText(subject), cn, uri: claimText(uris), dns: claimText(dnsNames), sha256 };
  const user = cn || claimText(uris[0]) || claims.subject;
  return { ...NO_IDENTITY_PARTS, user, hidesCredentials: false, claims };
}
