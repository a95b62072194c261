import type { Exchange } from "../../message/exchange.ts";
import type { RequestHead } from "../../message/request-head.ts";
import type { AuthMethod } from "./auth-phase.ts";
import type { Judgement, Refusal } from "./judgement.ts";

/** A request that is being judged. */
interface Question {
  readonly ex: Exchange;
  readonly later: (judgement: Judgement) => void;
  /** Those that are asked, in their order. */
  readonly methods: readonly AuthMethod[];
  /** By the methods that were asked. */
  readonly refusals: Refusal[];
}

/**
 * `any`: asks several methods in their order until one lets in; at a path of a method's own, that one alone. If none does, the last response of a method's own counts (a sign-in, a
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
    const owner = this.methods.find((method) => method.owns?.(ex) === true);
    return this.goOn({ ex, later, methods: owner === undefined ? this.methods : [owner], refusals: [] });
  }

  credentialsInQuery(request: RequestHead): readonly string[] {
    return this.methods.flatMap((method) => method.credentialsInQuery?.(request) ?? []);
  }

  clean(request: RequestHead): void {
    for (const method of this.methods) method.clean?.(request);
  }

  onLeft(ex: Exchange): void {
    const question = this.open.get(ex);
    if (question === undefined) return;
    this.open.delete(ex);
    question.methods[question.refusals.length]!.onLeft?.(ex);
  }

  /** Asks all that have not been asked. @returns null if a judgement comes later */
  private goOn(question: Question): Judgement | null {
    const { ex, refusals, later, methods } = question;
    while (refusals.length < methods.length) {
      const judgement = methods[refusals.length]!.judge(ex, (found) => {
        // The client has left, and another request may have its exchange.
        if (this.open.get(ex) !== question) return;
        this.open.delete(ex);
        if (found.kind !== "refused") return later(found);
        refusals.push(found);
        const next = this.goOn(question);
        if (next !== null) later(next);
      });
      if (judgement === null) {
        this.open.set(ex, question);
        return null;
      }
      if (judgement.kind !== "refused") return judgement;
      refusals.push(judgement);
    }
    return refusalOf(question);
  }
}

/** What a client gets whom none lets in. */
function refusalOf({ methods, refusals }: Question): Refusal {
  const own = refusals.findLast(({ response }) => response !== undefined);
  const challenges = refusals.map((one, i) =>
    one.response === undefined && one.status !== 401 ? "" : (one.challenge ?? methods[i]!.challenge),
  );
  if (own !== undefined) return own.status === 401 ? withChallenges(own, challenges) : own;
  const found = [429, 503, 401].map((status) => refusals.find((one) => one.status === status)).find(Boolean);
  if (found === undefined) return refusals[0]!;
  if (found.status !== 401) return found;
  return { ...found, challenge: challengesOf(challenges) };
}

/** What a method answers itself leaves the other methods a chance. */
function withChallenges(judgement: Refusal, challenges: readonly string[]): Refusal {
  const response = judgement.response!;
  const more = challenges.filter((one) => one !== "").map((one) => ["WWW-Authenticate", one] as const);
  return { ...judgement, response: response.with([...response.fields, ...more]) };
}

/** One a line. */
function challengesOf(all: readonly string[]): string {
  return [...new Set(all.filter((one) => one !== ""))].join("\n");
}
