import { type DescEnum, type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";

/** Whether a single text, out of a path or a query, can be the value of a field. */
export function takesText(field: DescField): boolean {
  if (field.fieldKind === "message") return TEXT_MESSAGES.has(field.message.typeName);
  if (field.fieldKind === "list") return field.listKind !== "message" || TEXT_MESSAGES.has(field.message.typeName);
  return field.fieldKind !== "map";
}

/**
 * The JSON value that a text stands for in a field (of a list: in one of its items). What does not fit is given as it is:
 * reading the message refuses it and says why.
 */
export function jsonOfText(field: DescField, text: string): JsonValue {
  if (field.enum !== undefined) return jsonOfEnum(field.enum, text);
  if (field.message !== undefined) return jsonOfMessage(field.message, text);
  return jsonOfScalar(field.scalar!, text);
}

function jsonOfEnum(type: DescEnum, text: string): JsonValue {
  // A number stands for itself, unless it is a name. Proto3 JSON takes both.
  return /^-?\d{1,10}$/.test(text) && !type.values.some((value) => value.name === text) ? Number(text) : text;
}

/** The well-known types whose JSON is a text take it as it is; wrappers take what they wrap. */
function jsonOfMessage(type: DescMessage, text: string): JsonValue {
  return type.typeName === "google.protobuf.BoolValue" ? jsonOfScalar(ScalarType.BOOL, text) : text;
}

function jsonOfScalar(type: ScalarType, text: string): JsonValue {
  if (type === ScalarType.BOOL && (text === "true" || text === "false")) return text === "true";
  // Numbers, 64-bit ones above all, are taken as text too. Proto3 JSON.
  return text;
}

const TEXT_MESSAGES: ReadonlySet<string> = new Set(
  [
    "Timestamp",
    "Duration",
    "FieldMask",
    "BoolValue",
    "StringValue",
    "BytesValue",
    "Int32Value",
    "Int64Value",
    "UInt32Value",
    "UInt64Value",
    "FloatValue",
    "DoubleValue",
  ].map((name) => `google.protobuf.${name}`),
);
