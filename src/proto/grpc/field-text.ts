import { type DescEnum, type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { isNumber, protoNumberText } from "./number-text.ts";

/** Whether a single text, out of a path or a query, can be the value of a field. */
export function takesText(field: DescField): boolean {
  if (field.fieldKind === "message") return TEXT_MESSAGES.has(field.message.typeName);
  if (field.fieldKind === "list") return field.listKind !== "message" || TEXT_MESSAGES.has(field.message.typeName);
  return field.fieldKind !== "map";
}

/**
 * The JSON value that a text stands for in a field (of a list: in one of its items). What does not fit may be given as it is:
 * reading the message refuses it and says why.
 * @throws for what is no number or no name of a value if the field is one
 */
export function jsonOfText(field: DescField, text: string): JsonValue {
  if (field.enum !== undefined) return jsonOfEnum(field.enum, text);
  if (field.message !== undefined) return jsonOfMessage(field.message, text);
  return jsonOfScalar(field.scalar!, text);
}

function jsonOfEnum(type: DescEnum, text: string): JsonValue {
  if (type.values.some((value) => value.name === text)) return text;
  // A number stands for itself. Proto3 JSON takes both.
  if (/^-?\d{1,10}$/.test(text)) return Number(text);
  throw new Error(`${JSON.stringify(text)} is no value of ${type.typeName}`);
}

/** The well-known types whose JSON is a text take it as it is; wrappers take what they wrap. */
function jsonOfMessage(type: DescMessage, text: string): JsonValue {
  if (type.typeName === "google.protobuf.FieldMask") return text.split(",").map(maskPath).join(",");
  const wrapped = WRAPPED_SCALARS[type.typeName];
  return wrapped === undefined ? text : jsonOfScalar(wrapped, text);
}

/** A path is taken with the names of the schema too: what has an underscore is none of Proto3 JSON. */
function maskPath(path: string): string {
  return path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function jsonOfScalar(type: ScalarType, text: string): JsonValue {
  if (type === ScalarType.BOOL) return FALSE.test(text) ? false : TRUE.test(text) || text;
  // Numbers, 64-bit ones above all, count as text too. Proto3 JSON.
  return isNumber(type) ? protoNumberText(type, text) : text;
}

/** How forms and command lines write them. */
const TRUE = /^(?:1|t|true)$/i;
const FALSE = /^(?:0|f|false)$/i;

/** What each of the wrappers wraps. */
export const WRAPPED_SCALARS: Readonly<Record<string, ScalarType>> = {
  "google.protobuf.BoolValue": ScalarType.BOOL,
  "google.protobuf.StringValue": ScalarType.STRING,
  "google.protobuf.BytesValue": ScalarType.BYTES,
  "google.protobuf.Int32Value": ScalarType.INT32,
  "google.protobuf.Int64Value": ScalarType.INT64,
  "google.protobuf.UInt32Value": ScalarType.UINT32,
  "google.protobuf.UInt64Value": ScalarType.UINT64,
  "google.protobuf.FloatValue": ScalarType.FLOAT,
  "google.protobuf.DoubleValue": ScalarType.DOUBLE,
};
const TEXT_MESSAGES: ReadonlySet<string> = new Set([
  "google.protobuf.Timestamp",
  "google.protobuf.Duration",
  "google.protobuf.FieldMask",
  ...Object.keys(WRAPPED_SCALARS),
]);
