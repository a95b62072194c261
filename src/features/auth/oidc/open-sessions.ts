import { randomBytes } from "node:crypto";
import { type AuthIdentity, NO_IDENTITY_PARTS } from "../../../message/client-peer.ts";
import { claimText, fieldBytes } from "../claims.ts";
import type { ProviderWord } from "./provider.ts";
import type { Sealer } from "./sealer.ts";
import {
  isAllowed,
  keptClaims,
  packSession,
  type SignInSession,
  unpackSession,
  userOf,
  type WantedClaims,
} from "./session.ts";
import type { OidcConfig } from "./settings.ts";

/** Opened sessions that a worker remembers, and sign-ins that it knows to be over; beyond, the oldest is forgotten. */
export const MAX_REMEMBERED_SESSIONS = 2048;
/** For how long a session that was renewed or refused is known under its old cookie. */
const RENEWED_MEMORY_MS = 60_000;

/** A session whose cookie has been opened. */
export interface OpenSession {
  readonly session: SignInSession;
  readonly host: string;
  /** The cookie's value. */
  readonly value: string;
  /** Null for a user who may not come in. */
  readonly identity: AuthIdentity | null;
  /** Names of the claims that had no room, of a session that has just been made. */
  readonly cut: readonly string[];
  /** When the user must sign in again, in milliseconds since the epoch. */
  readonly endsMs: number;
  /** What has come of it: the session under its new cookie, or "over"; null while it is in force. */
  next: { readonly became: OpenSession | "over"; readonly untilMs: number } | null;
}

/** What sessions are made and opened with. */
type SessionSettings = Pick<OidcConfig, "allow" | "fields" | "sessionTtlMs">;

/**
 * The sessions of one scope. All that is known of one is in its cookie; what a worker has opened, it remembers, so that the next request
 * costs a look-up. docs/authentication.md#sessions
 */
export class OpenSessions {
  /** What the configuration names of the claims, and those that name a user. */
  readonly wanted: WantedClaims;
  private readonly settings: SessionSettings;
  private readonly sealer: Sealer;
  private readonly now: () => number;
  /** By the end of the cookie's value; the one that was opened longest ago comes first. */
  private readonly known: Map<string, OpenSession> = new Map();

  /** @param now milliseconds since the epoch */
  constructor(settings: SessionSettings, sealer: Sealer, now: () => number) {
    const { allow, fields } = settings;
    const needed = [...fields.map(({ claim }) => claim), ...allow.claims.map(({ name }) => name)];
    const entries = new Map(allow.claims.map(({ name, values }) => [name, values]));
    if (allow.groups.length > 0) entries.set("groups", [...(entries.get("groups") ?? []), ...allow.groups]);
    this.wanted = { names: [...new Set([...needed, ...entries.keys(), "email"])], entries };
    this.settings = settings;
    this.sealer = sealer;
    this.now = now;
  }

  /** The session in a cookie for this host; null for whatever is none, or no longer one. */
  open(value: string, host: string): OpenSession | null {
    let found = this.known.get(keyOf(value));
    if (found?.value !== value) {
      const bytes = this.sealer.open("session", host, value);
      if (bytes === null) return null;
      found = this.remember(unpackSession(bytes), host, value);
    }
    return found.host === host && found.endsMs > this.now() ? found : null;
  }

  /** A new session, of a user who has just signed in. */
  begin(word: ProviderWord, host: string): OpenSession {
    const id = randomBytes(ID_BYTES).toString("base64url");
    const sinceS = Math.floor(this.now() / 1000);
    const { refreshToken, idToken, claims } = word;
    const kept = keptClaims(claims, this.wanted);
    return this.seal({ id, sinceS, refreshToken, idToken, claims: kept, ...this.timesOf(word) }, host);
  }

  /** The same session with what the provider says now. */
  renew(old: OpenSession, word: ProviderWord): OpenSession {
    const { session, host } = old;
    const refreshToken = word.refreshToken || session.refreshToken;
    const idToken = word.idToken || session.idToken;
    const claims = keptClaims(word.claims, this.wanted);
    const times = this.timesOf({ ...word, refreshToken });
    const renewed = this.seal({ ...session, claims, refreshToken, idToken, ...times }, host);
    this.replace(old, renewed);
    return renewed;
  }

  /** The session is over, whatever its cookie says, as far as this worker is asked. */
  end(old: OpenSession): void {
    this.replace(old, "over");
  }

  private replace(old: OpenSession, became: OpenSession | "over"): void {
    const untilMs = became === "over" ? old.endsMs : this.now() + RENEWED_MEMORY_MS;
    old.next = { became, untilMs };
  }

  private seal(session: SignInSession, host: string): OpenSession {
    const { bytes, cut } = packSession(session, this.wanted);
    return this.remember(unpackSession(bytes), host, this.sealer.seal("session", host, bytes), cut);
  }

  private remember(session: SignInSession, host: string, value: string, cut: readonly string[] = []): OpenSession {
    const opened: OpenSession = {
      session,
      host,
      value,
      identity: isAllowed(this.settings.allow, session.claims) ? this.identityOf(session) : null,
      endsMs: session.sinceS * 1000 + this.settings.sessionTtlMs,
      cut,
      next: null,
    };
    if (this.known.size >= MAX_REMEMBERED_SESSIONS) this.known.delete(this.known.keys().next().value!);
    this.known.set(keyOf(value), opened);
    return opened;
  }

  private identityOf({ claims }: SignInSession): AuthIdentity {
    const texts = Object.entries(claims).map(([name, value]) => [name, claimText(value)] as const);
    return {
      ...NO_IDENTITY_PARTS,
      user: userOf(claims),
      hidesCredentials: false,
      claims: Object.fromEntries(texts),
      fields: this.settings.fields.map(({ name, claim }) => [name, fieldBytes(claimText(claims[claim]))] as const),
    };
  }

  /** Some time before its word ends, the provider is asked again, where that can be done. */
  private timesOf({ expiresInS, refreshToken }: ProviderWord): Pick<SignInSession, "renewAtS" | "goodUntilS"> {
    if (expiresInS === 0 || refreshToken === "") return { renewAtS: 0, goodUntilS: 0 };
    const goodUntilS = Math.floor(this.now() / 1000) + expiresInS;
    return { renewAtS: goodUntilS - Math.min(EARLY_S, Math.floor(expiresInS / 5)), goodUntilS };
  }
}

/** The end is enough to look for, since it is what authenticates the rest, and cheaper than all of it. */
function keyOf(value: string): string {
  return value.slice(-KEY_CHARS);
}

const KEY_CHARS = 22;
const ID_BYTES = 16;
const EARLY_S = 60;
