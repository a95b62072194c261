import type { ChallengeType } from "../../settings.ts";
import type { Challenge } from "../certificate-authority.ts";
import { DocumentConflict } from "./document-store.ts";
import type { SealedDocuments } from "./sealed-documents.ts";

/** A challenge that any gateway of the fleet answers. */
export interface SharedChallenge extends Challenge {
  readonly type: ChallengeType;
  /** Of which gateway's order. */
  readonly holder: string;
  /** Milliseconds since the epoch: what is older was left by a gateway that has ended. */
  readonly untilMs: number;
}

/** What gateways look at again and again: challenges that wait for an authority, and which certificates have changed. */
interface News {
  readonly challenges: readonly SharedChallenge[];
  /** The number of the last change. */
  readonly last: number;
  /** The last ones, by number. */
  readonly changes: readonly (readonly [number, string])[];
}

/** The receiver of news. */
interface NewsListener {
  /** Resolves when every worker answers these challenges and no others. */
  onChallenges(challenges: readonly SharedChallenge[]): Promise<void>;
  /** @param names of documents that have changed; null if any may have */
  onChanged(names: readonly string[] | null): void;
}

/**
 * The news of a fleet: one small document that is read every `pollMs`, and fetched when it has changed. Before an authority learns of a challenge, every
 * gateway has had two looks and a half. docs/acme.md#one-store-for-several-gateways
 */
export class CertificateNews {
  private readonly documents: SealedDocuments;
  private readonly holder: string;
  private readonly pollMs: number;
  private readonly listener: NewsListener;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private version = "";
  /** The last change that was read; -1 before the first. */
  private last = -1;
  private isStopped = false;
  /** Changes that the store has not learned of. */
  private readonly untold: Set<string> = new Set();

  constructor(documents: SealedDocuments, terms: { holder: string; pollMs: number }, listener: NewsListener) {
    this.documents = documents;
    this.holder = terms.holder;
    this.pollMs = terms.pollMs;
    this.listener = listener;
  }

  start(): void {
    void this.look();
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  /**
   * Puts challenges of this gateway in the place of those before. Resolves when every gateway answers them.
   * @throws StoreAway
   */
  async answer(type: ChallengeType, challenges: readonly Challenge[]): Promise<void> {
    const untilMs = Date.now() + CHALLENGE_MS;
    const own = challenges.map((challenge) => ({ ...challenge, type, holder: this.holder, untilMs }));
    if (own.length === 0) return this.takeBack();
    await this.write((news) => ({ ...news, challenges: [...this.ofOthers(news), ...own] }));
    await Bun.sleep(this.pollMs * LOOKS);
  }

  /** Tells the others that a document has changed. */
  async tell(name: string): Promise<void> {
    this.untold.add(name);
    try {
      await this.tellAll();
    } catch {
      // With the next look that works.
    }
  }

  /** What cannot be taken back is left behind when its time is over. */
  private async takeBack(): Promise<void> {
    try {
      await this.write((news) => {
        const challenges = this.ofOthers(news);
        return challenges.length === news.challenges.length ? news : { ...news, challenges };
      });
    } catch {
      // An order that has its certificate does not fail because of it.
    }
  }

  private ofOthers({ challenges }: News): readonly SharedChallenge[] {
    return challenges.filter(({ holder, untilMs }) => holder !== this.holder && untilMs > Date.now());
  }

  private async tellAll(): Promise<void> {
    const names = [...this.untold];
    if (names.length === 0) return;
    await this.write((news) => ({
      ...news,
      last: news.last + names.length,
      changes: [...news.changes, ...names.map((name, i) => [news.last + i + 1, name] as const)].slice(-KEPT_CHANGES),
    }));
    for (const name of names) this.untold.delete(name);
  }

  private async write(mutate: (news: News) => News): Promise<void> {
    for (let tries = 1; ; tries++) {
      const found = await this.documents.readFresh<News>(NEWS);
      const before = found?.value ?? NO_NEWS;
      const next = mutate(before);
      if (next === before) return;
      try {
        const { version } = await this.documents.write(NEWS, next, found?.version ?? "");
        return await this.take(next, version);
      } catch (error) {
        if (!(error instanceof DocumentConflict) || tries === MAX_TRIES) throw error;
        await Bun.sleep(Math.random() * CONFLICT_MS * tries);
      }
    }
  }

  private async look(): Promise<void> {
    try {
      const found = await this.documents.probe<News>(NEWS);
      await this.tellAll();
      await this.take(found?.value ?? NO_NEWS, found?.version ?? NONE);
    } catch {
      // Who listens to the store is told.
    }
    if (this.isStopped) return;
    const waitMs = this.documents.isAway ? AWAY_LOOK_MS * (0.5 + Math.random()) : this.pollMs;
    this.timer = setTimeout(() => void this.look(), waitMs);
  }

  private async take(news: News, version: string): Promise<void> {
    if (version === this.version || this.isStopped) return;
    this.version = version;
    const { last } = this;
    this.last = news.last;
    const oldest = news.changes[0]?.[0] ?? news.last + 1;
    const isMissed = last < 0 || news.last < last || oldest > last + 1;
    if (isMissed) this.listener.onChanged(null);
    else if (news.last > last)
      this.listener.onChanged(news.changes.filter(([number]) => number > last).map(([, name]) => name));
    await this.listener.onChallenges(news.challenges.filter(({ untilMs }) => untilMs > Date.now()));
  }
}

const NEWS = "news";
/** The version of news that no gateway has written yet. */
const NONE = "none";
const NO_NEWS: News = { challenges: [], last: 0, changes: [] };
/** Looks of other gateways that are waited for before an authority learns of a challenge. */
const LOOKS = 2.5;
const KEPT_CHANGES = 256;
/** How long a challenge is answered whose order has not ended. */
const CHALLENGE_MS = 600_000;
const MAX_TRIES = 12;
const CONFLICT_MS = 50;
/** While the store is away. */
const AWAY_LOOK_MS = 2000;
