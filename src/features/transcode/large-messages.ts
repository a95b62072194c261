import { MAX_CODEC_JOBS } from "../../core/limits.ts";
import type { Schema } from "../../proto/grpc/schema.ts";
import type { CodecDone, CodecJob, CodecRecipe, CodecTask } from "./codec-jobs.ts";
import type { CodecRoute } from "./codec-source.ts";
import type { FieldText } from "./request-input.ts";

/** A thread that does `CodecJobs`. */
export interface CodecThread {
  post(job: CodecJob): void;
  close(): void;
}

/** What a large message has come to; `busy` where too many wait, or the thread has died. */
export type BesideResult = Omit<Extract<CodecDone, { ok: true }>, "id"> | FailedBeside;

/** Why it has come to nothing. */
export interface FailedBeside {
  readonly ok: false;
  readonly fault: "input" | "reply" | "json" | "busy";
  readonly message: string;
}

/** Of which codec a message is. */
export interface CodecSourceOf {
  readonly schema: Schema | null;
  readonly route: CodecRoute;
}

/**
 * Has large messages transcoded in another thread, one after the other, so that they hold up no other connection. The thread is started for the
 * first of them. docs/transcoder.md#large-messages
 */
export class LargeMessages {
  private readonly start: (onDone: (done: CodecDone) => void, onEnd: () => void) => CodecThread;
  private thread: CodecThread | null = null;
  /** The numbers of the codecs that the thread knows. */
  private readonly known: Map<CodecSourceOf, number> = new Map();
  private readonly waiting: Map<number, (result: BesideResult) => void> = new Map();
  private lastId = 0;
  private isClosed = false;

  /** @param start begins a thread; what it reports comes in a turn of the event loop of its own */
  constructor(start: LargeMessages["start"]) {
    this.start = start;
  }

  /**
   * Makes a message of a JSON text, with what path and query say.
   * @param isOneOfMany whether the text is a message of a stream, not a body
   * @param done is called once, later
   */
  encode(
    of: CodecSourceOf,
    text: Uint8Array,
    { path, query }: { readonly path: readonly FieldText[]; readonly query: readonly FieldText[] },
    isOneOfMany: boolean,
    done: (result: BesideResult) => void,
  ): void {
    this.ask(of, text, { kind: "encode", path, query, isOneOfMany }, done);
  }

  /** Makes JSON of a message. @param done is called once, later */
  decode(of: CodecSourceOf, message: Uint8Array, done: (result: BesideResult) => void): void {
    this.ask(of, message, { kind: "decode" }, done);
  }

  /** Checks a JSON body and finds the elements of its array. @param done is called once, later, with the places of `elementSpans` or why it is none */
  split(of: CodecSourceOf, body: Uint8Array, done: (result: Uint32Array | FailedBeside) => void): void {
    this.ask(of, body, { kind: "split" }, (result) =>
      done(result.ok ? new Uint32Array(new Uint8Array(result.bytes).buffer) : result),
    );
  }

  /** Nothing more is asked; the thread ends with its last job. */
  close(): void {
    this.isClosed = true;
    this.endIfIdle();
  }

  private ask(of: CodecSourceOf, bytes: Uint8Array, task: CodecTask, done: (result: BesideResult) => void): void {
    if (this.waiting.size >= MAX_CODEC_JOBS) return void queueMicrotask(() => done(BUSY));
    this.thread ??= this.begin();
    const known = this.known.get(of);
    const codec = known ?? this.known.size;
    if (known === undefined) this.known.set(of, codec);
    const id = ++this.lastId;
    this.waiting.set(id, done);
    this.thread.post({ id, codec, recipe: known === undefined ? recipeOf(of) : null, bytes, task });
  }

  private begin(): CodecThread {
    const thread: CodecThread = this.start(
      (one) => this.onDone(one),
      () => {
        if (this.thread === thread) this.onEnd();
      },
    );
    return thread;
  }

  private onDone(one: CodecDone): void {
    const done = this.waiting.get(one.id);
    this.waiting.delete(one.id);
    done?.(one);
    this.endIfIdle();
  }

  private onEnd(): void {
    this.thread = null;
    this.known.clear();
    const left = [...this.waiting.values()];
    this.waiting.clear();
    for (const done of left) done(BUSY);
  }

  private endIfIdle(): void {
    if (!this.isClosed || this.waiting.size > 0 || this.thread === null) return;
    const { thread } = this;
    this.onEnd();
    thread.close();
  }
}

function recipeOf({ schema, route }: CodecSourceOf): CodecRecipe {
  const { grpcMethod, pathFields, body, responseBody, httpMethod, json, isAuto } = route;
  return {
    set: schema === null ? null : schema.bytes(),
    route: { grpcMethod, pathFields, body, responseBody, httpMethod, json, isAuto },
  };
}

const BUSY: FailedBeside = { ok: false, fault: "busy", message: "too many large messages" };
