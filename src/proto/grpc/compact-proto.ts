import { create } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { type Schema, schemaOf } from "./schema.ts";

/** Messages by name, each with its fields as `name: type = number`; a type may end in `[]`, and `string{}` is a map. */
export type CompactMessages = Readonly<Record<string, readonly string[]>>;

/**
 * The few message types that the gateway itself must know, as a proto3 file of its own.
 * @throws for a field that cannot be read: these tables are part of the program
 */
export function schemaOfTable(pkg: string, dependency: string[], messages: CompactMessages): Schema {
  const messageType = Object.entries(messages).map(([type, fields]) => messageOf(pkg, type, fields));
  const name = `edge/${pkg}.proto`;
  const schema = schemaOf([
    create(FileDescriptorProtoSchema, { name, package: pkg, syntax: "proto3", dependency, messageType }),
  ]);
  if (typeof schema === "string") throw new Error(schema);
  return schema;
}

function messageOf(pkg: string, name: string, fields: readonly string[]): DescriptorProto {
  const nestedType = fields.some((field) => field.includes("{}")) ? [STRING_ENTRY] : [];
  const own = fields.map((field) => fieldOf(field.replace("string{}", `${pkg}.${name}.StringEntry[]`)));
  return create(DescriptorProtoSchema, { name, field: own, nestedType });
}

function fieldOf(text: string): FieldDescriptorProto {
  const parts = /^(\w+): ([\w.]+)(\[\])? = (\d+)$/.exec(text);
  if (parts === null) throw new Error(`not a field: ${text}`);
  const [, name, type, list, number] = parts as unknown as [string, string, string, string | undefined, string];
  const scalar = SCALARS[type];
  return create(FieldDescriptorProtoSchema, {
    name,
    jsonName: name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    number: Number(number),
    label: list === undefined ? FieldDescriptorProto_Label.OPTIONAL : FieldDescriptorProto_Label.REPEATED,
    type: scalar ?? FieldDescriptorProto_Type.MESSAGE,
    typeName: scalar === undefined ? `.${type}` : "",
  });
}

const SCALARS: Readonly<Record<string, FieldDescriptorProto_Type>> = {
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
  int32: FieldDescriptorProto_Type.INT32,
  int64: FieldDescriptorProto_Type.INT64,
  bool: FieldDescriptorProto_Type.BOOL,
};

/** What a `map<string, string>` is on the wire. */
const STRING_ENTRY: DescriptorProto = create(DescriptorProtoSchema, {
  name: "StringEntry",
  field: ["key: string = 1", "value: string = 2"].map(fieldOf),
  options: { mapEntry: true },
});
