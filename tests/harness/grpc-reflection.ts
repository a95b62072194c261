import { readFileSync } from "node:fs";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { Server, ServerDuplexStream } from "@grpc/grpc-js";

/** Server reflection with the files of a descriptor set as they are, options and all, one question a message. */
export class FiledReflection {
  /** What was asked, such as `list *`, `symbol shop.Shop` and `file google/api/http.proto`. */
  readonly asked: string[] = [];
  files: readonly FileDescriptorProto[];

  constructor(set: string) {
    this.files = fromBinary(FileDescriptorSetSchema, readFileSync(set)).file;
  }

  /** Adds it to a server. */
  addTo(server: Server, version: "v1" | "v1alpha" = "v1"): void {
    const same = (bytes: Buffer) => bytes;
    const method = {
      path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      requestStream: true,
      responseStream: true,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    const handle = (call: ServerDuplexStream<Buffer, Buffer>) => {
      call.on("data", (request: Buffer) => call.write(this.answer(request)));
      call.on("end", () => call.end());
    };
    server.addService({ ServerReflectionInfo: method } as never, { ServerReflectionInfo: handle } as never);
  }

  private answer(request: Buffer): Buffer {
    const kind = KINDS[request[0]! >> 3] ?? "?";
    const text = request.subarray(2).toString("utf8");
    this.asked.push(`${kind} ${text}`);
    if (kind === "list") {
      const names = this.files.flatMap((file) => file.service.map(({ name }) => `${file.package}.${name}`));
      const all = [...names, "grpc.reflection.v1.ServerReflection"];
      return field(6, Buffer.concat(all.map((name) => field(1, field(1, Buffer.from(name))))));
    }
    const file = this.files.find((one) => (kind === "file" ? one.name === text : defines(one, text)));
    if (file === undefined) return field(7, field(2, Buffer.from("not found")));
    return field(4, field(1, Buffer.from(toBinary(FileDescriptorProtoSchema, file))));
  }
}

function defines(file: FileDescriptorProto, symbol: string): boolean {
  return file.service.some(({ name }) => `${file.package}.${name}` === symbol);
}

/** One field with bytes as the wire has it. */
function field(number: number, bytes: Buffer): Buffer {
  const length: number[] = [];
  for (let left = bytes.length; ; left >>>= 7) {
    length.push(left < 128 ? left : (left & 127) | 128);
    if (left < 128) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

const KINDS: Readonly<Record<number, string>> = { 3: "file", 4: "symbol", 7: "list" };
