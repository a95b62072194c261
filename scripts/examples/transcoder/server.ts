// A gRPC service to try the transcoder with, on @grpc/grpc-js with server reflection.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadPackageDefinition, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import { ReflectionService } from "@grpc/reflection";

interface Call<Request> {
  readonly request: Request;
  write(message: object): void;
  end(): void;
}
type Reply = (error: object | null, message?: object) => void;

const definition = loadFileDescriptorSetFromBuffer(readFileSync(join(import.meta.dir, "users.binpb")), {
  longs: String,
});
const { users } = loadPackageDefinition(definition) as unknown as { users: { Users: { service: never } } };
const names = new Map([
  ["1", "Ada"],
  ["2", "Grace"],
]);
const server = new Server();
server.addService(users.Users.service, {
  GetUser({ request: { user_id } }: Call<{ user_id: string }>, reply: Reply): void {
    const name = names.get(user_id);
    if (name === undefined) reply({ code: status.NOT_FOUND, details: `no user ${user_id}` });
    else reply(null, { user_id, name, visits: "9007199254740993" });
  },
  ListUsers(call: Call<{ page_size: number }>): void {
    const all = [...names].slice(0, call.request.page_size || names.size);
    for (const [user_id, name] of all) call.write({ user_id, name });
    call.end();
  },
} as never);
new ReflectionService(definition).addToServer(server);
server.bindAsync(`127.0.0.1:${process.env.GRPC_PORT}`, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error;
});
