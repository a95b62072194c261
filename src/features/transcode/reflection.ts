import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { Fault } from "../../core/fault.ts";
import { GrpcCode } from "../../proto/grpc/grpc-status.ts";
import {
  REFLECTION_METHODS,
  type ReflectionAnswer,
  type ReflectionQuestion,
} from "../../proto/grpc/reflection-messages.ts";
import { isWellKnown, type Schema, schemaOf } from "../../proto/grpc/schema.ts";
import { MAX_DESCRIPTOR_BYTES } from "./limits.ts";

/** Files that are asked for, one after the other, to complete what reflection told. */
const MAX_REFLECTED_FILES = 1000;

/** What reflection found out. */
export type Reflected =
  | { readonly kind: "schema"; readonly schema: Schema; readonly files: readonly FileDescriptorProto[] }
  /** The upstream tells nothing, and why; `lasting` if it has said that it never does. */
  | { readonly kind: "none"; readonly lasting: boolean; readonly why: string }
  /** The upstream cannot be reached. */
  | { readonly kind: "fault"; readonly fault: Fault };

/** How a server is asked. */
export interface ReflectionPorts {
  /**
   * Asks one question, as a call of its own.
   * @param version an index of REFLECTION_METHODS
   * @returns gives the question up. @param isOverdue whether its time is over
   */
  ask(version: number, question: ReflectionQuestion, listener: ReflectionListener): (isOverdue?: boolean) => void;
  /** Calls back after a time. @returns what keeps it from doing so */
  after(ms: number, act: () => void): () => void;
}

/** Who is notified of a question. After `onEnd` or `onFailure` nothing more comes. */
export interface ReflectionListener {
  onAnswer(response: ReflectionAnswer): void;
  /** @param code of gRPC */
  onEnd(code: number, message: string): void;
  /** There is no response, or no whole one. */
  onFailure(fault: Fault): void;
}

/** What an upstream is asked for. */
interface ReflectionWish {
  /** One service; or all that the upstream lists and that are wanted. */
  readonly services: string | ((name: string) => boolean);
  /** For all of it. */
  readonly timeoutMs: number;
}

/**
 * Asks an upstream for the files of services: first the file that defines one, then what that imports, until nothing is
 * missing. gRPC server reflection, v1 and v1alpha.
 */
export class Reflection implements ReflectionListener {
  private readonly port: ReflectionPorts;
  private readonly wish: ReflectionWish;
  private readonly done: (result: Reflected) => void;
  private keepTime: () => void = () => {};
  private readonly files: Map<string, FileDescriptorProto> = new Map();
  private readonly asked: Set<string> = new Set();
  /** Files that others import, and that have not been found yet. */
  private readonly imports: Set<string> = new Set();
  private version = 0;
  private bytes = 0;
  private giveUp: (isOverdue?: boolean) => void = () => {};
  private found: readonly FileDescriptorProto[] = [];
  /** The services that are still to be asked for; null until they are listed. */
  private symbols: string[] | null;
  private isOver = false;

  /** @param done called once */
  constructor(port: ReflectionPorts, wish: ReflectionWish, done: (result: Reflected) => void) {
    this.port = port;
    this.wish = wish;
    this.symbols = typeof wish.services === "string" ? [wish.services] : null;
    this.done = done;
  }

  start(): void {
    this.keepTime = this.port.after(this.wish.timeoutMs, () => this.onLate());
    this.begin();
  }

  onAnswer({ services, files, bytes }: ReflectionAnswer): void {
    if (this.isOver) return;
    this.bytes += bytes;
    if (this.bytes > MAX_DESCRIPTOR_BYTES)
      this.nothing(false, `more than ${MAX_DESCRIPTOR_BYTES} bytes of descriptors`);
    else if (this.symbols === null) this.takeList(services);
    else this.found = files;
  }

