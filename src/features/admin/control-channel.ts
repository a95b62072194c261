import type { Takers } from "../../core/message-takers.ts";
import { errorBody } from "../../core/status.ts";
import type { WorkerService } from "../../core/worker-service.ts";
import { JSON_TYPE } from "./built-in-response.ts";
import type { ControlPort } from "./control-handler.ts";

/** A question as it goes to the control thread; it survives structured clone. */
export interface ControlQuestion {
  readonly id: number;
  readonly what: string;
  readonly body: string;
}

/** Its response. */
interface ControlResponse {
  readonly id: number;
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly etag?: string;
}

/** From a worker. */
export interface QuestionMessage {
  readonly kind: "question";
  readonly question: ControlQuestion;
}

/** From the control thread. */
interface ResponseMessage {
  readonly kind: "answer";
  readonly response: ControlResponse;
}

/** A worker's end: questions go out as messages, answers come back by number, and what stays away too long is given up. */
export class ControlChannel implements ControlPort, WorkerService<unknown> {
  readonly onMessage: Takers<ResponseMessage> = { answer: ({ response }) => this.receive(response) };
  private readonly send: (question: ControlQuestion) => void;
  private readonly clock: { readonly nowMs: number };
  private readonly waiting: Map<number, Waiting> = new Map();
  private lastId = 0;

  /**
   * @param send posts a question to the control thread
   * @param clock milliseconds, for `expire`: of a monotonic clock
   */
  constructor(send: (question: ControlQuestion) => void, clock: { readonly nowMs: number }) {
    this.send = send;
    this.clock = clock;
  }

  ask(what: string, body: string, answer: Waiting["answer"]): void {
    if (this.waiting.size >= MAX_WAITING) {
      answer(503, JSON_TYPE, BUSY);
      return;
    }
    const id = ++this.lastId;
    this.waiting.set(id, { answer, untilMs: this.clock.nowMs + (LONG_LIMITS.get(what) ?? ANSWER_LIMIT_MS) });
    this.send({ id, what, body });
  }

  /** Takes a response from the control thread; one that comes too late is passed over. */
  receive(response: ControlResponse): void {
    const one = this.waiting.get(response.id);
    if (one === undefined) return;
    this.waiting.delete(response.id);
    one.answer(response.status, response.contentType, response.body, response.etag);
  }

  /** Answers 503 to what has waited too long; to be called every second or so. */
  expire(): void {
    for (const [id, one] of this.waiting) {
      if (one.untilMs > this.clock.nowMs) continue;
      this.waiting.delete(id);
      one.answer(503, JSON_TYPE, BUSY);
    }
  }
}

interface Waiting {
  readonly answer: Parameters<ControlPort["ask"]>[2];
  readonly untilMs: number;
}

const ANSWER_LIMIT_MS = 10_000;
/** Every worker may take RELOAD_PATIENCE_MS to build a configuration, and as long to take it up; another may be under way. */
const LONG_LIMITS: ReadonlyMap<string, number> = new Map([
  ["reload", 130_000],
  ["rollback", 130_000],
  ["maintenance", 130_000],
  ["config-route", 130_000],
]);
/** Questions that may wait at once: a guard against a flood from an allowed network. */
const MAX_WAITING = 64;
const BUSY = JSON.stringify(errorBody(503, "the control thread does not answer"));
