import {
  type Client,
  type ClientDuplexStream,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from "@grpc/grpc-js";

/** Messages are bytes. */
export const same = (bytes: Buffer): Buffer => bytes;
/** A method of `test.Echo`, as gRPC wants it described. */
export const method = (name: string, isStream: boolean) => ({
  path: `/test.Echo/${name}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
});

/** A gRPC server that is running. */
export interface GrpcEcho {
  readonly port: number;
  stop(): void;
}

/** Starts a server of gRPC's own implementation for Node that echoes messages of bytes: `Unary`, and `Chat` in both directions. */
export async function grpcEcho(creds: ServerCredentials = ServerCredentials.createInsecure()): Promise<GrpcEcho> {
  const server = new Server({ "grpc.max_receive_message_length": -1 });
  server.addService({ Unary: method("Unary", false), Chat: method("Chat", true) } as never, {
    Unary: (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => reply(null, call.request),
    Chat: (call: ServerDuplexStream<Buffer, Buffer>) => {
      call.on("data", (message: Buffer) => call.write(message));
      call.on("end", () => call.end());
      call.on("error", () => {});
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    const done = (error: Error | null, bound: number): void => (error === null ? resolve(bound) : reject(error));
    server.bindAsync("127.0.0.1:0", creds, done);
  });
  return { port, stop: () => server.forceShutdown() };
}

/** One call of `Unary`. @param fields of the request, beside gRPC's own */
export function unary(client: Client, message: Buffer, fields: Readonly<Record<string, string>> = {}): Promise<Buffer> {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest("/test.Echo/Unary", same, same, message, metadata, (error, reply) => {
      if (error === null) resolve(reply!);
      else reject(error);
    });
  });
}

/** A stream in both directions in which each message waits for the echo of the one before. @returns the echoes */
export async function chatOf(client: Client, messages: number): Promise<string[]> {
  const call: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest("/test.Echo/Chat", same, same);
  const got: string[] = [];
  call.write(Buffer.from("0"));
  for await (const message of call as AsyncIterable<Buffer>) {
    got.push(message.toString());
    if (got.length < messages) call.write(Buffer.from(String(got.length)));
    else call.end();
  }
  return got;
}
