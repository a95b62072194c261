import { createHash } from "node:crypto";
import { latin1 } from "../../core/bytes.ts";
import { blamesOrigin, type Fault } from "../../core/fault.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { MAX_FREE_EXCHANGES } from "../../core/limits.ts";
import type { AuthIdentity } from "../../message/client-peer.ts";
import { placeOf } from "../../message/client-place.ts";
import type { Exchange } from "../../message/exchange.ts";
import { valuesOf } from "../../message/extra-fields.ts";
import type { NowMs } from "../../message/ports.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { methodFromName } from "../../message/request-head.ts";
import type { AuthMethod } from "./auth-phase.ts";
import { ClientShares } from "./client-shares.ts";
import { type Judgement, letIn, NO_ROOM, refusedWith } from "./judgement.ts";
import { type CallSettings, ServiceCall, type ServiceReply } from "./service-call.ts";
import { type ForwardedLines, ServiceRequest } from "./service-request.ts";

/** Requests of a worker and method for which an authentication service is asked at a time; those beyond get 503. */
const MAX_AUTH_CALLS = 1024;
/** Calls in a row that an authentication service may leave without a response, and how long it is not asked after that. */
const AUTH_SERVICE_FAILURES = 5;
const AUTH_SERVICE_REST_MS = 2000;
/** Verdicts of an authentication service that a worker remembers; beyond, the oldest is forgotten. */
const MAX_REMEMBERED_VERDICTS = 4096;

/** What the configuration says of an authentication service. */
interface ForwardTerms {
  readonly method: "GET" | "HEAD" | "POST";
  /** Path and query that it is asked for. */
  readonly target: string;
  /** Null shows it all fields of the client. */
  readonly requestHeaders: readonly string[] | null;
  /** Fields of its response that the request gets; the first names the user. */
  readonly responseHeaders: readonly string[];
  readonly timeoutMs: number;
  /** How long a verdict is remembered; 0 asks each time. */
  readonly cacheMs: number;
}

/** Is told what goes wrong with a service. */
export interface ServiceListener {
  /** @param service its origin @param reason a word */
  onServiceFailed(service: string, reason: string): void;
}

/** What the calls to services share in a worker. */
export type ForwardPorts = Pick<CallSettings, "idle" | "wheel" | "turn" | "upstream"> & {
  readonly listener: ServiceListener;
  readonly lines: ForwardedLines;
};

interface PendingCall {
  readonly call: ServiceCall;
  readonly client: string;
}

interface Remembered {
  readonly identity: AuthIdentity;
  readonly untilMs: number;
}

/**
 * `forward`: another server says who may come in. Its 2xx lets in, with fields of its response on the request; its 401, 403 and redirects
 * are for the client; anything else, or nothing, lets no request in. docs/authentication.md#authentication-services
 */
export class ForwardMethod implements AuthMethod {
  readonly name = "forward";
  readonly challenge = "";
  private readonly terms: ForwardTerms;
  private readonly listener: ServiceListener;
  private readonly lines: ForwardedLines;
  private readonly settings: CallSettings;
  private readonly outage: Outage;
  private readonly setsCredentials: boolean;
  private readonly turn: NowMs;
  /** Those that are awaited, each with a mark of its own: exchanges and calls are used again. */
  private readonly calls: Map<Exchange, PendingCall> = new Map();
  private readonly shares: ClientShares = new ClientShares(MAX_AUTH_CALLS);
  private readonly free: ServiceCall[] = [];
  /** By a hash of the question; the one that was remembered longest ago comes first. */
  private readonly verdicts: Map<string, Remembered> = new Map();

  constructor(terms: ForwardTerms, { listener, lines, upstream, idle, wheel, turn }: ForwardPorts) {
    const { method, target, requestHeaders, timeoutMs, cacheMs } = terms;
    const { authority } = upstream;
    this.terms = terms;
    this.setsCredentials = terms.responseHeaders.some((name) => name.toLowerCase() === "authorization");
    this.listener = listener;
    this.lines = lines;
    this.turn = turn;
    this.outage = new Outage(turn);
    const question = { method, target, authority, names: requestHeaders, isKey: cacheMs > 0 };
    const times = { connectMs: timeoutMs, responseHeaderMs: timeoutMs, idleMs: timeoutMs };
    const request = new ServiceRequest(question, lines);
    this.settings = {
      upstream,
      request,
      method: methodFromName(method),
      times,
      timeoutMs,
      idle,
      wheel,
      turn,
      wantsBody: isForClient,
      wanted: [...terms.responseHeaders, "set-cookie"].map((name) => latin1(name.toLowerCase())),
      onOver: (call) => {
        if (this.free.length < MAX_FREE_EXCHANGES) this.free.push(call);
      },
    };
  }

