import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  type DescMethod,
  type FileRegistry,
  fromBinary,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from "@bufbuild/protobuf/wkt";
import { messageOf } from "../../core/error-text.ts";

import { takesText } from "./field-text.ts";
import { needsRepair, repairedFiles } from "./repaired-files.ts";

/** The files that every protobuf library brings along, so that a descriptor set may leave them out. */
const WELL_KNOWN: readonly FileDescriptorProto[] = [
  file_google_protobuf_any,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
].map((file) => file.proto);

/** Whether the gateway has the file itself. */
export function isWellKnown(name: string): boolean {
  return WELL_KNOWN.some((file) => file.name === name);
}

/** The message types and services of some proto files. */
export class Schema {
  readonly registry: FileRegistry;

  constructor(registry: FileRegistry) {
    this.registry = registry;
  }

  /** The method with the path `/package.Service/Method`, or null. */
  method(path: string): DescMethod | null {
    const slash = path.lastIndexOf("/");
    const service = this.registry.getService(path.slice(1, slash));
    return service?.methods.find((method) => method.name === path.slice(slash + 1)) ?? null;
  }

  /** All files as a FileDescriptorSet, which `readSchema` reads. */
  bytes(): Uint8Array {
    const file = [...this.registry.files].map(({ proto }) => proto);
    return toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file }));
  }

  /** Every method. */
  methods(): DescMethod[] {
    return [...this.registry].flatMap((type) => (type.kind === "service" ? type.methods : []));
  }
}

/** The path of a method in a call. */
export function methodPath(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/**
 * Reads a FileDescriptorSet, as `protoc --descriptor_set_out` and `buf build` write it.
 * @returns the schema, or the fault in the bytes
 */
export function readSchema(bytes: Uint8Array): Schema | string {
  let set: FileDescriptorSet;
  try {
    set = fromBinary(FileDescriptorSetSchema, bytes);
  } catch {
    return "is not a FileDescriptorSet";
  }
  // Text and other formats may happen to be read as a message without known fields.
  if (set.file.length === 0 || set.file.some((file) => file.name === "")) return "is not a FileDescriptorSet";
  return schemaOf(set.file);
}

/** Links files to a schema. @returns the missing names, if they are not complete */
export function schemaOf(found: readonly FileDescriptorProto[]): Schema | string {
  const files = needsRepair(found) ? repairedFiles(found, WELL_KNOWN) : found;
  const names = new Set(files.map((file) => file.name));
  const known = WELL_KNOWN.filter((file) => !names.has(file.name));
  for (const file of known) names.add(file.name);
  for (const file of files) {
    const missing = file.dependency.find((name) => !names.has(name));
    if (missing !== undefined) return `lacks ${missing}, which ${file.name} imports: write it with --include_imports`;
  }
  try {
    return new Schema(
      createFileRegistry(create(FileDescriptorSetSchema, { file: importsFirst([...known, ...files]) })),
    );
  } catch (error) {
    return `cannot be linked: ${messageOf(error)}`;
  }
}

/** Each file after its imports: the order for linking. */
function importsFirst(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
  const byName = new Map(files.map((file) => [file.name, file]));
  const sorted = new Set<FileDescriptorProto>();
  const seen = new Set<FileDescriptorProto>();
  const visit = (file: FileDescriptorProto): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const name of file.dependency) visit(byName.get(name)!);
    sorted.add(file);
  };
  for (const file of byName.values()) visit(file);
  return [...sorted];
}

/** A field of a message, by its proto name or its JSON name; undefined if it has none such. */
export function fieldOf(message: DescMessage, name: string): DescField | undefined {
  return message.fields.find((field) => field.name === name || field.jsonName === name);
}

/**
 * The fields that a dotted name such as `filter.author` leads through. A map field takes the name after it as key, and
 * ends the way there.
 * @returns the fields from the outermost on, or the part of the name that leads to nothing
 */
export function fieldPath(message: DescMessage, dotted: string): readonly DescField[] | string {
  const parts = dotted.split(".");
  const path: DescField[] = [];
  let at: DescMessage | undefined = message;
  for (const [i, part] of parts.entries()) {
    const field: DescField | undefined = at === undefined ? undefined : fieldOf(at, part);
    if (field === undefined) return parts.slice(0, i + 1).join(".");
    path.push(field);
    if (field.fieldKind === "map" && i === parts.length - 2 && field.mapKind !== "message") return path;
    at = field.fieldKind === "message" ? field.message : undefined;
  }
  return path;
}

/** Whether a body is sent as it is, with its media type, in place of JSON: google/api/httpbody.proto. */
export function isHttpBody(message: DescMessage | undefined): boolean {
  return message?.typeName === "google.api.HttpBody";
}

/** The type of a body: the message (`*`), or one of its fields; undefined for a field of another kind, and for "". */
export function bodyType(message: DescMessage, body: string): DescMessage | undefined {
  if (body === "*") return message;
  const field = body === "" ? undefined : fieldOf(message, body);
  return field?.fieldKind === "message" ? field.message : undefined;
}

/** Whether the requests of a method are a stream; false if there is none. */
export function takesStream(method: DescMethod | null): boolean {
  const methodKind = method?.methodKind;
  return methodKind === "client_streaming" || methodKind === "bidi_streaming";
}

/** A route's requirements for a method. */
interface MethodUse {
  /** The request fields that the path gives. */
  readonly pathFields: readonly string[];
  readonly body: string;
  readonly responseBody: string;
}

/** What of a route does not fit a method, and which of its settings that is; null if all is well. */
export function methodFault(
  method: DescMethod,
  use: MethodUse,
): {
  readonly part: "body" | "response_body" | { readonly field: string };
  readonly message: string;
} | null {
  const { input, output } = method;
  for (const field of use.pathFields) {
    const path = fieldPath(input, field);
    if (typeof path === "string") return { part: { field }, message: `${input.typeName} has no field ${path}` };
    const last = path.at(-1)!;
    if (last.fieldKind !== "map" && !takesText(last)) {
      return { part: { field }, message: `${field} of ${input.typeName} cannot be given by a path` };
    }
  }
  if (use.body !== "*" && use.body !== "" && fieldOf(input, use.body) === undefined) {
    return { part: "body", message: `${input.typeName} has no field ${use.body}` };
  }
  if (use.responseBody !== "" && fieldOf(output, use.responseBody) === undefined) {
    return { part: "response_body", message: `${output.typeName} has no field ${use.responseBody}` };
  }
  return null;
}
