import type { BareItem, InnerList, Item, Member, Parameters } from "./structured-fields.ts";

/** Writes an item or an inner list, as RFC 9651 §4.1 has it. */
export function memberText(member: Member): string {
  return "items" in member ? listText(member) : itemText(member);
}

/** The same of an inner list. */
export function listText({ items, parameters }: InnerList): string {
  return `(${items.map(itemText).join(" ")})${parameterText(parameters)}`;
}

/** The same of an item. */
export function itemText({ item, parameters }: Item): string {
  return bareText(item) + parameterText(parameters);
}

function parameterText(parameters: Parameters): string {
  let text = "";
  for (const [key, value] of parameters)
    text += value.kind === "boolean" && value.value ? `;${key}` : `;${key}=${bareText(value)}`;
  return text;
}

function bareText(item: BareItem): string {
  switch (item.kind) {
    case "integer":
      return String(item.value);
    case "decimal":
      return Number.isInteger(item.value) ? item.value.toFixed(1) : String(item.value);
    case "date":
      return `@${item.value}`;
    case "string":
      return `"${item.value.replace(/["\\]/g, "\\$&")}"`;
    case "token":
      return item.value;
    case "bytes":
      return `:${Buffer.from(item.value).toString("base64")}:`;
    case "boolean":
      return item.value ? "?1" : "?0";
    case "display":
      return `%"${displayText(item.value)}"`;
  }
}

function displayText(value: string): string {
  const percent = (char: string): string => `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
  return Buffer.from(value, "utf8")
    .latin1Slice()
    .replace(/[^ !#$&-~]/g, percent);
}
