import { messageOf } from "../../core/error-text.ts";
import { elementSpans } from "../../proto/grpc/json-elements.ts";
import { readBody } from "../../proto/grpc/json-text.ts";
import { readSchema } from "../../proto/grpc/schema.ts";
import { type CodecRoute, codecOf } from "./codec-source.ts";
import { JsonCodec } from "./json-codec.ts";
import { parsed } from "./message-sources.ts";
import { type MethodCodec, UndecodableResponse } from "./method-codec.ts";
import { BadInput, type FieldText } from "./request-input.ts";

/** How the thread makes the codec of a route. */
export interface CodecRecipe {
  /** A FileDescriptorSet; null if there is no schema. */
  readonly set: Uint8Array | null;
  readonly route: CodecRoute;
}

/** What becomes of the bytes of a job. */
export type CodecTask =
  /** A JSON text becomes a message, with what path and query say; `isOneOfMany` where it is a message of a stream. */
  | {
      readonly kind: "encode";
      readonly path: readonly FieldText[];
      readonly query: readonly FieldText[];
      readonly isOneOfMany: boolean;
    }
  /** A message becomes a JSON text. */
  | { readonly kind: "decode" }
  /** A JSON text is checked; what comes of it are the places of its elements, a Uint32Array as `elementSpans` makes it. */
  | { readonly kind: "split" };

/** The demands on the thread; each is answered once, in the order of their coming. */
export interface CodecJob {
  readonly id: number;
  /** The number of a recipe. */
  readonly codec: number;
  /** With the first job for it. */
  readonly recipe: CodecRecipe | null;
  readonly bytes: Uint8Array;
  readonly task: CodecTask;
}

/** What came of a job; `input` is the client's fault, `reply` no message of its type, `json` one that has no JSON. */
export type CodecDone = { readonly id: number } & (
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly fault: "input" | "reply" | "json"; readonly message: string }
);

/** Transcodes what is large, beside the event loops of the workers. docs/transcoder.md#large-messages */
export class CodecJobs {
  private readonly codecs: Map<number, MethodCodec> = new Map();

  /** Does one job. */
  run(job: CodecJob): CodecDone {
    if (job.recipe !== null) this.codecs.set(job.codec, codecOfRecipe(job.recipe));
    return doneOf(job, this.codecs.get(job.codec)!);
  }
}

function doneOf({ id, bytes, task }: CodecJob, codec: MethodCodec): CodecDone {
  try {
    return { id, ok: true, bytes: resultOf(task, bytes, codec) };
  } catch (error) {
    const fault = task.kind !== "decode" ? "input" : error instanceof UndecodableResponse ? "reply" : "json";
    return { id, ok: false, fault, message: messageOf(error) };
  }
}

function resultOf(task: CodecTask, bytes: Uint8Array, codec: MethodCodec): Uint8Array {
  if (task.kind === "decode") return Buffer.from(codec.decode(bytes), "utf8");
  const read = task.kind === "encode" && task.isOneOfMany ? parsed(bytes) : readBody(bytes);
  if (read instanceof Error) throw new BadInput(read.message);
  if (task.kind === "split") return new Uint8Array(elementSpans(bytes).buffer);
  const { path, query } = task;
  return codec.encode({ path, query, body: read.value, large: null, hasOddNumbers: read.hasOddNumbers });
}

/** The worker has made the same codec: what it is made of has been checked. */
function codecOfRecipe({ set, route }: CodecRecipe): MethodCodec {
  if (set === null) return new JsonCodec();
  const schema = readSchema(set);
  const result = typeof schema === "string" ? null : codecOf(schema, route);
  if (result?.kind !== "codec") throw new Error("not the codec that the worker has");
  return result.codec;
}
