import { type AuthIdentity, NO_IDENTITY_PARTS } from "../../../message/client-peer.ts";
import { placeOf, takerOf } from "../../../message/client-place.ts";
import type { Exchange } from "../../../message/exchange.ts";
import type { NowMs } from "../../../message/ports.ts";
import type { RequestHead } from "../../../message/request-head.ts";
import { ALGORITHMS, type AlgorithmName } from "../../../proto/jwt/key-set.ts";
import type { AuthMethod } from "../auth-phase.ts";
import { claimText, claimTexts, fieldBytes } from "../claims.ts";
import { type Judgement, letIn, type Refusal } from "../judgement.ts";
import { type Claims, claimNamed } from "./claims.ts";
import type { KeyRing, ReadyKey } from "./key-ring.ts";
import { isSignedBy, SlowSignatures } from "./signature.ts";
import {
  claimsFault,
  claimsOf,
  endOf,
  keysFor,
  type ReadToken,
  readToken,
  type TokenFault,
  type TokenRules,
} from "./token.ts";
import { TokenMemory } from "./token-memory.ts";
import { TokenFound, TokenPlaces } from "./token-places.ts";

/** Longest token that edge reads; it refuses a longer one unread. docs/authentication.md#tokens */
const MAX_TOKEN_BYTES = 16_384;

/** What tokens must say, and what becomes of it. */
interface JwtRules extends TokenRules {
  readonly realm: string;
  /** Those that count, whatever else the keys are for. */
  readonly algorithms: readonly AlgorithmName[];
  /** Where tokens are: `header`, `header:NAME`, `cookie:NAME`, `query:NAME`. */
  readonly places: readonly string[];
  /** Fields that the request gets, and the claims that are their values. */
  readonly fields: readonly { readonly name: string; readonly claim: string }[];
  /** Whether the token goes on to the upstream. */
  readonly keepsToken: boolean;
}

/** What a `JwtMethod` needs of its worker. */
interface JwtPorts {
  readonly keys: KeyRing;
  /** Milliseconds since the epoch. */
  readonly clock: NowMs;
}

type Later = (judgement: Judgement) => void;

/**
 * `jwt`: signed tokens. RFC 7519, docs/authentication.md#tokens. A token that was found good is known by its bytes until it ends or the
 * keys change; what is refused is judged anew each time.
 */
export class JwtMethod implements AuthMethod {
  readonly name = "jwt";
  readonly challenge: string;
  private readonly rules: JwtRules;
  private readonly ports: JwtPorts;
  private readonly places: TokenPlaces;
  private readonly slow: SlowSignatures = new SlowSignatures();
  private readonly memory: TokenMemory<Judgement> = new TokenMemory();
  /** The keys by which the tokens in memory were verified. */
  private generation = 0;
  /** Those who wait for keys or for a slow signature; an entry that is gone has left. */
  private readonly waiting: Map<Exchange, Later> = new Map();

  constructor(rules: JwtRules, ports: JwtPorts) {
    this.challenge = `Bearer realm="${rules.realm}"`;
    this.rules = rules;
    this.ports = ports;
    this.places = new TokenPlaces(rules.places, rules.keepsToken);
  }

