import { create, type DescMethod, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { schemaOfTable } from "./compact-proto.ts";
import type { Schema } from "./schema.ts";

/** The method that asks for descriptors, by version, the newer one first. */
export const REFLECTION_METHODS: readonly DescMethod[] = ["v1", "v1alpha"].map((version) => {
  const pkg = `grpc.reflection.${version}`;
  return schemaOfVersion(pkg).method(`/${pkg}.ServerReflection/ServerReflectionInfo`)!;
});

/** grpc/reflection/v1/reflection.proto, as far as files are asked for; v1alpha has the same fields. */
function schemaOfVersion(pkg: string): Schema {
  return schemaOfTable(
    pkg,
    [],
    {
      ServerReflectionRequest: [
        "host: string = 1",
        "file_by_filename?: string = 3",
        "file_containing_symbol?: string = 4",
        "list_services?: string = 7",
      ],
      ServerReflectionResponse: [
        `file_descriptor_response: ${pkg}.FileDescriptorResponse = 4`,
        `list_services_response: ${pkg}.ListServiceResponse = 6`,
        `error_response: ${pkg}.ErrorResponse = 7`,
      ],
      ListServiceResponse: [`service: ${pkg}.ServiceResponse[] = 1`],
      ServiceResponse: ["name: string = 1"],
      FileDescriptorResponse: ["file_descriptor_proto: bytes[] = 1"],
      ErrorResponse: ["error_code: int32 = 1", "error_message: string = 2"],
    },
    { ServerReflection: [`ServerReflectionInfo: ${pkg}.ServerReflectionRequest -> ${pkg}.ServerReflectionResponse[]`] },
  );
}

/** A question: for a file by its name, for the file that defines a symbol, or for the names of all services. */
export type ReflectionQuestion =
  | { readonly fileByFilename: string }
  | { readonly fileContainingSymbol: string }
  | { readonly listServices: "*" };

/** A message of a response. */
export interface ReflectionResponse {
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Uint8Array[] };
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] };
}

/** What a response says; empty if it is an error. */
export interface ReflectionAnswer {
  readonly services: readonly string[];
  readonly files: readonly FileDescriptorProto[];
  /** Of all files. */
  readonly bytes: number;
}

/** The message of a question, which is the same in both versions. */
export function questionBytes(question: ReflectionQuestion): Uint8Array {
  const type = REFLECTION_METHODS[0]!.input;
  return toBinary(type, create(type, question as never));
}

/** Reads a response, which is the same in both versions. */
export function readReflection(bytes: Uint8Array): ReflectionAnswer {
  try {
    return reflectionAnswer(fromBinary(REFLECTION_METHODS[0]!.output, bytes) as ReflectionResponse);
  } catch {
    return NO_ANSWER;
  }
}

/** What a response says; files that cannot be read are passed over with those beside them. */
export function reflectionAnswer({
  fileDescriptorResponse,
  listServicesResponse,
}: ReflectionResponse): ReflectionAnswer {
  const files = fileDescriptorResponse?.fileDescriptorProto ?? [];
  const names = (listServicesResponse?.service ?? []).map(({ name }) => name);
  try {
    return {
      services: names.filter((name) => name !== ""),
      files: files.map((file) => fromBinary(FileDescriptorProtoSchema, file)).filter((file) => file.name !== ""),
      bytes: files.reduce((sum, { length }) => sum + length, 0),
    };
  } catch {
    return NO_ANSWER;
  }
}

const NO_ANSWER: ReflectionAnswer = { services: [], files: [], bytes: 0 };
