import { createHash, timingSafeEqual } from "node:crypto";
import type { TextTable } from "../../../memory/text-table.ts";
import { NO_IDENTITY_PARTS } from "../../../message/client-peer.ts";
import { takerOf } from "../../../message/client-place.ts";
import type { Exchange } from "../../../message/exchange.ts";
import type { RequestHead } from "../../../message/request-head.ts";
import type { AuthMethod } from "../auth-phase.ts";
import type { PasswordChecks } from "../basic-method.ts";
import { fieldBytes } from "../claims.ts";
import { DENIED, type Judgement, letIn, NO_ROOM } from "../judgement.ts";
import { TokenFound, TokenPlaces } from "../jwt/token-places.ts";
import { SLOW } from "./key-file.ts";
import type { OwnKey } from "./settings.ts";

/** Longest key; a longer one is refused. */
const MAX_KEY_BYTES = 1024;
/** Requests that wait for one check of a key, since they show the same; those beyond get 503. */
const MAX_JOINED_REQUESTS = 1024;

/** Places of keys, and the fields that they give. */
interface ApiKeyRules {
  readonly header: string;
  /** The parameter of the query; "" for none. */
  readonly query: string;
  /** Names of the fields that get the name of the key. */
  readonly fields: readonly string[];
  /** Whether the field with the key goes on to the upstream; a parameter never does. */
  readonly keepsKey: boolean;
  readonly ownKeys: readonly OwnKey[];
}

type Later = (judgement: Judgement) => void;

/** A hash that takes its time. */
interface SlowKey {
  readonly name: string;
  readonly hash: string;
}

/**
 * `api_key`: keys of programs, in a field or a parameter. docs/authentication.md#api-keys. Keys have their SHA-256 as index, so that time
 * says nothing of it; keys kept as argon2id are checked where passwords are.
 */
export class ApiKeyMethod implements AuthMethod {
  readonly name = "api_key";
  readonly challenge = 'ApiKey realm="Restricted"';
  private readonly rules: ApiKeyRules;
  private readonly checks: PasswordChecks;
  /** The keys of the file, which another one may replace at any time; null without a file. */
  private readonly file: { readonly table: TextTable } | null;
  private readonly places: TokenPlaces;
  /** Those of which keys go off; null for none. */
  private readonly taken: TokenPlaces | null;
  /** The names by the digests of `sha256:`. */
  private readonly own: ReadonlyMap<string, string>;
  private readonly ownSlow: readonly SlowKey[];
  private seen: TextTable | null = null;
  private slow: readonly SlowKey[] = [];
  private readonly waiting: Map<string, Later[]> = new Map();

  constructor(rules: ApiKeyRules, checks: PasswordChecks, file: { readonly table: TextTable } | null) {
    this.rules = rules;
    this.checks = checks;
    this.file = file;
    const inQuery = rules.query === "" ? [] : [`query:${rules.query}`];
    this.places = new TokenPlaces([`header:${rules.header}`, ...inQuery], false);
    this.taken = rules.keepsKey ? (inQuery.length === 0 ? null : new TokenPlaces(inQuery, false)) : this.places;
    this.own = new Map(rules.ownKeys.flatMap(({ name, hash }) => (isSlow(hash) ? [] : [[hash, fieldBytes(name)]])));
    this.ownSlow = rules.ownKeys
      .filter(({ hash }) => isSlow(hash))
      .map(({ name, hash }) => ({ name: fieldBytes(name), hash }));
    this.slow = this.ownSlow;
  }

  judge(ex: Exchange, later: Later): Judgement | null {
    const { places } = this;
    if (places.find(ex.request) !== TokenFound.Token) return DENIED;
    const { bytes, from, to } = places;
    if (to - from > MAX_KEY_BYTES) return DENIED;
    const key = Buffer.from(bytes.subarray(from, to));
    const name = this.nameOf(key);
    if (name !== null) return this.letIn(name);
    const slow = this.slowKeys();
    return slow.length === 0 ? DENIED : this.check(key.latin1Slice(), slow, ex, later);
  }

  credentialsInQuery(request: RequestHead): readonly string[] {
    return this.places.inQuery(request);
  }

  clean(request: RequestHead): void {
    this.taken?.takeOff(request);
  }

  /** Null for a key that is not known by its SHA-256. */
  private nameOf(key: Uint8Array): string | null {
    const digest = createHash("sha256").update(key).digest();
    const hash = `sha256:${digest.toString("hex")}`;
    const own = this.own.get(hash);
    if (own !== undefined) return own;
    const table = this.file?.table;
    const number = table?.find(hash) ?? -1;
    if (table === undefined || number < 0) return null;
    const known = Buffer.from(table.keyOf(number).slice("sha256:".length), "hex");
    return timingSafeEqual(digest, known) ? table.valueOf(number) : null;
  }

  /** Those of the file and of the configuration. */
  private slowKeys(): readonly SlowKey[] {
    const table = this.file?.table ?? null;
    if (table === this.seen || table === null) return this.slow;
    const ofFile: SlowKey[] = [];
    for (let number = 0; number < table.size; number++) {
      if (table.markOf(number) === SLOW) ofFile.push({ name: table.valueOf(number), hash: table.keyOf(number) });
    }
    this.seen = table;
    this.slow = [...this.ownSlow, ...ofFile];
    return this.slow;
  }

  /** One check serves all requests that show the same key at the same time. */
  private check(key: string, slow: readonly SlowKey[], ex: Exchange, later: Later): Judgement | null {
    const { passwords, guesses } = this.checks;
    const known = slow.find(({ hash }) => passwords.knows(key, hash));
    if (known !== undefined) return this.letIn(known.name);
    const others = this.waiting.get(key);
    if (others !== undefined) {
      if (others.length >= MAX_JOINED_REQUESTS) return NO_ROOM;
      others.push(later);
      return null;
    }
    const retryAfterS = guesses.begin(ex, NO_USER);
    if (retryAfterS > 0) return { kind: "refused", status: 429, retryAfterS };
    const undo = guesses.undoer(ex, NO_USER);
    const all = [later];
    this.waiting.set(key, all);
    let isLater = false;
    let early: Judgement | null = null;
    const taker = takerOf(ex);
    const settle = (judgement: Judgement): void => {
      this.waiting.delete(key);
      if (judgement !== DENIED) undo();
      if (!isLater) early = judgement;
      else for (const one of all) one(judgement);
    };
    const next = (index: number): void => {
      const one = slow[index];
      if (one === undefined) return settle(DENIED);
      passwords.verify({ password: key, hashes: [one.hash] }, taker, (isGood) => {
        if (isGood === null) settle(NO_ROOM);
        else if (isGood) settle(this.letIn(one.name));
        else next(index + 1);
      });
    };
    next(0);
    isLater = true;
    return early;
  }

  /** @param name one character a byte */
  private letIn(name: string): Judgement {
    const fields = this.rules.fields.map((field) => [field, name] as const);
    const user = Buffer.from(name, "latin1").toString("utf8");
    return letIn({ ...NO_IDENTITY_PARTS, user, hidesCredentials: false, fields });
  }
}

function isSlow(hash: string): boolean {
  return hash.startsWith("$");
}

/** Guesses of keys name no user. */
const NO_USER = "";
