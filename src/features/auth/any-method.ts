import type { Exchange } from "../../message/exchange.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { AuthMethod, Judgement } from "./auth-phase.ts";

/** A request that is being judged. */
interface Question {
  readonly ex: Exchange;
  readonly later: (judgement: Judgement) => void;
  /** By the methods that were asked, in their order. */
  readonly refusals: Judgement[];
}

/**
 * `any`: asks several methods in their order until one lets in. Where none does, the last response of a method's own counts (a sign-in, a
 * service's page), then one that cannot be sure, then the question for credentials. docs/authentication.md#several-methods
 */
export class AnyMethod implements AuthMethod {
  readonly name: string;
  readonly challenge: string;
  private readonly methods: readonly AuthMethod[];
  /** Those whose judgement is awaited. */
  private readonly open: Map<Exchange, Question> = new Map();

  /** @param methods two or more */
  constructor(methods: readonly AuthMethod[]) {
    this.methods = methods;
    this.name = methods.map(({ name }) => name).join(",");
    this.challenge = challengesOf(methods.map(({ challenge }) => challenge));
  }

  judge(ex: Exchange, later: (judgement: Judgement) => void): Judgement | null {
    return this.goOn({ ex, later, refusals: [] });
  }

  onLeft(ex: Exchange): void {
    const question = this.open.get(ex);
    if (question === undefined) return;
    this.open.delete(ex);
    this.methods[question.refusals.length]!.onLeft?.(ex);
  }

  /** Asks those that have not been asked. @returns null where a judgement comes later */
  private goOn(question: Question): Judgement | null {
    const { ex, refusals, later } = question;
    while (refusals.length < this.methods.length) {
      const judgement = this.methods[refusals.length]!.judge(ex, (found) => {
        // The client has left, and another request may have its exchange.
        if (this.open.get(ex) !== question) return;
        this.open.delete(ex);
        if (!isLast(found)) refusals.push(found);
        const next = isLast(found) ? found : this.goOn(question);
        if (next !== null) later(next);
      });
      if (judgement === null) {
        this.open.set(ex, question);
        return null;
      }
      if (isLast(judgement)) return judgement;
      refusals.push(judgement);
    }
    return this.refusal(refusals);
  }

  private refusal(refusals: readonly Judgement[]): Judgement {
    const own = refusals.findLast(({ reply }) => reply !== undefined);
    const challenges = refusals.map((one, i) =>
      one.reply === undefined && one.status !== 401 ? "" : (one.challenge ?? this.methods[i]!.challenge),
    );
    if (own !== undefined) return own.status === 401 ? withChallenges(own, challenges) : own;
    const found = [429, 503, 401].map((status) => refusals.find((one) => one.status === status)).find(Boolean);
    if (found === undefined) return refusals[0]!;
    if (found.status !== 401) return found;
    return { ...found, challenge: challengesOf(challenges) };
  }
}

/** Whether no further method is asked. */
function isLast({ identity, isOwnPath }: Judgement): boolean {
  return identity !== null || isOwnPath === true;
}

/** What a method answers itself leaves the other methods a chance. */
function withChallenges(judgement: Judgement, challenges: readonly string[]): Judgement {
  const { status, fields, body } = judgement.reply!;
  const more = challenges.filter((one) => one !== "").map((one) => ["WWW-Authenticate", one] as const);
  return { ...judgement, reply: new PrebuiltResponse(status, [...fields, ...more], body) };
}

/** One a line. */
function challengesOf(all: readonly string[]): string {
  return [...new Set(all.filter((one) => one !== ""))].join("\n");
}
