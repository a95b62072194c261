import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type * as acme from "acme-client";
import { plainLine } from "../../../core/printable.ts";
import { MAX_ACME_NAMES } from "../limits.ts";
import { AcmeFailure } from "./certificate-authority.ts";

/**
 * Remembers what went wrong last: the problem document (RFC 7807) that an authority sent, or why it was not reached. The
 * client's own errors carry the text of the first alone, and of the second nothing.
 */
export class LastProblem {
  private readonly axios: Axios;
  private readonly interceptor: number;
  private last: Problem | null = null;
  /** Since when challenges that are still open have had an error, by their URLs; milliseconds on a clock that never goes back. */
  private readonly stuckSince: Map<string, number> = new Map();

  constructor(axios: Axios) {
    this.axios = axios;
    this.interceptor = axios.interceptors.response.use((response) => {
      this.endStuck(response);
      this.last = problemIn(response) ?? (this.last?.isFinal === true ? this.last : null);
      return response;
    });
    axios.defaults.transport = { request: (options: RequestOptions, done: Answered) => this.request(options, done) };
  }

  /** Whether the last problem is one of these kinds. */
  isAbout(...kinds: readonly string[]): boolean {
    return this.last !== null && kinds.includes(this.last.kind);
  }

  /** Turns any error into one that says what the authority had against it. */
  explain(error: unknown): AcmeFailure {
    if (error instanceof AcmeFailure) return error;
    if (this.last === null) return new AcmeFailure("failed", plain((error as Error).message ?? String(error)));
    return new AcmeFailure(this.last.kind, plain(this.last.detail), this.last.retryAfterMs, this.last.names);
  }

  /** The last one has been put right. */
  clear(): void {
    this.last = null;
  }

  /** Listens no longer. */
  forget(): void {
    this.axios.interceptors.response.eject(this.interceptor);
    this.axios.defaults.transport = undefined;
  }

  /**
   * Some authorities leave a challenge open that they could not verify, since it may be tried again (RFC 8555 §8.2 lets them). One that
   * has had an error for a while counts as refused, so that it does not keep other orders waiting.
   */
  private endStuck({ data, config }: Response): void {
    const challenge = (typeof data === "object" ? data : null) as ProblemDocument | null;
    const isOpen = challenge?.status === "pending" || challenge?.status === "processing";
    if (challenge?.error === undefined || !isOpen) return;
    const url = config?.url ?? "";
    const since = this.stuckSince.get(url);
    if (since === undefined) this.stuckSince.set(url, performance.now());
    else if (performance.now() - since > STUCK_MS) challenge.status = "invalid";
  }

  /** A request that is watched. Redirects are not followed: no directory needs them. */
  private request(options: RequestOptions, done: Answered): ClientRequest {
    const request = options.protocol === "http:" ? httpRequest(options, done) : httpsRequest(options, done);
    request.on("error", (error: Error & { code?: string }) => {
      this.last = {
        kind: error.code ?? "unreachable",
        detail: error.message,
        retryAfterMs: 0,
        names: [],
        isFinal: false,
      };
    });
    return request;
  }
}

type Answered = (response: IncomingMessage) => void;

type Axios = (typeof acme)["axios"];

/** The part of an axios response that edge reads. */
interface Response {
  readonly status: number;
  readonly data: unknown;
  readonly headers: { readonly [name: string]: unknown };
  readonly config?: { readonly url?: string };
}

interface ProblemDocument {
  status?: unknown;
  readonly type?: unknown;
  readonly detail?: unknown;
  /** The fault in each name. RFC 8555 §6.7.1 */
  readonly subproblems?: unknown;
  readonly error?: ProblemDocument;
}

interface Problem {
  readonly kind: string;
  readonly detail: string;
  readonly retryAfterMs: number;
  /** The names that it is about, where it says so. */
  readonly names: readonly string[];
  /** Whether a response that comes later, of another request, leaves it as it is. */
  readonly isFinal: boolean;
}

function problemIn({ status, data, headers }: Response): Problem | null {
  // A refused challenge or order is a document of its own with the problem inside (RFC 8555 §7.1.6).
  const document = (typeof data === "object" ? data : null) as ProblemDocument | null;
  const error = document?.error ?? (status >= 400 ? (document ?? {}) : null);
  if (error === null) return null;
  const type = typeof error.type === "string" ? error.type : `http ${status}`;
  const detail = typeof error.detail === "string" ? error.detail : `the directory answered ${status}`;
  const kind = type.slice(type.lastIndexOf(":") + 1);
  const retryAfterMs = retryAfter(headers["retry-after"]);
  return { kind, detail, retryAfterMs, names: namesOf(error.subproblems), isFinal: kind !== "badNonce" };
}

function namesOf(subproblems: unknown): readonly string[] {
  if (!Array.isArray(subproblems)) return [];
  const names = subproblems.map((one) => one?.identifier?.value);
  return names.filter((name) => typeof name === "string").slice(0, MAX_ACME_NAMES);
}

/** Retry-After in milliseconds from now, as seconds or as a date; 0 if it says nothing (RFC 9110 §10.2.3). */
export function retryAfter(value: unknown): number {
  if (typeof value !== "string") return 0;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? 0 : Math.max(0, at - Date.now());
}

/** What came from outside, fit for one log line. */
function plain(text: string): string {
  return plainLine(text).slice(0, MAX_TEXT);
}

const MAX_TEXT = 500;
/** Time in which an authority may look at a challenge again that it could not verify. */
const STUCK_MS = 20_000;
