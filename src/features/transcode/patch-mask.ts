import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject, type JsonTree } from "../../proto/grpc/json-text.ts";
import { fieldOf } from "../../proto/grpc/schema.ts";
import { BadInput } from "./request-input.ts";

/** Where a request says which fields of its body are meant. docs/transcoder.md#patch */
export interface PatchMask {
  /** Of type google.protobuf.FieldMask. */
  readonly field: DescField & { readonly fieldKind: "message" };
  /** What the body is. */
  readonly message: DescMessage;
}

/**
 * The mask of a PATCH whose body is one field of the message, as the resource is in methods of the usual form (AIP-134).
 * @param body the field's name; null if it is no message, or the request has no mask, or several
 */
export function patchMaskOf(input: DescMessage, body: string): PatchMask | null {
  const resource = body === "" || body === "*" ? undefined : fieldOf(input, body);
  const masks = input.fields.filter(isFieldMask);
  if (resource?.fieldKind !== "message" || masks.length !== 1) return null;
  return { field: masks[0]!, message: resource.message };
}

/**
 * The paths of what a body names, each name as the schema has it. They are no JSON: that of a FieldMask has no way to write names such as
 * `langIdent` or `STATUS`.
 * @throws BadInput for a name that is no field
 */
export function maskPaths(message: DescMessage, body: JsonValue): string[] {
  const paths: string[] = [];
  addPaths(message, body, "", paths);
  return paths;
}

function addPaths(message: DescMessage, value: JsonValue, prefix: string, paths: string[]): void {
  if (!isJsonObject(value)) return;
  for (const name of Object.keys(value)) {
    const field = fieldOf(message, name);
    // To pass it over would be another update than the one that is asked for, of all fields in the end.
    if (field === undefined) throw new BadInput(`${message.typeName} has no field ${JSON.stringify(name)}`);
    const path = `${prefix}${field.name}`;
    const inner = value[name]!;
    if (field.fieldKind !== "message" || !isJsonObject(inner)) paths.push(path);
    else if (DYNAMIC.has(field.message.typeName)) addNames(inner, path, paths);
    else if (Object.keys(inner).length === 0 || isWellKnown(field.message)) paths.push(path);
    else addPaths(field.message, inner, `${path}.`, paths);
  }
}

/** Of an object without a schema each name is a part of a path, but where it could be read as several. */
function addNames(value: JsonTree, path: string, paths: string[]): void {
  const names = Object.keys(value);
  if (names.length === 0 || names.some((name) => name === "" || /[.,]/.test(name))) {
    paths.push(path);
    return;
  }
  for (const name of names) {
    const inner = value[name]!;
    if (isJsonObject(inner)) addNames(inner, `${path}.${name}`, paths);
    else paths.push(`${path}.${name}`);
  }
}

function isFieldMask(field: DescField): field is PatchMask["field"] {
  return field.fieldKind === "message" && field.message.typeName === "google.protobuf.FieldMask";
}

/** Their JSON is one value, whatever it looks like. */
function isWellKnown({ typeName }: DescMessage): boolean {
  return typeName.startsWith("google.protobuf.");
}

const DYNAMIC: ReadonlySet<string> = new Set(["google.protobuf.Struct", "google.protobuf.Value"]);
