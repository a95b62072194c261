import type { OrderRight } from "../order-right.ts";
import { DocumentConflict } from "./document-store.ts";
import type { OpenDocument, SealedDocuments } from "./sealed-documents.ts";

/** Who orders, as the document says it that the order is about. */
export interface ClaimNote {
  /** One more than that of the claim before: a later holder's is always greater. */
  readonly token: number;
  readonly holder: string;
  /** Counts the writes that keep it. */
  readonly beat: number;
}

/** A document that can be claimed. */
export interface Claimable {
  readonly claim: ClaimNote | null;
  /** Of the last claim. */
  readonly token: number;
}

/** Another gateway has taken over: what this one would write is refused. */
export class Fenced extends Error {}

/** Another gateway is at it now. */
export class Claimed extends Error {}

/** Whether a gateway holds the document: its claim was kept within the lease. */
export function isClaimed({ value, ageMs }: OpenDocument<Claimable>): boolean {
  return (value.claim ?? null) !== null && ageMs <= LEASE_MS;
}

/**
 * The right of one gateway to order a certificate, in the certificate's own document. Every change names the version that it replaces, and a
 * claim is a change: a gateway that has lost the claim can write nothing any more, however late the write comes (fencing). docs/acme.md#who-orders
 */
export class OrderClaim<T extends Claimable> implements OrderRight {
  private readonly documents: SealedDocuments;
  private readonly name: string;
  private readonly onEnd: () => void;
  private readonly token: number;
  private readonly holder: string;
  private readonly beating: ReturnType<typeof setInterval>;
  private opened: OpenDocument<T>;
  private last: Promise<unknown> = Promise.resolve();
  private isOver = false;

  private constructor(
    documents: SealedDocuments,
    { name, holder, onEnd }: ClaimTerms,
    opened: OpenDocument<T>,
    beatMs: number,
  ) {
    this.documents = documents;
    this.name = name;
    this.holder = holder;
    this.onEnd = onEnd;
    this.opened = opened;
    this.token = opened.value.token;
    this.beating = setInterval(() => void this.beat(), beatMs);
  }

  /**
   * Takes the right if no other gateway holds it.
   * @param empty the document if there is none @returns null while another holds it
   * @throws StoreAway, SealBroken
   */
  static async take<T extends Claimable>(
    documents: SealedDocuments,
    terms: ClaimTerms,
    empty: T,
    beatMs: number = BEAT_MS,
  ): Promise<OrderClaim<T> | null> {
    const { name, holder } = terms;
    const found = await documents.readFresh<T>(name);
    // One of this process that is still there was not given back, since the store was away.
    if (found !== null && isClaimed(found) && found.value.claim?.holder !== holder) return null;
    const before = found?.value ?? empty;
    const token = before.token + 1;
    const next = { ...before, token, claim: { token, holder, beat: 0 } };
    try {
      return new OrderClaim<T>(documents, terms, await documents.write<T>(name, next, found?.version ?? ""), beatMs);
    } catch (error) {
      if (error instanceof DocumentConflict) return null;
      throw error;
    }
  }

  /** The document as it was read or written last. */
  get value(): T {
    return this.opened.value;
  }

  /** Changes the document. @throws Fenced, StoreAway */
  change(mutate: (value: T) => T): Promise<void> {
    const next = this.last.then(() => this.changeNow(mutate));
    this.last = next.catch(() => {});
    return next;
  }

  async release(): Promise<void> {
    clearInterval(this.beating);
    if (!this.isOver) await this.change((value) => ({ ...value, claim: null })).catch(() => {});
    this.isOver = true;
    this.onEnd();
  }

  private async beat(): Promise<void> {
    try {
      await this.change((value) => {
        const { claim } = value;
        return claim === null ? value : { ...value, claim: { ...claim, beat: claim.beat + 1 } };
      });
    } catch {
      // The next one may work. If the claim is lost, the write of the certificate says so.
    }
  }

  private async changeNow(mutate: (value: T) => T): Promise<void> {
    for (let tries = 1; ; tries++) {
      if (this.isOver) throw new Fenced("another gateway has taken over the order");
      try {
        this.opened = await this.documents.write(this.name, mutate(this.opened.value), this.opened.version);
        return;
      } catch (error) {
        if (!(error instanceof DocumentConflict) || tries === MAX_TRIES) throw error;
        await this.lookAgain();
      }
    }
  }

  /** A write may have come through although the store did not say so; or the store was emptied. */
  private async lookAgain(): Promise<void> {
    const found = await this.documents.readFresh<T>(this.name);
    if (found === null) this.opened = { ...this.opened, version: "" };
    else if (found.value.claim?.holder === this.holder && found.value.claim.token === this.token) this.opened = found;
    else this.isOver = true;
  }
}

/** About what a claim is, and of whom. */
interface ClaimTerms {
  readonly name: string;
  readonly holder: string;
  /** Is told when it was given back. */
  readonly onEnd: () => void;
}

/** A claim that was not kept for so long was left by a gateway that has ended. */
export const LEASE_MS = 15_000;
const BEAT_MS = 4000;
const MAX_TRIES = 3;
