import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../proto/grpc/json-text.ts";
import { fieldOf } from "../../proto/grpc/schema.ts";

/** Where a request says which fields of its body are meant. docs/transcoder.md#patch */
export interface PatchMask {
  /** Of type google.protobuf.FieldMask. */
  readonly field: DescField;
  /** What the body is. */
  readonly message: DescMessage;
}

/**
 * The mask of a PATCH whose body is one field of the message, as the resource is in methods of the usual form (AIP-134).
 * @param body the field's name; null where it is no message, or the request has no mask, or several
 */
export function patchMaskOf(input: DescMessage, body: string): PatchMask | null {
  const resource = body === "" || body === "*" ? undefined : fieldOf(input, body);
  const masks = input.fields.filter((field) => isFieldMask(field));
  if (resource?.fieldKind !== "message" || masks.length !== 1) return null;
  return { field: masks[0]!, message: resource.message };
}

/** The paths of what a body names, as the JSON of a FieldMask has them: names in lowerCamel form, joined with commas. */
export function maskJson(message: DescMessage, body: JsonValue): string {
  const paths: string[] = [];
  addPaths(message, body, "", paths);
  return paths.join(",");
}

function addPaths(message: DescMessage, value: JsonValue, prefix: string, paths: string[]): void {
  if (!isJsonObject(value)) return;
  for (const name of Object.keys(value)) {
    const field = fieldOf(message, name);
    // What is no field is refused when the message is read, or passed over.
    if (field === undefined) continue;
    const path = `${prefix}${camelCase(field.name)}`;
    const inner = value[name]!;
    const goesDeeper = field.fieldKind === "message" && isJsonObject(inner) && !isWellKnown(field.message);
    if (goesDeeper && Object.keys(inner).length > 0) addPaths(field.message, inner, `${path}.`, paths);
    else paths.push(path);
  }
}

/** Proto3 JSON, "FieldMask": what reading it turns back into the name. */
function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function isFieldMask(field: DescField): boolean {
  return field.fieldKind === "message" && field.message.typeName === "google.protobuf.FieldMask";
}

/** Their JSON is one value, whatever it looks like. */
function isWellKnown({ typeName }: DescMessage): boolean {
  return typeName.startsWith("google.protobuf.");
}
