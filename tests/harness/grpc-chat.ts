import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { readSchema, type Schema } from "../../src/proto/grpc/schema.ts";
import { grpcDefinition } from "./grpc-definition.ts";

/** The schema of tests/vectors/transcode/chat.proto. */
export const CHAT_FILE: string = join(import.meta.dir, "..", "vectors", "transcode", "chat.binpb");
export const CHAT: Schema = readSchema(readFileSync(CHAT_FILE)) as Schema;

/** A message of the service as JSON. */
export interface Line {
  readonly text?: string;
  readonly number?: string;
  readonly room?: string;
  readonly blob?: string;
}

interface Order {
  readonly count?: number;
  readonly code?: number;
  readonly message?: string;
  readonly padBytes?: number;
  readonly endless?: boolean;
}

/** One call as the server saw it. */
export interface ChatCall {
  readonly method: string;
  readonly lines: Line[];
  readonly metadata: Record<string, string>;
  isCancelled: boolean;
  isEnded: boolean;
}

/** The service of chat.proto on @grpc/grpc-js: a line `fail` fails, `end` ends the call, `deaf` stops reading. */
export class GrpcChat {
  private constructor(
    private readonly server: Server,
    readonly port: number,
    readonly calls: ChatCall[],
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get last(): ChatCall {
    return this.calls.at(-1)!;
  }

  static async start(options: Record<string, number> = {}): Promise<GrpcChat> {
    const server = new Server({ "grpc.max_receive_message_length": -1, ...options });
    const calls: ChatCall[] = [];
    server.addService(grpcDefinition(CHAT.registry, "chat.Chat") as never, handlers(calls) as never);
    const port = await new Promise<number>((resolve, reject) => {
      const done = (error: Error | null, bound: number) => (error === null ? resolve(bound) : reject(error));
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), done);
    });
    return new GrpcChat(server, port, calls);
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

function handlers(calls: ChatCall[]) {
  const note = (
    method: string,
    call: { metadata: Metadata; on(name: string, done: () => void): unknown },
  ): ChatCall => {
    const metadata = Object.fromEntries(Object.entries(call.metadata.getMap()).map(([k, v]) => [k, String(v)]));
    const one: ChatCall = { method, lines: [], metadata, isCancelled: false, isEnded: false };
    calls.push(one);
    call.on("cancelled", () => {
      one.isCancelled = true;
    });
    return one;
  };
  return {
    Say: (call: ServerUnaryCall<Line, Line>, reply: sendUnaryData<Line>) => {
      const one = note("Say", call);
      one.lines.push(call.request);
      if (call.request.text === "fail") reply(failure(9, "no, ü"), null);
      else reply(null, call.request);
    },
    Gather: (call: ServerReadableStream<Line, unknown>, reply: sendUnaryData<object>) => {
      const one = note("Gather", call as never);
      let bytes = 0;
      call.on("data", (line: Line) => {
        bytes += line.blob === undefined ? 0 : Buffer.from(line.blob, "base64").length;
        one.lines.push(line.blob === undefined ? line : {});
        if (line.text === "fail") reply(failure(9, "enough"), null);
      });
      call.on("end", () => {
        one.isEnded = true;
        const texts = one.lines.map(({ text = "" }) => text).join(" ");
        reply(null, { lines: one.lines.length, texts, bytes: String(bytes) });
      });
    },
    Talk: (call: ServerDuplexStream<Line, Line>) => {
      const one = note("Talk", call as never);
      call.on("data", (line: Line) => {
        one.lines.push(line);
        if (line.text === "fail") call.emit("error", failure(9, "no, ü"));
        else if (line.text === "end") call.end();
        else if (line.text === "deaf") call.pause();
        else call.write(line);
      });
      call.on("end", () => {
        one.isEnded = true;
        call.end();
      });
    },
    Tell: (call: ServerWritableStream<Order, Line>) => void tell(note("Tell", call as never), call),
  };
}

function failure(code: number, details: string) {
  const metadata = new Metadata();
  metadata.set("x-why", "because");
  return { code, details, metadata, name: "failure", message: details };
}

async function tell(seen: ChatCall, call: ServerWritableStream<Order, Line>): Promise<void> {
  const { count = 0, code = 0, message = "", padBytes = 0, endless = false } = call.request;
  const head = new Metadata();
  head.set("x-room", "open");
  if (count > 0 || endless) call.sendMetadata(head);
  const blob = Buffer.alloc(padBytes, 1).toString("base64");
  for (let i = 1; (endless || i <= count) && !seen.isCancelled; i++) {
    const hasRoom = call.write({ number: String(i), ...(padBytes > 0 ? { blob } : {}) });
    if (!hasRoom) await Promise.race([new Promise((resolve) => call.once("drain", resolve)), Bun.sleep(1000)]);
    else if (endless) await Bun.sleep(5);
  }
  if (code !== 0) call.emit("error", failure(code, message));
  else call.end();
}
