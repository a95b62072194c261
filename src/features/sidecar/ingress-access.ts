import { isAllowedId } from "../../core/spiffe-id.ts";
import type { ClientIdentity } from "../../message/client-peer.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { isPlainPath } from "../../proto/h1/request-rules.ts";
import { DotReading, holdsDotSegment, mergeSlashes } from "../../proto/target/dot-segments.ts";
import { decodeOnce, MAX_DECODING_ROUNDS } from "../../proto/target/percent-decoding.ts";

/** What some clients may ask for: all of it must hold. docs/sidecar.md#authorization */
export interface AccessRule {
  /** SPIFFE ids, `*` at the end allowed; empty is every client. */
  readonly identities: readonly string[];
  /** 1 for each allowed method (by Method). */
  readonly methods: Uint8Array;
  /** Paths, `*` at the end allowed; empty is every path. */
  readonly paths: readonly string[];
}

/** Why a request is refused: its client may not come at all, or may not ask for this, or there is no split outbound; "" if it is not. */
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

/** The known facts of a client, whatever it asks for. */
interface ClientAccess {
  readonly isAllowed: boolean;
  /** Those that are about it. */
  readonly rules: readonly AccessRule[];
}

/**
 * The SPIFFE id of a client: the one URI of its certificate. With several URIs it has none, since they would be several identities.
 * docs/sidecar.md#who-may-come-in
 * @returns "" if it has none
 */
export function spiffeId(identity: ClientIdentity | null): string {
  const uris = identity?.uris ?? [];
  return uris.length === 1 && uris[0]!.startsWith("spiffe://") ? uris[0]! : "";
}

function takes(pattern: string, path: string): boolean {
  return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

/**
 * Every path that the application may read in the one that it gets, which goes on as it came: decoded or not, once or more often, with
 * and without repeated slashes and parameters, and with backslashes as slashes.
 * @returns null if it holds dot segments in any spelling, which clients resolve before they ask, and servers in different ways
 */
function readingsOf(head: RequestHead): readonly string[] | null {
  const raw = head.path();
  if (isPlainPath(head) && !raw.includes(";")) return [raw];
  const readings: string[] = [];
  let text = raw;
  for (let round = 0; ; round++) {
    for (const reading of spellingsOf(text)) {
      if (holdsDotSegment(reading, DOTS)) return null;
      readings.push(reading, mergeSlashes(reading));
    }
    const next = decodeOnce(text);
    if (next === text) return readings;
    if (round === MAX_DECODING_ROUNDS) return null;
    text = next;
  }
}

/** What servers make of parameters (RFC 3986 §3.3) and of backslashes, in either order. */
function spellingsOf(text: string): readonly string[] {
  if (!text.includes(";") && !text.includes("\\")) return [text];
  const slashed = text.replaceAll("\\", "/");
  const bare = text.replace(PARAMETERS, "");
  return [text, slashed, bare, bare.replaceAll("\\", "/"), slashed.replace(PARAMETERS, "")];
}

/** What servers of any kind take for dots. */
const DOTS: DotReading = DotReading.Parameters | DotReading.Blanks;
const PARAMETERS = /;[^/]*/g;
