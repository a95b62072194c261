import {
  type create,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { schemaOfTable } from "./compact-proto.ts";

/** grpc/reflection/v1/reflection.proto, as far as files are asked for; v1alpha has the same fields. */
const MESSAGES = schemaOfTable("grpc.reflection.v1", [], {
  ServerReflectionRequest: [
    "host: string = 1",
    "file_by_filename: string = 3",
    "file_containing_symbol: string = 4",
    "list_services: string = 7",
  ],
  ServerReflectionResponse: [
    "file_descriptor_response: grpc.reflection.v1.FileDescriptorResponse = 4",
    "list_services_response: grpc.reflection.v1.ListServiceResponse = 6",
    "error_response: grpc.reflection.v1.ErrorResponse = 7",
  ],
  ListServiceResponse: ["service: grpc.reflection.v1.ServiceResponse[] = 1"],
  ServiceResponse: ["name: string = 1"],
  FileDescriptorResponse: ["file_descriptor_proto: bytes[] = 1"],
  ErrorResponse: ["error_code: int32 = 1", "error_message: string = 2"],
});
const REQUEST: DescMessage = MESSAGES.registry.getMessage("grpc.reflection.v1.ServerReflectionRequest")!;
const RESPONSE: DescMessage = MESSAGES.registry.getMessage("grpc.reflection.v1.ServerReflectionResponse")!;
const FILES: DescMessage = MESSAGES.registry.getMessage("grpc.reflection.v1.FileDescriptorResponse")!;

/** The paths of the method, the newer version first. */
export const REFLECTION_PATHS: readonly string[] = [
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/** Asks for a file by its name, or for the one that defines a symbol. */
export function reflectionRequest(question: { readonly file: string } | { readonly symbol: string }): Uint8Array {
  const json: JsonObject =
    "file" in question ? { fileByFilename: question.file } : { fileContainingSymbol: question.symbol };
  return toBinary(REQUEST, fromJson(REQUEST, json));
}

/** Asks for the names of all services. */
export function listingRequest(): Uint8Array {
  // An empty text would not be sent at all.
  return toBinary(REQUEST, fromJson(REQUEST, { listServices: "*" }));
}

/** The names of the services in a response; empty where it is none of that kind. */
export function listedServices(bytes: Uint8Array): readonly string[] {
  try {
    const json = toJson(RESPONSE, fromBinary(RESPONSE, bytes)) as {
      listServicesResponse?: { service?: { name?: string }[] };
    };
    return (json.listServicesResponse?.service ?? []).flatMap(({ name = "" }) => (name === "" ? [] : [name]));
  } catch {
    return [];
  }
}

/** The files of a response; empty where it is an error or none of reflection. */
export function reflectedFiles(bytes: Uint8Array): readonly FileDescriptorProto[] {
  try {
    const response = reflect(RESPONSE, fromBinary(RESPONSE, bytes));
    const field = RESPONSE.field.fileDescriptorResponse!;
    if (!response.isSet(field)) return [];
    const inner = response.get(field) as { readonly message: ReturnType<typeof create> };
    const list = reflect(FILES, inner.message).get(FILES.field.fileDescriptorProto!) as Iterable<Uint8Array>;
    return [...list].map((file) => fromBinary(FileDescriptorProtoSchema, file)).filter((file) => file.name !== "");
  } catch {
    return [];
  }
}
