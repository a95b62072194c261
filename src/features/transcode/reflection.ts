import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { Fault } from "../../core/fault.ts";
import { MAX_DESCRIPTOR_BYTES, MAX_REFLECTED_FILES, REFLECTION_TIMEOUT_MS } from "../../core/limits.ts";
import { TimerNode, type TimerOwner, type TimerWheel } from "../../core/timer-wheel.ts";
import type { GrpcCall, GrpcListener, GrpcStatus, GrpcUpstream } from "../../message/grpc-upstream.ts";
import type { NowMs } from "../../message/ports.ts";
import { GrpcCode } from "../../proto/grpc/grpc-status.ts";
import { REFLECTION_PATHS, reflectedFiles, reflectionRequest } from "../../proto/grpc/reflection-messages.ts";
import { isWellKnown, type Schema, schemaOf } from "../../proto/grpc/schema.ts";

/** What reflection found out. */
export type Reflected =
  | { readonly kind: "schema"; readonly schema: Schema }
  /** The upstream tells nothing; `lasting` where it has said that it never does. */
  | { readonly kind: "none"; readonly lasting: boolean }
  /** The upstream cannot be reached. */
  | { readonly kind: "fault"; readonly fault: Fault };

/** Time in a worker. */
export interface ReflectionServices {
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
}

/**
 * Asks an upstream for the files of one service: first the file that defines it, then what that imports, until nothing is
 * missing. Every question is a call of its own. gRPC server reflection, v1 and v1alpha.
 */
export class Reflection implements GrpcListener, TimerOwner {
  private readonly upstream: GrpcUpstream;
  private readonly service: string;
  private readonly services: ReflectionServices;
  private readonly done: (result: Reflected) => void;
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly files: Map<string, FileDescriptorProto> = new Map();
  private readonly asked: Set<string> = new Set();
  private version = 0;
  private bytes = 0;
  private call: GrpcCall | null = null;
  private answer: readonly FileDescriptorProto[] = [];
  private isOver = false;

  /** @param done called once */
  constructor(
    upstream: GrpcUpstream,
    service: string,
    services: ReflectionServices,
    done: (result: Reflected) => void,
  ) {
    this.upstream = upstream;
    this.service = service;
    this.services = services;
    this.done = done;
  }

  start(): void {
    const { wheel, turn } = this.services;
    wheel.arm(this.timer, turn.nowMs + REFLECTION_TIMEOUT_MS);
    this.ask(reflectionRequest({ symbol: this.service }));
  }

  onMetadata(): void {}

  onMessage(message: Uint8Array): void {
    this.bytes += message.length;
    this.answer = reflectedFiles(message);
    if (this.bytes > MAX_DESCRIPTOR_BYTES) this.finish({ kind: "none", lasting: false });
  }

  onEnd(status: GrpcStatus): void {
    if (this.isOver) return;
    if (this.answer.length > 0) this.take();
    else if (status.code === GrpcCode.Unimplemented && this.files.size === 0) this.nextVersion();
    else this.finish({ kind: "none", lasting: status.code === GrpcCode.Ok });
  }

  onFailure(fault: Fault): void {
    if (this.isOver) return;
    // What answers, but not as gRPC does, has no reflection.
    this.finish(fault === Fault.UpstreamMalformed ? { kind: "none", lasting: false } : { kind: "fault", fault });
  }

  /** An upstream that is silent on a path that it does not know must not cost every call this time. */
  onTimer(): void {
    this.call?.cancel(true);
    this.call = null;
    this.finish({ kind: "none", lasting: true });
  }

  private take(): void {
    for (const file of this.answer) this.files.set(file.name, file);
    const missing = [...this.files.values()]
      .flatMap((file) => file.dependency)
      .find((name) => !this.files.has(name) && !this.asked.has(name));
    if (this.files.size > MAX_REFLECTED_FILES || this.asked.size > MAX_REFLECTED_FILES)
      this.finish({ kind: "none", lasting: false });
    else if (missing === undefined) this.link();
    else {
      this.asked.add(missing);
      // The gateway has these itself; not every server knows them by name.
      if (isWellKnown(missing)) this.take();
      else this.ask(reflectionRequest({ file: missing }));
    }
  }

  private link(): void {
    const schema = schemaOf([...this.files.values()]);
    this.finish(typeof schema === "string" ? { kind: "none", lasting: true } : { kind: "schema", schema });
  }

  private nextVersion(): void {
    this.version++;
    if (this.version === REFLECTION_PATHS.length) this.finish({ kind: "none", lasting: true });
    else this.ask(reflectionRequest({ symbol: this.service }));
  }

  private ask(message: Uint8Array): void {
    this.answer = [];
    const path = REFLECTION_PATHS[this.version]!;
    const request = { path, contentType: "application/grpc", metadata: [], message, timeoutMs: REFLECTION_TIMEOUT_MS };
    this.call = this.upstream.call(request, this);
  }

  private finish(result: Reflected): void {
    if (this.isOver) return;
    this.isOver = true;
    this.services.wheel.remove(this.timer);
    this.call?.cancel();
    this.done(result);
  }
}
