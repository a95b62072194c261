import { equalsLower, latin1 } from "../../core/bytes.ts";
import { NO_IDENTITY_PARTS } from "../../message/client-peer.ts";
import { takerOf } from "../../message/client-place.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { AuthMethod } from "./auth-phase.ts";
import type { Guesses } from "./guesses.ts";
import { DENIED, type Judgement, letIn, NO_ROOM } from "./judgement.ts";
import type { Passwords } from "./passwords.ts";

/** Requests that wait for one check of a password, since they show the same; those beyond get 503. */
const MAX_JOINED_REQUESTS = 1024;

/** Name and password of a request. */
interface Credentials {
  readonly name: string;
  readonly password: string;
}

type Later = (judgement: Judgement) => void;

interface Shown extends Credentials {
  /** Undefined if there is no such user. */
  readonly hash: string | undefined;
}

/** What passwords are checked with, in a worker. */
export interface PasswordChecks {
  readonly passwords: Passwords;
  readonly guesses: Guesses;
}

/**
 * `basic`: names and passwords. RFC 7617, docs/authentication.md#passwords. Each refusal takes one check of each kind of hash that
 * there is, so that names cannot be found out by the time that it takes.
 */
export class BasicMethod implements AuthMethod {
  readonly name = "basic";
  readonly challenge: string;
  private readonly hashes: ReadonlyMap<string, string>;
  private readonly passwords: Passwords;
  private readonly guesses: Guesses;
  private readonly hidesCredentials: boolean;
  private readonly field: HeaderId;
  /** A hash of each kind, by its kind. */
  private readonly decoys: ReadonlyMap<string, string>;
  /** Who waits for the check of a name and password. */
  private readonly waiting: Map<string, Later[]> = new Map();

  /** @param users name to hash @param passes whether `Authorization` goes on to the upstream @param field that has the credentials */
  constructor(
    realm: string,
    users: ReadonlyMap<string, string>,
    { passwords, guesses }: PasswordChecks,
    passes: boolean,
    field: HeaderId = HeaderId.Authorization,
  ) {
    this.field = field;
    this.guesses = guesses;
    this.challenge = `Basic realm="${realm}", charset="UTF-8"`;
    this.hashes = users;
    this.passwords = passwords;
    this.hidesCredentials = !passes;
    this.decoys = new Map([...(users.size === 0 ? [DECOY] : users.values())].map((hash) => [kindOf(hash), hash]));
  }

  judge(ex: Exchange, later: Later): Judgement | null {
    const { headers } = ex.request;
    const at = onlyOne(headers, this.field);
    if (at < 0) return DENIED;
    const field = headers.valueBytes(at);
    const before = this.passwords.shown(field);
    if (before !== null && this.hashes.get(before.name) === before.hash) return this.letIn(before.name);
    const found = credentialsOf(headers, this.field);
    if (found === null) return DENIED;
    const { name, password } = found;
    const hash = this.hashes.get(name);
    const untilMs = hash === undefined ? 0 : this.passwords.knownUntil(password, hash);
    if (untilMs > 0) {
      this.passwords.noteShown(field, { name, hash: hash!, untilMs });
      return this.letIn(name);
    }
    return this.check({ name, password, hash }, ex, later);
  }

  /** One check serves all requests that show the same at the same time: a page and what belongs to it come together. */
  private check({ name, password, hash }: Shown, ex: Exchange, later: Later): Judgement | null {
    const key = `${name}:${password}`;
    const others = this.waiting.get(key);
    if (others !== undefined) {
      if (others.length >= MAX_JOINED_REQUESTS) return NO_ROOM;
      others.push(later);
      return null;
    }
    const retryAfterS = this.guesses.begin(ex, name);
    if (retryAfterS > 0) return { kind: "refused", status: 429, retryAfterS };
    const undo = this.guesses.undoer(ex, name);
    const all = [later];
    this.waiting.set(key, all);
    let isLater = false;
    let hasRoom = true;
    this.passwords.verify({ password, hashes: this.checksOf(hash) }, takerOf(ex), (isGood) => {
      this.waiting.delete(key);
      hasRoom = isGood !== null;
      const isUser = isGood === true && hash !== undefined;
      if (!hasRoom || isUser) undo();
      const judgement = isUser ? this.letIn(name) : hasRoom ? DENIED : NO_ROOM;
      if (isLater) for (const one of all) one(judgement);
    });
    isLater = true;
    return hasRoom ? null : NO_ROOM;
  }

  /** What a password is checked with: the user's hash, if there is one, and one of each other kind. */
  private checksOf(hash: string | undefined): readonly [string, ...string[]] {
    const [decoy, ...others] = this.decoys.values();
    if (hash === undefined) return [decoy!, ...others];
    const own = kindOf(hash);
    return [hash, ...[...this.decoys].filter(([kind]) => kind !== own).map(([, one]) => one)];
  }

  private letIn(user: string): Judgement {
    return letIn({ ...NO_IDENTITY_PARTS, user, hidesCredentials: this.hidesCredentials });
  }
}

/**
 * What the one `Authorization: Basic` of a head says; null if there is none, more than one, or none that can be read.
 * RFC 7617 §2; text is UTF-8.
 */
function credentialsOf(headers: HeaderBlock, field: HeaderId): Credentials | null {
  const at = onlyOne(headers, field);
  if (at < 0) return null;
  const from = headers.valueFrom(at);
  const to = headers.valueTo(at);
  if (to - from <= SCHEME.length || !equalsLower(headers.bytes, from, from + SCHEME.length, SCHEME)) return null;
  const encoded = headers.valueText(at).slice(SCHEME.length).trim();
  if (!BASE64.test(encoded)) return null;
  let text: string;
  try {
    text = UTF8.decode(Buffer.from(encoded, "base64"));
  } catch {
    return null;
  }
  const colon = text.indexOf(":");
  if (colon < 1 || /\p{Cc}/u.test(text)) return null;
  return { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Finds the one field of a head that has the credentials; -1 if there is none, or more than one. */
function onlyOne(headers: HeaderBlock, field: HeaderId): number {
  const at = headers.find(field);
  return at >= 0 && headers.find(field, at + 1) < 0 ? at : -1;
}

/** What the time of a check depends on: algorithm and cost, without salt and sum. bcrypt's letters are of different programs alone. */
function kindOf(hash: string): string {
  return hash.startsWith("$2")
    ? hash.slice(3, BCRYPT_COST_END)
    : hash.slice(0, hash.lastIndexOf("$", hash.lastIndexOf("$") - 1));
}

/** `$2y$10$` */
const BCRYPT_COST_END = 6;
const SCHEME: Uint8Array = latin1("basic ");
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** If there are no users: what the default of `edge passwd` makes of a random text. */
const DECOY =
  "$argon2id$v=19$m=65536,t=2,p=1$hJT/LFEqkcZPOHdAbwSEo8WALwaQjExpw0DR9G4xm84$cRAY6peZMDiU3rmLbw2kC/NRk4yUKtOuVjvIwydS9DA";
