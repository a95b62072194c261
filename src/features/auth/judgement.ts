import type { AuthIdentity } from "../../message/client-peer.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";

/** What a method says of a request. */
export type Judgement = LetIn | LeftAlone | OwnResponse | Refusal;

/** It goes on, as the request of whom it has shown to be. */
interface LetIn {
  readonly kind: "in";
  readonly identity: AuthIdentity;
}

/** Other rules than the methods decide on it: it goes on without an identity. */
interface LeftAlone {
  readonly kind: "alone";
}

/** The response at a path of the method's own, a sign-in or a sign-out: no other method is asked. With an error it counts as a refusal. */
interface OwnResponse {
  readonly kind: "own";
  readonly response: PrebuiltResponse;
}

/** It gets no further. */
export interface Refusal {
  readonly kind: "refused";
  /**
   * Without a `response`, 401 asks for credentials, 403 says that they are not enough, 429 that too many were wrong, and 503 that nothing
   * can be said at the moment.
   */
  readonly status: number;
  /** The value of WWW-Authenticate where it says more than the method's own challenge. */
  readonly challenge?: string;
  /** Why, in one word of the method's own, for the log alone. */
  readonly reason?: string;
  /** With 429: seconds after which the client may come again. */
  readonly retryAfterS?: number;
  /** What the client gets in the place of the gateway's own refusal: a redirect, a page, an authentication service's response. */
  readonly response?: PrebuiltResponse;
}

/** Lets a request in. */
export function letIn(identity: AuthIdentity): LetIn {
  return { kind: "in", identity };
}

/** Refuses a request with a response of the method's own. */
export function refusedWith(response: PrebuiltResponse): Refusal {
  return { kind: "refused", status: response.status, response };
}

export const LEFT_ALONE: LeftAlone = { kind: "alone" };
export const DENIED: Refusal = { kind: "refused", status: 401 };
export const FORBIDDEN: Refusal = { kind: "refused", status: 403 };
export const NO_ROOM: Refusal = { kind: "refused", status: 503 };
