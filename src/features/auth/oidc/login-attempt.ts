import { randomBytes } from "node:crypto";

/** How long a sign-in may take, from the redirect to the provider to the way back. */
const LOGIN_ATTEMPT_MS = 600_000;
/** Characters of the path to which a sign-in comes back; a longer one gives way to `/`. */
const MAX_RETURN_CHARS = 512;

/** A sign-in that is under way, as the sealed cookie of its tab keeps it. docs/authentication.md#signing-in */
export interface LoginAttempt {
  /** What names its cookie: it begins with the time, so that the oldest of several is known. */
  readonly id: string;
  /** Comes back with the code. RFC 6749 §10.12 */
  readonly state: string;
  /** Comes back in the ID token. OpenID Connect Core 1.0, section 15.5.2 */
  readonly nonce: string;
  /** The secret of PKCE. RFC 7636 §4.1 */
  readonly verifier: string;
  /** Where the browser goes afterwards: a path of the same origin, with its query. */
  readonly returnTo: string;
  /** In milliseconds since the epoch. */
  readonly endsMs: number;
}

/** A new attempt, whose state begins with the scope's tag. */
export function beginAttempt(tag: string, returnTo: string, nowMs: number): LoginAttempt {
  const id = Math.floor(nowMs / 1000).toString(36) + randomBytes(ID_BYTES).toString("hex");
  return {
    id,
    state: `${tag}.${id}.${secret()}`,
    nonce: secret(),
    verifier: secret(),
    returnTo,
    endsMs: nowMs + LOGIN_ATTEMPT_MS,
  };
}

/** The scope's tag and the id of the attempt that a state names; null for a text that is none of ours. */
export function readState(state: string): { readonly tag: string; readonly id: string } | null {
  const parts = STATE.exec(state);
  return parts === null ? null : { tag: parts[1]!, id: parts[2]! };
}

/**
 * The path to which a sign-in comes back, for a Location: of the same origin whatever a client has asked for, since a browser would
 * take `//host` and `/\host` for another one.
 * @param target path and query as they came, one character a byte
 */
export function returnPath(target: string): string {
  const path = target.replace(/^[/\\]+/, "/").replace(UNSAFE, (sign) => {
    return `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  });
  return path.startsWith("/") && path.length <= MAX_RETURN_CHARS ? path : "/";
}

/** 256 bits, as letters, digits, `-` and `_`. */
function secret(): string {
  return randomBytes(32).toString("base64url");
}

const STATE = /^([0-9a-f]{10})\.([0-9a-z]{14,20})\.[A-Za-z0-9_-]{43}$/;
const UNSAFE = /[\0-\x20"<>\\^`{|}\x7f-\uffff]/g;
const ID_BYTES = 5;
