import { SECRET_VALUES } from "../../core/secret-values.ts";
import { errorBody } from "../../core/status.ts";
import { JSON_TYPE } from "./built-in-response.ts";

/** What the control thread answers. */
export interface ControlResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** The value of ETag; without it none is sent. */
  readonly etag?: string;
}

/** Answers one kind of question; `body` is what came with it, `worker` is who asks. */
export type Answerer = (body: string, worker: number) => ControlResponse | Promise<ControlResponse>;

/** A JSON response. */
export function jsonResponse(status: number, body: unknown): ControlResponse {
  return { status, contentType: JSON_TYPE, body: JSON.stringify(body) };
}

/** A JSON response that says why nothing was done. */
export function refusalResponse(status: number, message: string): ControlResponse {
  return jsonResponse(status, errorBody(status, message));
}

/** The control thread's end of ControlPort: it knows who answers what. */
export class ControlRpc {
  private readonly answerers: ReadonlyMap<string, Answerer>;
  private readonly onError: (error: unknown, what: string) => void;

  /** @param onError receives what an answerer threw; the asker gets a 500 that says nothing of it */
  constructor(answerers: ReadonlyMap<string, Answerer>, onError: (error: unknown, what: string) => void) {
    this.answerers = answerers;
    this.onError = onError;
  }

  /** Answers a question; never rejects. @param worker who asks */
  async answer(what: string, body: string, worker = 0): Promise<ControlResponse> {
    const answerer = this.answerers.get(what);
    if (answerer === undefined) return jsonResponse(404, errorBody(404, "no such endpoint"));
    try {
      const given = await answerer(body, worker);
      return { ...given, body: SECRET_VALUES.masked(given.body) };
    } catch (error) {
      this.onError(error, what);
      return jsonResponse(500, errorBody(500, "internal error"));
    }
  }
}
