import type { Exchange } from "../../message/exchange.ts";
import type { RequestHead } from "../../message/request-head.ts";
import type { AuthMethod } from "./auth-phase.ts";
import { type Judgement, LEFT_ALONE } from "./judgement.ts";

/** Rules that come before a method. */
interface EarlierRules {
  /** Whether they alone decide on a request: they refuse it, or let it in by a credential of their own. */
  decide(ex: Exchange): boolean;
}

/** A method behind other rules: it is asked where they leave a request to it. They are enforced where the request is answered. */
export class GuardedMethod implements AuthMethod {
  readonly name: string;
  readonly challenge: string;
  private readonly inner: AuthMethod;
  private readonly rules: EarlierRules;

  constructor(inner: AuthMethod, rules: EarlierRules) {
    this.name = inner.name;
    this.challenge = inner.challenge;
    this.inner = inner;
    this.rules = rules;
  }

  judge(ex: Exchange, later: (judgement: Judgement) => void): Judgement | null {
    return this.rules.decide(ex) ? LEFT_ALONE : this.inner.judge(ex, later);
  }

  credentialsInQuery(request: RequestHead): readonly string[] {
    return this.inner.credentialsInQuery?.(request) ?? [];
  }

  clean(request: RequestHead): void {
    this.inner.clean?.(request);
  }

  onLeft(ex: Exchange): void {
    this.inner.onLeft?.(ex);
  }
}
