import { TOKEN } from "../../core/bytes.ts";
import { type BodyRules, refuseBody } from "../../message/body-rules.ts";
import { type Exchange, type Handler, type Phase, type Route, Verdict } from "../../message/exchange.ts";
import { INVALID_TOKEN, PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { METHOD_COUNT, Method, type RequestHead } from "../../message/request-head.ts";
import { ChunkedMode, RouteKind, RouteOf } from "../../message/route.ts";
import { CHALLENGE_PREFIX, isChallenge, isPlainPath } from "../../proto/h1/request-rules.ts";
import { canonicaliseDeeply, slashedPath } from "../../proto/target/canonical-path.ts";

/** Characters of an HTTP-01 token. docs/acme.md#http-01 */
const MAX_CHALLENGE_TOKEN_CHARS = 128;

/** What answers challenges. */
export interface ChallengeAnswers {
  /** The key authorization for a token; null for one that was not requested. */
  answerTo(token: string): string | null;
}

/** Says of a request whether its route has challenges for itself. */
export type LeavesChallenge = (ex: Exchange) => boolean;

/**
 * Answers HTTP-01 challenges before any other phase: no rule, limit, redirect or route keeps a certificate authority from its
 * response. docs/acme.md#http-01, RFC 8555 §8.3
 */
export class Http01Phase implements Phase, Handler {
  readonly name = "http01";
  private readonly answers: ChallengeAnswers;
  private readonly bodies: BodyRules;
  private readonly leaves: LeavesChallenge | null;
  /** Stands for these requests in metrics and logs. */
  private readonly route: Route;

  /**
   * @param leaves null if no route has challenges for itself
   */
  constructor(responses: ChallengeAnswers, bodies: BodyRules, leaves: LeavesChallenge | null = null) {
    this.answers = responses;
    this.bodies = bodies;
    this.leaves = leaves;
    this.route = challengeRoute(this);
  }

  run(ex: Exchange): Verdict {
    if (!isChallenge(ex.request) && !spellsChallenge(ex.request)) return Verdict.Next;
    const response = this.responseTo(ex.request);
    // What the gateway itself has ordered is answered here all the same.
    if (response.status !== 200 && this.leaves?.(ex) === true) return Verdict.Next;
    ex.route = this.route;
    if (refuseBody(ex, this.bodies) === Verdict.Next) ex.sink.fixed(ex, response);
    return Verdict.Done;
  }

  handle(ex: Exchange): Verdict {
    ex.sink.fixed(ex, this.responseTo(ex.request));
    return Verdict.Done;
  }

  private responseTo(request: RequestHead): PrebuiltResponse {
    if (request.method !== Method.Get && request.method !== Method.Head) return WRONG_METHOD;
    const from = request.pathFrom + CHALLENGE_PREFIX.length;
    // Another spelling of the path is none that a certificate authority uses.
    if (!isChallenge(request) || !isToken(request.bytes, from, request.pathTo)) return INVALID_TOKEN;
    const answer = this.answers.answerTo(request.path().slice(CHALLENGE_PREFIX.length));
    return answer === null ? UNKNOWN_TOKEN : new PrebuiltResponse(200, [PLAIN], answer);
  }
}

/** Lists by the routes' numbers begin with the gateway's own endpoints: what holds for them holds for challenges. */
const AS_ENDPOINT = 0;

function challengeRoute(handler: Handler): Route {
  const init = {
    kind: RouteKind.BuiltIn,
    label: CHALLENGE_PREFIX,
    path: CHALLENGE_PREFIX,
    exact: false,
    methods: ["GET"],
    hosts: [],
    stripPrefix: false,
    chunkedMode: ChunkedMode.Normalize,
    maxBodyBytes: 0,
    handler,
  };
  return new RouteOf(init, AS_ENDPOINT, new Uint8Array(METHOD_COUNT), "GET, HEAD");
}

/** Whether the path leads there in another spelling, which no route is to take in the place of the gateway. */
function spellsChallenge(request: RequestHead): boolean {
  return (
    !isPlainPath(request) && slashedPath(canonicaliseDeeply(request.path()).canonical).startsWith(CHALLENGE_PREFIX)
  );
}

function isToken(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to || to - from > MAX_CHALLENGE_TOKEN_CHARS) return false;
  for (let i = from; i < to; i++) {
    if (IN_TOKEN[bytes[i]!] === 0) return false;
  }
  return true;
}

/** 1 for a byte of the base64url alphabet. */
const IN_TOKEN: Uint8Array = TOKEN.map((is, byte) =>
  is === 1 && !"!#$%&'*+.^`|~".includes(String.fromCharCode(byte)) ? 1 : 0,
);
const PLAIN = ["Content-Type", "text/plain"] as const;
const WRONG_METHOD = new PrebuiltResponse(405, [PLAIN, ["Allow", "GET, HEAD"]], "Method Not Allowed");
const UNKNOWN_TOKEN = new PrebuiltResponse(404, [PLAIN], "Unknown ACME Challenge Token");
