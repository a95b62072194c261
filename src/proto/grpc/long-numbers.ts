import type { DescField, DescMessage, JsonValue, Registry, ScalarType } from "@bufbuild/protobuf";
import { WRAPPED_SCALARS } from "./field-text.ts";
import { isJsonObject, type JsonTree, LongNumber } from "./json-text.ts";
import { isFraction, isNumber, protoNumberText } from "./number-text.ts";
import { fieldOf } from "./schema.ts";

/**
 * A JSON value for a message, each LongNumber in it being what its field takes: all digits where that is a whole number, the nearest
 * double elsewhere, also if a google.protobuf.Value is a number of its own; and each text that is a number as `numberText` gives it.
 * Objects are changed in place.
 * @throws for a text that is no number if its field is one
 */
export function withExactNumbers(message: DescMessage, value: JsonValue, registry: Registry): JsonValue {
  const wrapped = WRAPPED_SCALARS[message.typeName];
  if (wrapped !== undefined) return inScalar(wrapped, value);
  if (value instanceof LongNumber) return Number(value.source);
  if (message.typeName === "google.protobuf.Timestamp" && !isRealDay(value)) throw new Error("there is no such day");
  if (ANY_JSON.has(message.typeName)) return withDoubles(value);
  if (!isJsonObject(value)) return value;
  if (message.typeName === "google.protobuf.Any") return inAny(value, registry);
  for (const name of Object.keys(value)) {
    const field = fieldOf(message, name);
    value[name] = field === undefined ? withDoubles(value[name]!) : inField(field, value[name]!, registry);
  }
  return value;
}

/** What is packed is told by its type; without one that is known it stays as it is, and is refused when it is read. */
function inAny(value: JsonTree, registry: Registry): JsonValue {
  const url = value["@type"];
  const type = typeof url === "string" ? registry.getMessage(url.slice(url.lastIndexOf("/") + 1)) : undefined;
  if (type === undefined) return withDoubles(value);
  if (!type.typeName.startsWith("google.protobuf.")) return withExactNumbers(type, value, registry);
  if (value.value !== undefined) value.value = withExactNumbers(type, value.value, registry);
  return value;
}

function inField(field: DescField, value: JsonValue, registry: Registry): JsonValue {
  if (field.fieldKind === "list" && Array.isArray(value)) return value.map((item) => inElement(field, item, registry));
  if (field.fieldKind !== "map" || !isJsonObject(value)) return inElement(field, value, registry);
  for (const key of Object.keys(value)) {
    if (isNumber(field.mapKey) && !MAP_KEY.test(key)) throw new Error(`${JSON.stringify(key)} is no key`);
    value[key] = inElement(field, value[key]!, registry);
  }
  return value;
}

function inElement(field: DescField, value: JsonValue, registry: Registry): JsonValue {
  if (field.message !== undefined) return withExactNumbers(field.message, value, registry);
  return field.scalar === undefined ? withDoubles(value) : inScalar(field.scalar, value);
}

function inScalar(type: ScalarType, value: JsonValue): JsonValue {
  if (typeof value === "string" && isNumber(type)) return value === "" ? value : protoNumberText(type, value);
  if (!(value instanceof LongNumber)) return value;
  return isFraction(type) ? Number(value.source) : value.exact();
}

function withDoubles(value: JsonValue): JsonValue {
  if (value instanceof LongNumber) return Number(value.source);
  if (Array.isArray(value)) return value.map(withDoubles);
  if (isJsonObject(value)) for (const key of Object.keys(value)) value[key] = withDoubles(value[key]!);
  return value;
}

/** Whether the month of a timestamp has its day; the rest of it is checked when it is read. */
function isRealDay(value: JsonValue): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)T/.exec(typeof value === "string" ? value : "") ?? [];
  return (
    day === undefined ||
    new Date(Date.UTC(2000 + (Number(year) % 400), Number(month) - 1, Number(day))).getUTCDate() === Number(day)
  );
}

/** Whole, and of at most MAX_DIGITS. */
const MAP_KEY = /^-?\d{1,40}$/;
const ANY_JSON: ReadonlySet<string> = new Set(
  ["Value", "Struct", "ListValue"].map((name) => `google.protobuf.${name}`),
);
