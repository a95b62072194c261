import { Fault } from "../../core/fault.ts";
import { MAX_HEADER_LINE_BYTES } from "../../core/limits.ts";
import type { AuthIdentity } from "../../message/client-peer.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";
import { HeaderId } from "../../message/header-block.ts";
import { keepCredentials, pageOf } from "../../message/page-part.ts";
import { PhaseWait } from "../../message/phase-wait.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { type Judgement, refusedWith } from "./judgement.ts";

/** One way in which clients say who they are. */
export interface AuthMethod {
  /** For the log and the metric: its key in the configuration. */
  readonly name: string;
  /** The value of WWW-Authenticate, or "" for a method that has no scheme. RFC 9110 §11.6.1 */
  readonly challenge: string;
  /**
   * Judges a request by its head.
   * @param later called once with the judgement where it takes time, never before this returns
   * @returns the judgement, or null if it comes later
   */
  judge(ex: Exchange, later: (judgement: Judgement) => void): Judgement | null;
  /** Whether the request is for a path of the method's own: then no other method is asked. Absent if it has none. */
  owns?(ex: Exchange): boolean;
  /** Pairs of the query that are credentials of the method, as they stand there. Absent if there are none. */
  credentialsInQuery?(request: RequestHead): readonly string[];
  /** Takes off a request the credentials that go no further, however it was judged. Absent for a method that does so itself. */
  clean?(request: RequestHead): void;
  /** The client has left while its judgement was awaited: `later` need not be called. */
  onLeft?(ex: Exchange): void;
}

/** Who wants to know of refusals: the counters and the log. */
export interface AuthListener {
  /** @param method its name @param reason why, in a word; "" if the method does not say */
  onUnauthenticated(ex: Exchange, method: string, status: number, reason: string): void;
  /** A value of a method's could not be that of a field, and was left out. @param field its name */
  onFieldDropped(ex: Exchange, method: string, field: string): void;
}

/** Runs something that is not a socket event as a turn of its own. */
export interface Turns {
  inTurn(work: () => void): void;
}

/** Removes credentials meant for the gateway before the request is forwarded, on every route. */
type RequestCleaner = (head: RequestHead) => void;

/** `auth`: authenticates the request and sets `ex.identity`. docs/authentication.md */
export class AuthPhase implements Phase {
  readonly name = "auth";
  private readonly methods: readonly (AuthMethod | null)[];
  private readonly turns: Turns;
  private readonly listener: AuthListener;
  private readonly cleaner: RequestCleaner | null;

  /** @param methods one entry a route, by its index @param cleaner null if nothing is to be removed */
  constructor(
    methods: readonly (AuthMethod | null)[],
    turns: Turns,
    listener: AuthListener,
    cleaner: RequestCleaner | null = null,
  ) {
    this.methods = methods;
    this.turns = turns;
    this.listener = listener;
    this.cleaner = cleaner;
  }

  run(ex: Exchange): Verdict {
    const method = this.methods[ex.route!.index]!;
    if (method === null) {
      this.cleanPart(ex);
      this.cleaner?.(ex.request);
      return Verdict.Next;
    }
    keepCredentials(ex, () => method.credentialsInQuery?.(ex.request) ?? []);
    let wait: PhaseWait | null = null;
    const judgement = method.judge(ex, (found) => {
      this.turns.inTurn(() => {
        if (wait === null || wait.isOver) return;
        wait.end();
        if (this.settle(ex, method, found) === Verdict.Next) wait.goOn();
      });
    });
    if (judgement !== null) return this.settle(ex, method, judgement);
    wait = new PhaseWait(ex, () => method.onLeft?.(ex));
    return Verdict.Wait;
  }

  private settle(ex: Exchange, method: AuthMethod, judgement: Judgement): Verdict {
    method.clean?.(ex.request);
    if (judgement.kind === "in" || judgement.kind === "alone") {
      this.cleanPart(ex);
      this.cleaner?.(ex.request);
      if (judgement.kind === "in") this.letIn(ex, method, judgement.identity);
      return Verdict.Next;
    }
    const refusal = judgement.kind === "own" ? refusedWith(judgement.response) : judgement;
    const { status, response, reason, challenge, retryAfterS } = refusal;
    if (judgement.kind === "refused" || status >= 400)
      this.listener.onUnauthenticated(ex, method.name, status, reason ?? "");
    if (response !== undefined) {
      ex.sink.fixed(ex, response);
      return Verdict.Done;
    }
    ex.detail = status === 429 ? String(retryAfterS ?? 1) : (challenge ?? method.challenge);
    ex.sink.abort(ex, REFUSALS.get(status) ?? Fault.AuthUnavailable);
    return Verdict.Done;
  }

  /** Takes off a part the credentials that were for its page: they are for no other route. */
  private cleanPart(ex: Exchange): void {
    for (let page = pageOf(ex); page !== null; page = pageOf(page)) {
      if (page.route === null) continue;
      this.methods[page.route.index]?.clean?.(ex.request);
      if (page.identity?.hidesCredentials === true) hideAuthorization(ex.request);
    }
  }

  /** Leaves who it is, and gives request and response what the method says. */
  private letIn(ex: Exchange, method: AuthMethod, identity: AuthIdentity): void {
    ex.identity = identity;
    const { headers } = ex.request;
    if (identity.hidesCredentials) hideAuthorization(ex.request);
    for (const [name, value] of this.sound(ex, method, identity.fields)) headers.add(name, value);
    const responseFields = this.sound(ex, method, identity.responseFields);
    if (responseFields.length > 0) ex.response.addExtra(new ExtraFields(responseFields));
  }

  /** Fields whose values may be one: the rest of any other could be another user's. RFC 9110 §5.5 */
  private sound(ex: Exchange, method: AuthMethod, fields: AuthIdentity["fields"]): AuthIdentity["fields"] {
    if (fields.every(([, value]) => isSound(value))) return fields;
    for (const [name, value] of fields) {
      if (value !== "" && !isSound(value)) this.listener.onFieldDropped(ex, method.name, name);
    }
    return fields.filter(([, value]) => isSound(value));
  }
}

function hideAuthorization({ headers }: RequestHead): void {
  for (let i = headers.find(HeaderId.Authorization); i >= 0; i = headers.find(HeaderId.Authorization, i + 1))
    headers.ids[i] = HeaderId.NamedByConnection;
}

const REFUSALS: ReadonlyMap<number, Fault> = new Map([
  [401, Fault.Unauthenticated],
  [403, Fault.IdentityDenied],
  [429, Fault.TooManyGuesses],
]);

/** Not empty, without control characters and outer space, and within a line's bound. */
function isSound(value: string): boolean {
  return value !== "" && value.length <= MAX_HEADER_LINE_BYTES && value.trim() === value && !NOT_IN_FIELD.test(value);
}

const NOT_IN_FIELD = /[^\t\x20-\x7e\x80-\xff]/;
