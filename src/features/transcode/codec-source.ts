import type { Fault } from "../../core/fault.ts";
import type { GrpcStatus } from "../../message/grpc-upstream.ts";
import { GrpcCode } from "../../proto/grpc/grpc-status.ts";
import { methodFault, type Schema } from "../../proto/grpc/schema.ts";
import { JsonCodec } from "./json-codec.ts";
import type { MethodCodec } from "./method-codec.ts";
import type { ReflectedSchemas, SchemaWaiter } from "./reflected-schemas.ts";
import type { Reflected } from "./reflection.ts";
import { type BodyFields, SchemaCodec } from "./schema-codec.ts";

/** Of which codec a message is. */
export interface CodecSourceOf {
  readonly schema: Schema | null;
  readonly route: CodecRoute;
}

/** What a route gets instead of a codec. */
export type CodecResult =
  /** `of` is what the codec was made of; one and the same object for one codec. */
  | { readonly kind: "codec"; readonly codec: MethodCodec; readonly of: CodecSourceOf }
  | { readonly kind: "status"; readonly status: GrpcStatus }
  | { readonly kind: "fault"; readonly fault: Fault };

/** Who waits for a codec. */
export interface CodecWaiter {
  onCodec(result: CodecResult): void;
}

/** Where the codec of a route comes from. */
export interface CodecSource {
  /** @returns null if the waiter is told later */
  codec(waiter: CodecWaiter): CodecResult | null;
  /** The waiter has given up. */
  leave(waiter: CodecWaiter): void;
  /** The upstream does not know the method. */
  onUnimplemented(): void;
}

/** What a codec must know of its route. */
export interface CodecRoute extends BodyFields {
  /** `/package.Service/Method`. */
  readonly grpcMethod: string;
  /** The request fields that the path gives. */
  readonly pathFields: readonly string[];
}

/** The schema is in a file, which the configuration has checked. */
export class FiledCodec implements CodecSource {
  private readonly result: CodecResult;

  constructor(schema: Schema, route: CodecRoute) {
    this.result = codecOf(schema, route);
  }

  codec(): CodecResult {
    return this.result;
  }

  leave(): void {}

  onUnimplemented(): void {}
}

/** The schema is asked for where the calls go; without one, the fields go as JSON. */
export class ReflectedCodec implements CodecSource {
  private readonly schemas: ReflectedSchemas;
  private readonly route: CodecRoute;
  private readonly service: string;
  private readonly waiting: Map<CodecWaiter, SchemaWaiter> = new Map();
  /** What was made of the last result. */
  private from: Reflected | null = null;
  private result: CodecResult;

  constructor(schemas: ReflectedSchemas, route: CodecRoute) {
    this.schemas = schemas;
    this.route = route;
    this.result = jsonCodec(route);
    this.service = route.grpcMethod.slice(1, route.grpcMethod.lastIndexOf("/"));
  }

  codec(waiter: CodecWaiter): CodecResult | null {
    const schemaWaiter: SchemaWaiter = {
      onSchema: (result) => {
        this.waiting.delete(waiter);
        waiter.onCodec(this.resultOf(result));
      },
    };
    const known = this.schemas.lookUp(this.service, schemaWaiter);
    if (known !== null) return this.resultOf(known);
    this.waiting.set(waiter, schemaWaiter);
    return null;
  }

  leave(waiter: CodecWaiter): void {
    const schemaWaiter = this.waiting.get(waiter);
    if (schemaWaiter === undefined) return;
    this.waiting.delete(waiter);
    this.schemas.leave(this.service, schemaWaiter);
  }

  onUnimplemented(): void {
    this.schemas.doubt(this.service);
  }

  private resultOf(reflected: Reflected): CodecResult {
    if (reflected.kind === "fault") return reflected;
    if (reflected !== this.from) {
      this.from = reflected;
      this.result = reflected.kind === "none" ? jsonCodec(this.route) : codecOf(reflected.schema, this.route);
    }
    return this.result;
  }
}

/** The codec of a route by a schema, or why there is none. */
export function codecOf(schema: Schema, route: CodecRoute): CodecResult {
  const method = schema.method(route.grpcMethod);
  if (method === null) return refusal(GrpcCode.Unimplemented, "the upstream has no such method");
  const fault = methodFault(method, route);
  if (fault !== null) return refusal(GrpcCode.Internal, fault.message);
  return { kind: "codec", codec: new SchemaCodec(method, schema.registry, route), of: { schema, route } };
}

function jsonCodec(route: CodecRoute): CodecResult {
  return { kind: "codec", codec: new JsonCodec(), of: { schema: null, route } };
}

function refusal(code: GrpcCode, message: string): CodecResult {
  return { kind: "status", status: { code, message, details: null } };
}
