import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { readSchema, type Schema } from "../../src/proto/grpc/schema.ts";
import { grpcDefinition } from "./grpc-definition.ts";

/** The schema of tests/vectors/transcode/library.proto. */
export const LIBRARY_FILE: string = join(import.meta.dir, "..", "vectors", "transcode", "library.binpb");
export const LIBRARY: Schema = readSchema(readFileSync(LIBRARY_FILE)) as Schema;

type Json = Record<string, JsonValue>;
type Unary = ServerUnaryCall<Json, Json>;

/** One call as the server saw it. */
export interface LibraryCall {
  readonly method: string;
  readonly request: Json;
  /** What is left of its time, in milliseconds. */
  readonly timeoutMs: number;
}

/** The services of library.proto on @grpc/grpc-js. */
export class GrpcLibrary {
  private constructor(
    private readonly server: Server,
    readonly port: number,
    readonly calls: LibraryCall[],
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  static async start(): Promise<GrpcLibrary> {
    const server = new Server();
    const calls: LibraryCall[] = [];
    server.addService(grpcDefinition(LIBRARY.registry, "library.Library") as never, handlers(calls) as never);
    const port = await new Promise<number>((resolve, reject) => {
      const done = (error: Error | null, bound: number) => (error === null ? resolve(bound) : reject(error));
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), done);
    });
    return new GrpcLibrary(server, port, calls);
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

function handlers(calls: LibraryCall[]) {
  const note = (method: string, call: Unary | ServerWritableStream<Json, Json>): Json => {
    const deadline = call.getDeadline();
    const timeoutMs = typeof deadline === "number" ? deadline - Date.now() : deadline.getTime() - Date.now();
    calls.push({ method, request: call.request, timeoutMs });
    return call.request;
  };
  const book = (method: string) => (call: Unary, reply: sendUnaryData<Json>) => {
    const request = note(method, call);
    if (request.title === "never") return;
    reply(null, {
      id: "7",
      fullTitle: "A title",
      kind: "NOVEL",
      copies: "9007199254740993",
      request: JSON.stringify(request),
    });
  };
  const same = (method: string) => (call: Unary, reply: sendUnaryData<Json>) => reply(null, note(method, call));
  return {
    UpdateBook: book("UpdateBook"),
    GetBooks: book("GetBooks"),
    GetCover: (call: Unary, reply: sendUnaryData<Json>) => {
      const { title = "" } = note("GetCover", call) as { title?: string };
      if (title === "none") reply({ code: 5, details: "no such cover", metadata: new Metadata() } as never, null);
      else if (title === "bare") reply(null, {});
      else if (title === "odd") reply(null, { contentType: "text/html\r\nX-Evil: 1", data: "PGI+" });
      else reply(null, { contentType: "image/png", data: PICTURE.toString("base64") });
    },
    PutCover: same("PutCover"),
    AddScan: same("AddScan"),
    Odd: book("Odd"),
    Gather: () => {},
    Download: (call: ServerWritableStream<Json, Json>) => {
      const { title = "" } = note("Download", call) as { title?: string };
      call.write({ contentType: "text/csv", data: Buffer.from("a,b\n").toString("base64") });
      if (title === "broken") call.emit("error", { code: 10, details: "the stream broke" });
      else {
        call.write({ data: Buffer.from("1,2\n").toString("base64") });
        call.end();
      }
    },
  };
}

/** Bytes that are no UTF-8. */
export const PICTURE: Buffer = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0xff, 0xfe, 0xc0]);
