import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create, fromJson, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { ERROR_DETAILS } from "../../src/proto/grpc/error-details.ts";
import { readSchema, type Schema } from "../../src/proto/grpc/schema.ts";
import { grpcDefinition } from "./grpc-definition.ts";

/** The schema of tests/vectors/transcode/shop.proto. */
export const SHOP_FILE: string = join(import.meta.dir, "..", "vectors", "transcode", "shop.binpb");

/** A route of the transcoder to a method of the shop. */
export function shopRoute(
  http_method: string,
  http_path: string,
  method: string,
  upstream_url: string,
  more: object = {},
): Record<string, unknown> {
  return { http_method, http_path, grpc_method: `/shop.Shop/${method}`, upstream_url, ...more };
}

export const SHOP: Schema = readSchema(readFileSync(SHOP_FILE)) as Schema;

type Json = Record<string, JsonValue>;

/** One call as the server saw it. */
export interface SeenCall {
  readonly method: string;
  readonly request: Json;
  readonly metadata: Record<string, string>;
  cancelled: boolean;
}

/** The Shop service on @grpc/grpc-js, which is gRPC's own implementation for Node. */
export class GrpcShop {
  private constructor(
    private readonly server: Server,
    readonly port: number,
    /** Every call so far. */
    readonly calls: SeenCall[],
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** @param options `prepare` adds services before the server listens, reflection for one */
  static async start(options: { port?: number; prepare?: (server: Server) => void } = {}): Promise<GrpcShop> {
    const server = new Server({ "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 });
    const seen: SeenCall[] = [];
    server.addService(grpcDefinition(SHOP.registry, "shop.Shop") as never, handlers(seen) as never);
    options.prepare?.(server);
    const port = await new Promise<number>((resolve, reject) => {
      const done = (error: Error | null, bound: number) => (error === null ? resolve(bound) : reject(error));
      server.bindAsync(`127.0.0.1:${options.port ?? 0}`, ServerCredentials.createInsecure(), done);
    });
    return new GrpcShop(server, port, seen);
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

type Unary = ServerUnaryCall<Json, Json>;
type Stream = ServerWritableStream<Json, Json>;

function handlers(seen: SeenCall[]) {
  const note = (method: string, call: Unary | Stream): SeenCall => {
    const metadata = Object.fromEntries(Object.entries(call.metadata.getMap()).map(([k, v]) => [k, String(v)]));
    const one = { method, request: call.request, metadata, cancelled: false };
    seen.push(one);
    (call as Unary).on("cancelled", () => {
      one.cancelled = true;
    });
    return one;
  };
  const item = (method: string) => (call: Unary, reply: sendUnaryData<Json>) => {
    note(method, call);
    const head = new Metadata();
    head.set("x-shop", "open");
    call.sendMetadata(head);
    const { id = "" } = call.request as { id?: string };
    reply(null, { id, title: `item ${id}`, serial: "9007199254740993", request: JSON.stringify(call.request) });
  };
  return {
    GetItem: item("GetItem"),
    CreateItem: item("CreateItem"),
    UpdateItem: item("UpdateItem"),
    Echo: (call: Unary, reply: sendUnaryData<Json>) => {
      note("Echo", call);
      reply(null, call.request);
    },
    Nothing: (call: Unary, reply: sendUnaryData<Json>) => {
      note("Nothing", call);
      reply(null, {});
    },
    Fail: (call: Unary, reply: sendUnaryData<Json>) => {
      note("Fail", call);
      fail(call.request as Failure, reply);
    },
    Watch: (call: Stream) => void watch(note("Watch", call), call),
    Upload: (call: ServerReadableStream<Json, Json>, reply: sendUnaryData<Json>) => {
      let count = 0;
      call.on("data", () => count++);
      call.on("end", () => reply(null, { serial: String(count) }));
    },
  };
}

interface Failure {
  readonly code?: number;
  readonly message?: string;
  readonly how?: string;
}

function fail({ code = 0, message = "", how = "" }: Failure, reply: sendUnaryData<Json>): void {
  if (how === "hang") return;
  const metadata = new Metadata();
  if (how !== "") metadata.set("grpc-status-details-bin", detailsFor(how, code, message));
  reply({ code, details: message, metadata } as never, null);
}

interface Watching {
  readonly count?: number;
  /** Messages before the stream breaks; negative breaks it before the first, 0 never. */
  readonly failAfter?: number;
  readonly padBytes?: number;
  readonly endless?: boolean;
}

async function watch(seen: SeenCall, call: Stream): Promise<void> {
  const { count = 0, failAfter = 0, padBytes = 0, endless = false } = call.request as Watching;
  const blob = Buffer.alloc(padBytes, 1).toString("base64");
  for (let i = 1; (endless || i <= count) && !seen.cancelled; i++) {
    if (failAfter !== 0 && i > failAfter) {
      call.emit("error", { code: 10, details: "the stream broke" });
      return;
    }
    const hasRoom = call.write({ id: String(i), ...(padBytes > 0 ? { blob } : {}) });
    if (!hasRoom) await Promise.race([new Promise((resolve) => call.once("drain", resolve)), Bun.sleep(1000)]);
    else if (endless) await Bun.sleep(5);
  }
  call.end();
}

/** The bytes of `grpc-status-details-bin`. */
function detailsFor(how: string, code: number, message: string): Buffer {
  if (how === "bad-details") return Buffer.from([0xff, 0xff, 0xff]);
  const info = ERROR_DETAILS.registry.getMessage("google.rpc.ErrorInfo")!;
  const value = toBinary(info, fromJson(info, { reason: "SOLD_OUT", domain: "shop.test", metadata: { sku: "7" } }));
  const typeUrl = `type.googleapis.com/${how === "unknown-detail" ? "nobody.Knows" : "google.rpc.ErrorInfo"}`;
  const status = ERROR_DETAILS.registry.getMessage("google.rpc.Status")!;
  const whole = create(status, { code, message, details: [create(AnySchema, { typeUrl, value })] } as never);
  return Buffer.from(toBinary(status, whole));
}