  onEnd(code: number, message: string): void {
    if (this.isOver) return;
    const isFirst = this.files.size === 0 && this.asked.size === 0;
    if (code === GrpcCode.Unimplemented && isFirst) this.nextVersion();
    else if (code !== GrpcCode.Ok && this.found.length === 0)
      this.nothing(false, `reflection ends with ${code}: ${message}`);
    else if (this.symbols === null) this.nothing(true, "reflection lists no services");
    // One of several that the upstream lists and does not know is no reason to do without the others.
    else if (this.found.length === 0 && typeof this.wish.services === "string")
      this.nothing(true, "the service is not known");
    else this.take();
  }

  onFailure(fault: Fault): void {
    if (this.isOver) return;
    // What answers, but not as gRPC does, has no reflection.
    if (fault === Fault.UpstreamMalformed) this.nothing(false, "the upstream does not speak gRPC");
    else this.finish({ kind: "fault", fault });
  }

  /** An upstream that is silent on a path that it does not know must not cost every call this time. */
  private onLate(): void {
    this.giveUp(true);
    this.giveUp = () => {};
    this.nothing(true, "reflection takes too long");
  }

  private begin(): void {
    if (this.symbols === null) this.ask({ listServices: "*" });
    else this.ask({ fileContainingSymbol: this.symbols[0]! });
  }

  private takeList(names: readonly string[]): void {
    const { services } = this.wish;
    const wanted = names.filter((name) => typeof services === "function" && services(name));
    if (wanted.length === 0)
      this.nothing(false, names.length === 0 ? "reflection lists no services" : "none of the services is wanted");
    else if (wanted.length > MAX_REFLECTED_FILES) this.nothing(false, `more than ${MAX_REFLECTED_FILES} services`);
    else this.symbols = wanted;
  }

  private take(): void {
    for (const file of this.found) {
      this.files.set(file.name, file);
      for (const name of file.dependency) this.imports.add(name);
    }
    const missing = this.nextImport();
    if (this.files.size > MAX_REFLECTED_FILES || this.asked.size > MAX_REFLECTED_FILES)
      this.nothing(false, `more than ${MAX_REFLECTED_FILES} files`);
    else if (missing === undefined) this.nextSymbol();
    else {
      this.asked.add(missing);
      // The gateway has these itself; not every server knows them by name.
      if (isWellKnown(missing)) this.take();
      else this.ask({ fileByFilename: missing });
    }
  }

  /** The first file that is imported and neither there nor asked for; each is examined once. */
  private nextImport(): string | undefined {
    for (const name of this.imports) {
      if (!this.files.has(name) && !this.asked.has(name)) return name;
      this.imports.delete(name);
    }
    return undefined;
  }

  private nextSymbol(): void {
    const defined = new Set<string>();
    for (const file of this.files.values()) {
      for (const { name } of file.service) defined.add(file.package === "" ? name : `${file.package}.${name}`);
    }
    const next = this.symbols!.find((name) => !defined.has(name) && !this.asked.has(name));
    if (next === undefined || typeof this.wish.services === "string") return this.link();
    this.asked.add(next);
    this.ask({ fileContainingSymbol: next });
  }

  private link(): void {
    const files = [...this.files.values()];
    const schema = schemaOf(files);
    if (typeof schema === "string") this.nothing(true, `what reflection gives ${schema}`);
    else this.finish({ kind: "schema", schema, files });
  }

  private nextVersion(): void {
    this.version++;
    if (this.version === REFLECTION_METHODS.length) this.nothing(true, "the upstream has no reflection");
    else this.begin();
  }

  private ask(question: ReflectionQuestion): void {
    this.found = [];
    this.giveUp = this.port.ask(this.version, question, this);
  }

  private nothing(lasting: boolean, why: string): void {
    this.finish({ kind: "none", lasting, why });
  }

  private finish(result: Reflected): void {
    if (this.isOver) return;
    this.isOver = true;
    this.keepTime();
    this.giveUp();
    this.done(result);
  }
}
