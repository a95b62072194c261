import { isAllowedId } from "../../core/spiffe-id.ts";
import type { ClientIdentity } from "../../message/exchange.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { isPlainPath } from "../../proto/h1/request-rules.ts";
import { canonicalise, deeperReadings, slashedPath } from "../../proto/target/canonical-path.ts";
import { decodeOnce } from "../../proto/target/percent-decoding.ts";

/** What some clients may ask for: all of it must hold. docs/sidecar.md#authorization */
export interface AccessRule {
  /** SPIFFE ids, `*` at the end allowed; empty is every client. */
  readonly identities: readonly string[];
  /** 1 where the method (by Method) is allowed. */
  readonly methods: Uint8Array;
  /** Paths, `*` at the end allowed; empty is every path. */
  readonly paths: readonly string[];
}

/** Why a request is refused: its client may not come at all, or may not ask for this, or there is no split outbound; "" where it is not. */
export type Denial = "" | "allowed_ids" | "authorization" | "outbound";

/** Who may ask the application for what. */
export class IngressAccess {
  private readonly allowedIds: readonly string[];
  private readonly rules: readonly AccessRule[];
  private readonly anonymous: ClientAccess;
  private readonly clients: WeakMap<ClientIdentity, ClientAccess> = new WeakMap();

  /**
   * @param allowedIds SPIFFE ids, `*` at the end allowed; empty admits every client that the handshake admitted
   * @param rules one of them must allow a request; empty allows all
   */
  constructor(allowedIds: readonly string[], rules: readonly AccessRule[]) {
    this.allowedIds = allowedIds;
    this.rules = rules;
    this.anonymous = this.accessOf("");
  }

  denialOf(identity: ClientIdentity | null, head: RequestHead): Denial {
    const client = identity === null ? this.anonymous : this.known(identity);
    if (!client.isAllowed) return "allowed_ids";
    if (this.rules.length === 0) return "";
    const own = client.rules.filter(({ methods }) => methods[head.method] === 1);
    if (own.some(({ paths }) => paths.length === 0)) return "";
    const readings = own.length === 0 ? null : readingsOf(head);
    const isAllowed = readings?.every((path) => own.some(({ paths }) => paths.some((one) => takes(one, path))));
    return isAllowed === true ? "" : "authorization";
  }

  /** The same object is asked about for each request of a connection. */
  private known(identity: ClientIdentity): ClientAccess {
    const known = this.clients.get(identity);
    if (known !== undefined) return known;
    const access = this.accessOf(spiffeId(identity));
    this.clients.set(identity, access);
    return access;
  }

  private accessOf(id: string): ClientAccess {
    const fits = (ids: readonly string[]): boolean => ids.length === 0 || (id !== "" && isAllowedId(id, ids));
    return { isAllowed: fits(this.allowedIds), rules: this.rules.filter(({ identities }) => fits(identities)) };
  }
}

/** What is known of a client, whatever it asks for. */
interface ClientAccess {
  readonly isAllowed: boolean;
  /** Those that are about it. */
  readonly rules: readonly AccessRule[];
}

/**
 * The SPIFFE id of a client: the one URI of its certificate. With several URIs it has none, since they would be several identities.
 * docs/sidecar.md#who-may-come-in
 * @returns "" where it has none
 */
export function spiffeId(identity: ClientIdentity | null): string {
  const uris = identity?.uris ?? [];
  return uris.length === 1 && uris[0]!.startsWith("spiffe://") ? uris[0]! : "";
}

function takes(pattern: string, path: string): boolean {
  return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

/**
 * Every path that the application may read in the one that it gets, which goes on as it came: with and without escapes, dot
 * segments, repeated slashes, backslashes and parameters.
 * @returns null where servers disagree on where it leads
 */
function readingsOf(head: RequestHead): readonly string[] | null {
  const raw = head.path();
  if (isPlainPath(head) && !raw.includes(";")) return [raw];
  const readings = [raw, decodeOnce(raw)];
  for (const spelling of raw.includes(";") ? [raw, raw.replace(PARAMETERS, "")] : [raw]) {
    const { canonical } = canonicalise(spelling);
    const deeper = deeperReadings(canonical);
    if (deeper === null) return null;
    readings.push(canonical, slashedPath(canonical), ...deeper, ...deeper.map(slashedPath));
  }
  return readings;
}

/** RFC 3986 §3.3: what some servers take off each segment. */
const PARAMETERS = /;[^/]*/g;
