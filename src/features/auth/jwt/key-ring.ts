import { createPublicKey, createSecretKey, type KeyObject } from "node:crypto";
import type { Takers } from "../../../core/message-takers.ts";
import type { WorkerService } from "../../../core/worker-service.ts";
import { ALGORITHMS, type AlgorithmName, type VerificationKey } from "../../../proto/jwt/key-set.ts";
import { ClientShares } from "../client-shares.ts";

/** Requests that wait in a worker for the keys of one source; those beyond get 503. */
const MAX_WAITING_TOKENS = 256;

/** A key that is ready to verify. */
export interface ReadyKey {
  /** "" if it has no name. */
  readonly kid: string;
  readonly algorithms: readonly AlgorithmName[];
  readonly object: KeyObject;
}

/** The keys of a method, which may change. */
export interface KeyRing {
  /** Another number for each set of keys: what was found with another one does not hold. */
  readonly generation: number;
  /** Null while there are none. */
  readonly keys: readonly ReadyKey[] | null;
  /**
   * Asks for newer keys.
   * @param client who waits for them, and has a share of the places
   * @param listener called once, later, when they are there or cannot be had; only if they are asked for
   */
  refresh(client: string, listener: () => void): KeyRequest;
}

/** What becomes of a question for keys: they come, it is too early to ask again or there are no others, too many wait. */
type KeyRequest = "asked" | "early" | "full";

/** Keys that a configuration holds. */
export class FixedKeys implements KeyRing {
  readonly generation = 0;
  readonly keys: readonly ReadyKey[];

  constructor(keys: readonly VerificationKey[]) {
    this.keys = readyKeys(keys);
  }

  refresh(): KeyRequest {
    return "early";
  }
}

/** A set of keys that the control thread has fetched, as it tells all workers. */
export interface FetchedKeySet {
  /** Names the source: see `keySourceId`. */
  readonly id: string;
  readonly keys: readonly VerificationKey[];
}

/** From the control thread: keys of token issuers, newer than what was there. */
export interface KeysMessage {
  readonly kind: "keys";
  readonly sets: readonly FetchedKeySet[];
}

/**
 * Asks the control thread for newer keys of a source.
 * @param answer called once, later, after the keys, if there were newer ones; for so many milliseconds there is no use in asking again
 */
type KeyQuestion = (id: string, response: (pauseMs: number) => void) => void;

/** The keys of one source in this worker. */
class FetchedKeys implements KeyRing {
  generation = 0;
  keys: readonly ReadyKey[] | null = null;
  private readonly waiting: { readonly client: string; readonly listener: () => void }[] = [];
  private readonly shares: ClientShares = new ClientShares(MAX_WAITING_TOKENS);
  private readonly ask: (response: (pauseMs: number) => void) => void;
  private readonly now: () => number;
  private isAsking = false;
  private notBeforeMs = 0;

  constructor(ask: (response: (pauseMs: number) => void) => void, now: () => number) {
    this.ask = ask;
    this.now = now;
  }

  use(keys: readonly VerificationKey[]): void {
    this.keys = readyKeys(keys);
    this.generation++;
  }

  refresh(client: string, listener: () => void): KeyRequest {
    if (!this.isAsking && this.now() < this.notBeforeMs) return "early";
    if (!this.shares.hasRoom(client)) return "full";
    this.shares.take(client);
    this.waiting.push({ client, listener });
    if (this.isAsking) return "asked";
    this.isAsking = true;
    this.ask((pauseMs) => {
      this.isAsking = false;
      this.notBeforeMs = this.now() + pauseMs;
      const waiting = this.waiting.splice(0);
      for (const { client: one } of waiting) this.shares.giveBack(one);
      for (const { listener: one } of waiting) one();
    });
    return "asked";
  }
}

/** The fetched keys of token issuers that are there when a worker begins. */
interface StartKeys {
  readonly keySets: readonly FetchedKeySet[];
}

/** The fetched keys of a worker, by source; they outlive configurations. docs/authentication.md#keys */
export class KeySets implements WorkerService<unknown> {
  readonly onMessage: Takers<KeysMessage> = { keys: ({ sets }) => this.take(sets) };
  private readonly sets: Map<string, FetchedKeys> = new Map();
  private readonly ask: KeyQuestion;
  private readonly now: () => number;

  /** @param now milliseconds on a clock that never goes back */
  constructor(ask: KeyQuestion, now: () => number) {
    this.ask = ask;
    this.now = now;
  }

  /** The keys of a source, as they are from now on. */
  ringOf(id: string): KeyRing {
    return this.entry(id);
  }

  begin({ keySets }: StartKeys): void {
    this.take(keySets);
  }

  /** Takes what the control thread has fetched. */
  take(sets: readonly FetchedKeySet[]): void {
    for (const { id, keys } of sets) this.entry(id).use(keys);
  }

  private entry(id: string): FetchedKeys {
    const known = this.sets.get(id);
    if (known !== undefined) return known;
    const made = new FetchedKeys((response) => this.ask(id, response), this.now);
    this.sets.set(id, made);
    return made;
  }
}

/** What tells sources apart: two methods with the same one share its keys. */
export function keySourceId(jwksUrl: string, caFile: string): string {
  return caFile === "" ? jwksUrl : `${jwksUrl} ${caFile}`;
}

function readyKeys(keys: readonly VerificationKey[]): readonly ReadyKey[] {
  return keys.map(({ kid, algorithms, key }) => {
    const bytes = Buffer.from(key, "base64");
    const isSecret = algorithms.some((name) => ALGORITHMS[name].family === "secret");
    const object = isSecret ? createSecretKey(bytes) : createPublicKey({ key: bytes, format: "der", type: "spki" });
    return { kid, algorithms, object };
  });
}