  judge(ex: Exchange, later: (judgement: Judgement) => void): Judgement | null {
    const key = this.terms.cacheMs === 0 ? "" : this.keyOf(ex);
    const known = key === "" ? null : this.remembered(key);
    if (known !== null) return letIn(known);
    const client = placeOf(ex);
    if (!this.shares.hasRoom(client) || this.outage.isOut()) return NO_ROOM;
    if (this.lines.isLoop(ex.request.headers)) {
      this.listener.onServiceFailed(this.settings.upstream.label, "loop");
      return NO_ROOM;
    }
    const pending: PendingCall = { call: this.free.pop() ?? new ServiceCall(this.settings), client };
    this.calls.set(ex, pending);
    this.shares.take(client);
    pending.call.start(ex, {
      onResponse: (response) => {
        if (this.isOver(ex, pending)) later(this.judgementOf(response, key));
      },
      onFailed: (reason) => {
        if (this.isOver(ex, pending)) later(this.failed(reason));
      },
    });
    return null;
  }

  onLeft(ex: Exchange): void {
    const pending = this.calls.get(ex);
    if (pending === undefined || !this.isOver(ex, pending)) return;
    pending.call.cancel(ex);
  }

  /** Whether it was still awaited; it is no more. */
  private isOver(ex: Exchange, pending: PendingCall): boolean {
    if (this.calls.get(ex) !== pending) return false;
    this.shares.giveBack(pending.client);
    return this.calls.delete(ex);
  }

  private judgementOf(response: ServiceReply, key: string): Judgement {
    const { status, fields, body } = response;
    this.outage.noteResponse();
    if (isSuccess(status)) {
      const identity = this.identityOf(response);
      // A cookie is for the client that came.
      if (key !== "" && identity.responseFields.length === 0) this.remember(key, identity);
      return letIn(identity);
    }
    if (isForClient(status)) return refusedWith(new PrebuiltResponse(status, fields.filter(isClean), body));
    this.listener.onServiceFailed(this.settings.upstream.label, `status ${status}`);
    return NO_ROOM;
  }

  private failed(reason: Fault | "timeout" | "body"): Judgement {
    const word = typeof reason === "string" ? reason : faultRow(reason).label;
    this.listener.onServiceFailed(this.settings.upstream.label, word);
    // What the gateway itself is short of says nothing of the service.
    if (typeof reason === "string" || blamesOrigin(reason)) this.outage.noteFailure();
    return NO_ROOM;
  }

  private identityOf({ fields }: ServiceReply): AuthIdentity {
    const claims: Record<string, string> = Object.create(null) as Record<string, string>;
    const set: [string, string][] = [];
    for (const name of this.terms.responseHeaders) {
      const values = valuesOf(fields, name);
      for (const value of values) set.push([name, value]);
      if (values.length > 0) claims[name] = Buffer.from(values.join(","), "latin1").toString("utf8");
    }
    return {
      user: claims[this.terms.responseHeaders[0] ?? ""] ?? "",
      hidesCredentials: this.setsCredentials,
      claims,
      fields: set,
      responseFields: valuesOf(fields, "set-cookie").map((value) => ["Set-Cookie", value]),
    };
  }

  // ── what is remembered ────────────────────────────────────────────────────────────────────────────────────────

  /** The question itself: a verdict can go by nothing else. */
  private keyOf(ex: Exchange): string {
    const { request } = this.settings;
    const head = Buffer.allocUnsafe(request.bound(ex));
    return createHash("sha256")
      .update(head.subarray(0, request.write(ex, head, 0)))
      .digest("base64");
  }

  private remembered(key: string): AuthIdentity | null {
    const found = this.verdicts.get(key);
    if (found === undefined) return null;
    if (found.untilMs > this.turn.nowMs) return found.identity;
    this.verdicts.delete(key);
    return null;
  }

  private remember(key: string, identity: AuthIdentity): void {
    const { verdicts } = this;
    verdicts.delete(key);
    if (verdicts.size >= MAX_REMEMBERED_VERDICTS) verdicts.delete(verdicts.keys().next().value!);
    verdicts.set(key, { identity, untilMs: this.turn.nowMs + this.terms.cacheMs });
  }
}

/** A service that gives no responses is left alone for a while; then one request tries it. */
class Outage {
  private readonly turn: NowMs;
  private failures = 0;
  private outUntilMs = 0;

  constructor(turn: NowMs) {
    this.turn = turn;
  }

  isOut(): boolean {
    if (this.failures < AUTH_SERVICE_FAILURES) return false;
    const { nowMs } = this.turn;
    if (nowMs < this.outUntilMs) return true;
    this.outUntilMs = nowMs + AUTH_SERVICE_REST_MS;
    return false;
  }

  noteResponse(): void {
    this.failures = 0;
  }

  noteFailure(): void {
    if (++this.failures >= AUTH_SERVICE_FAILURES) this.outUntilMs = this.turn.nowMs + AUTH_SERVICE_REST_MS;
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Responses that are for the client: a question for credentials, a refusal, the way to a sign-in. */
function isForClient(status: number): boolean {
  return status === 401 || status === 403 || REDIRECTS.includes(status);
}

function isClean([, value]: readonly [string, string]): boolean {
  return !NOT_IN_FIELD.test(value);
}

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const NOT_IN_FIELD = /[^\t\x20-\x7e\x80-\xff]/;