  judge(ex: Exchange, later: Later): Judgement | null {
    const { places, ports } = this;
    const found = places.find(ex.request);
    if (found === TokenFound.Nothing) return this.refused("missing");
    if (found === TokenFound.Several) return this.refused("ambiguous");
    const { bytes, from, to } = places;
    if (to - from > MAX_TOKEN_BYTES) return this.refused("too_long");
    if (ports.keys.generation !== this.generation) this.forgetAll();
    const known = this.memory.find(bytes, from, to, ports.clock.nowMs);
    if (known !== null) return this.given(ex, known);
    const token = readToken(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).latin1Slice());
    return typeof token === "string" ? this.refused(token) : this.verify(ex, token, true, later);
  }

  credentialsInQuery(request: RequestHead): readonly string[] {
    return this.places.inQuery(request);
  }

  clean(request: RequestHead): void {
    this.places.takeOff(request);
  }

  onLeft(ex: Exchange): void {
    this.waiting.delete(ex);
  }

  /** @param mayAsk whether newer keys may be asked for @returns null if the judgement comes later */
  private verify(ex: Exchange, token: ReadToken, mayAsk: boolean, later: Later): Judgement | null {
    const { keys } = this.ports.keys;
    const found = keys === null ? "keys_unavailable" : keysFor(token, keys, this.rules.algorithms);
    if (typeof found !== "string") {
      if (ALGORITHMS[token.algorithm].isSlow) return this.verifySlowly(ex, token, found, later);
      return found.some((key) => isSignedBy(key, token)) ? this.concluded(ex, token) : this.refused("signature");
    }
    const isAsked = mayAsk && (found === "keys_unavailable" || found === "unknown_key");
    if (!isAsked) return this.refused(found);
    const take = this.wait(ex, later);
    const asked = this.ports.keys.refresh(placeOf(ex), () => take(() => this.verify(ex, token, false, later)));
    if (asked === "asked") return null;
    this.waiting.delete(ex);
    return this.refused(asked === "full" ? "no_room" : found);
  }

  private verifySlowly(ex: Exchange, token: ReadToken, keys: readonly ReadyKey[], later: Later): Judgement | null {
    const [key, ...others] = keys;
    if (key === undefined) return this.refused("signature");
    const take = this.wait(ex, later);
    const hasRoom = this.slow.verify(key, token, takerOf(ex), (isGood) =>
      take(() => {
        if (isGood === null) return this.refused("no_room");
        return isGood ? this.concluded(ex, token) : this.verifySlowly(ex, token, others, later);
      }),
    );
    if (hasRoom) return null;
    this.waiting.delete(ex);
    return this.refused("no_room");
  }

  /** @returns goes on with the exchange, unless its client has left: another request may have it then */
  private wait(ex: Exchange, later: Later): (goOn: () => Judgement | null) => void {
    this.waiting.set(ex, later);
    return (goOn) => {
      if (this.waiting.get(ex) !== later) return;
      this.waiting.delete(ex);
      const judgement = goOn();
      if (judgement !== null) later(judgement);
    };
  }

  /** The signature is good. */
  private concluded(ex: Exchange, token: ReadToken): Judgement {
    const { rules, ports } = this;
    const { nowMs } = ports.clock;
    const claims = claimsOf(token);
    const fault = claims === null ? "malformed" : claimsFault(claims, rules, nowMs);
    if (claims === null || (fault !== null && fault !== "claims")) return this.refused(fault ?? "malformed");
    const judgement = fault === null ? letIn(this.identityOf(claims)) : this.refused(fault);
    // Keys that have come while the signature was verified know nothing of it.
    if (ports.keys.generation === this.generation)
      this.memory.keep(Buffer.from(token.text, "latin1"), judgement, endOf(claims, rules));
    return this.given(ex, judgement);
  }

  private given(ex: Exchange, judgement: Judgement): Judgement {
    if (judgement.kind === "in") this.places.takeOff(ex.request);
    return judgement;
  }

  private identityOf(claims: Claims): AuthIdentity {
    const fields = this.rules.fields.flatMap(({ name, claim }) => {
      const value = claimText(claimNamed(claims, claim));
      return value === "" ? [] : [[name, fieldBytes(value)] as const];
    });
    const user = typeof claims.sub === "string" ? claimText(claims.sub) : "";
    // What goes on of the credentials is decided here, place by place.
    return { ...NO_IDENTITY_PARTS, user, hidesCredentials: false, claims: claimTexts(claims), fields };
  }

  /** RFC 6750 §3.1: a request without a token is told nothing but the scheme. */
  private refused(reason: TokenFault): Refusal {
    const { challenge } = this;
    if (reason === "missing") return { kind: "refused", status: 401, reason };
    if (UNSURE.has(reason)) return { kind: "refused", status: 503, reason };
    if (reason === "claims")
      return { kind: "refused", status: 403, reason, challenge: `${challenge}, error="insufficient_scope"` };
    return { kind: "refused", status: 401, reason, challenge: `${challenge}, error="invalid_token"` };
  }

  private forgetAll(): void {
    this.memory.clear();
    this.generation = this.ports.keys.generation;
  }
}

const UNSURE: ReadonlySet<TokenFault> = new Set(["keys_unavailable", "no_room"]);
