import { create } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  MethodDescriptorProtoSchema,
  OneofDescriptorProtoSchema,
  type ServiceDescriptorProto,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { type Schema, schemaOf } from "./schema.ts";

/**
 * Messages by name, each with its fields as `name: type = number`; a type may end in `[]`, and `string{}` is a map. A `?` after the name says
 * that the field is written even if it has the default of its type, as `optional` and `oneof` do.
 */
type CompactMessages = Readonly<Record<string, readonly string[]>>;

/** Services by name, each with its methods as `Name: Request -> Response`; `[]` after the response says that it is a stream. */
type CompactServices = Readonly<Record<string, readonly string[]>>;

/**
 * The few message types and services that the gateway itself must know, as a proto3 file of its own.
 * @param pkg "" for none
 * @throws for a row that cannot be read: these tables are part of the program
 */
export function schemaOfTable(
  pkg: string,
  dependency: string[],
  messages: CompactMessages,
  services: CompactServices = {},
): Schema {
  const messageType = Object.entries(messages).map(([type, fields]) => messageOf(pkg, type, fields));
  const service = Object.entries(services).map(([type, methods]) => serviceOf(type, methods));
  const name = `edge/${pkg}.proto`;
  const schema = schemaOf([
    create(FileDescriptorProtoSchema, { name, package: pkg, syntax: "proto3", dependency, messageType, service }),
  ]);
  if (typeof schema === "string") throw new Error(schema);
  return schema;
}

function messageOf(pkg: string, name: string, fields: readonly string[]): DescriptorProto {
  const nestedType = fields.some((field) => field.includes("{}")) ? [STRING_ENTRY] : [];
  const own = fields.map((field) => fieldOf(field.replace("string{}", `${pkg}.${name}.StringEntry[]`)));
  // Each field of that kind has a group of its own, as compilers write it.
  const optional = own.filter(({ proto3Optional }) => proto3Optional);
  const oneofDecl = optional.map((field, i) => {
    field.oneofIndex = i;
    return create(OneofDescriptorProtoSchema, { name: `_${field.name}` });
  });
  return create(DescriptorProtoSchema, { name, field: own, nestedType, oneofDecl });
}

function fieldOf(text: string): FieldDescriptorProto {
  const parts = /^(\w+)(\??): ([\w.]+)(\[\])? = (\d+)$/.exec(text);
  if (parts === null) throw new Error(`not a field: ${text}`);
  const [, name, mark, type, list, number] = parts as unknown as string[] as FieldParts;
  const scalar = SCALARS[type];
  return create(FieldDescriptorProtoSchema, {
    name,
    jsonName: name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    number: Number(number),
    label: list === undefined ? FieldDescriptorProto_Label.OPTIONAL : FieldDescriptorProto_Label.REPEATED,
    type: scalar ?? FieldDescriptorProto_Type.MESSAGE,
    typeName: scalar === undefined ? `.${type}` : "",
    proto3Optional: mark === "?",
  });
}

function serviceOf(name: string, methods: readonly string[]): ServiceDescriptorProto {
  const method = methods.map((text) => {
    const parts = /^(\w+): ([\w.]+) -> ([\w.]+)(\[\])?$/.exec(text);
    if (parts === null) throw new Error(`not a method: ${text}`);
    const [, own, input, output, stream] = parts;
    return create(MethodDescriptorProtoSchema, {
      name: own!,
      inputType: `.${input}`,
      outputType: `.${output}`,
      serverStreaming: stream !== undefined,
    });
  });
  return create(ServiceDescriptorProtoSchema, { name, method });
}

type FieldParts = [whole: string, name: string, mark: string, type: string, list: string | undefined, number: string];

const SCALARS: Readonly<Record<string, FieldDescriptorProto_Type>> = {
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
  int32: FieldDescriptorProto_Type.INT32,
  int64: FieldDescriptorProto_Type.INT64,
  fixed32: FieldDescriptorProto_Type.FIXED32,
  fixed64: FieldDescriptorProto_Type.FIXED64,
  double: FieldDescriptorProto_Type.DOUBLE,
  bool: FieldDescriptorProto_Type.BOOL,
};

/** What a `map<string, string>` is on the wire. */
const STRING_ENTRY: DescriptorProto = create(DescriptorProtoSchema, {
  name: "StringEntry",
  field: ["key: string = 1", "value: string = 2"].map(fieldOf),
  options: { mapEntry: true },
});
