import { type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { isJsonObject, LongNumber } from "./json-text.ts";
import { fieldOf } from "./schema.ts";

/**
 * A JSON value for a message, each LongNumber in it being what its field takes: all digits where that is a whole number, the nearest
 * double elsewhere, also where a google.protobuf.Value is a number of its own. Objects are changed in place.
 */
export function withExactNumbers(message: DescMessage, value: JsonValue): JsonValue {
  if (value instanceof LongNumber) return WRAPPERS.has(message.typeName) ? value.exact() : Number(value.source);
  if (ANY_JSON.has(message.typeName)) return withDoubles(value);
  // What Any holds is not known here: as without a schema.
  if (message.typeName === "google.protobuf.Any") return JSON.parse(JSON.stringify(value)) as JsonValue;
  if (!isJsonObject(value)) return value;
  for (const name of Object.keys(value)) {
    const field = fieldOf(message, name);
    value[name] = field === undefined ? withDoubles(value[name]!) : inField(field, value[name]!);
  }
  return value;
}

function inField(field: DescField, value: JsonValue): JsonValue {
  if (field.fieldKind === "list" && Array.isArray(value)) return value.map((item) => inElement(field, item));
  if (field.fieldKind !== "map" || !isJsonObject(value)) return inElement(field, value);
  for (const key of Object.keys(value)) value[key] = inElement(field, value[key]!);
  return value;
}

function inElement(field: DescField, value: JsonValue): JsonValue {
  if (field.message !== undefined) return withExactNumbers(field.message, value);
  if (!(value instanceof LongNumber)) return value;
  const isFraction = field.scalar === ScalarType.DOUBLE || field.scalar === ScalarType.FLOAT;
  return isFraction ? Number(value.source) : value.exact();
}

function withDoubles(value: JsonValue): JsonValue {
  if (value instanceof LongNumber) return Number(value.source);
  if (Array.isArray(value)) return value.map(withDoubles);
  if (isJsonObject(value)) for (const key of Object.keys(value)) value[key] = withDoubles(value[key]!);
  return value;
}

const WRAPPERS: ReadonlySet<string> = new Set(
  ["Int64Value", "UInt64Value", "Int32Value", "UInt32Value"].map((name) => `google.protobuf.${name}`),
);
const ANY_JSON: ReadonlySet<string> = new Set(
  ["Value", "Struct", "ListValue"].map((name) => `google.protobuf.${name}`),
);
