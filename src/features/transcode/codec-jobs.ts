import { messageOf } from "../../core/error-text.ts";
import { readBody } from "../../proto/grpc/json-text.ts";
import { readSchema } from "../../proto/grpc/schema.ts";
import { type CodecRoute, codecOf } from "./codec-source.ts";
import { JsonCodec } from "./json-codec.ts";
import { type MethodCodec, UndecodableReply } from "./method-codec.ts";
import { BadInput, type FieldText } from "./request-input.ts";

/** How the thread makes the codec of a route. */
export interface CodecRecipe {
  /** A FileDescriptorSet; null where there is no schema. */
  readonly set: Uint8Array | null;
  readonly route: CodecRoute;
}

/** What is asked of the thread; each is answered once, in the order of their coming. */
export interface CodecJob {
  readonly id: number;
  /** The number of a recipe. */
  readonly codec: number;
  /** With the first job for it. */
  readonly recipe: CodecRecipe | null;
  /** A JSON text to become a message, with what path and query say; or a message to become JSON. */
  readonly bytes: Uint8Array;
  readonly input: { readonly path: readonly FieldText[]; readonly query: readonly FieldText[] } | null;
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

function doneOf({ id, bytes, input }: CodecJob, codec: MethodCodec): CodecDone {
  try {
    if (input === null) return { id, ok: true, bytes: Buffer.from(codec.decode(bytes), "utf8") };
    const read = readBody(bytes);
    if (read instanceof Error) throw new BadInput(read.message);
    return {
      id,
      ok: true,
      bytes: codec.encode({ ...input, body: read.value, large: null, hasOddNumbers: read.hasOddNumbers }),
    };
  } catch (error) {
    const fault = input !== null ? "input" : error instanceof UndecodableReply ? "reply" : "json";
    return { id, ok: false, fault, message: messageOf(error) };
  }
}

/** The worker has made the same codec: what it is made of has been checked. */
function codecOfRecipe({ set, route }: CodecRecipe): MethodCodec {
  if (set === null) return new JsonCodec();
  const schema = readSchema(set);
  const result = typeof schema === "string" ? null : codecOf(schema, route);
  if (result?.kind !== "codec") throw new Error("not the codec that the worker has");
  return result.codec;
}
