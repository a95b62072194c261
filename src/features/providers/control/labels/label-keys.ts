import type { Form, FormRows } from "../../../../config/form.ts";
import { strictYaml } from "../../../../config/yaml-document.ts";
import { ROUTE_FORMAT } from "../../../../routes/route-format.ts";
import { routePlace } from "../../../../routes/route-schema.ts";

/** Keys and values as they come of labels: texts, sections and lists. */
export type LabelKeys = Record<string, unknown>;

/** Puts a value at dotted keys: `headers.response.set.X-A`, `targets[0].url`. @returns why it cannot be there, or "" */
export function putAt(keys: LabelKeys, path: string, value: string): string {
  const names = path.split(/\.|(?=\[\d{1,3}\])/);
  if (names.length > MAX_DEPTH || names.includes("")) return "the label is no path of keys";
  let at: LabelKeys = keys;
  for (const [i, written] of names.entries()) {
    const name = written.replace(/^\[(\d+)\]$/, "$1");
    const known = Object.hasOwn(at, name) ? at[name] : undefined;
    if (i === names.length - 1) {
      if (known !== undefined) return "another label has keys below it";
      at[name] = value;
      return "";
    }
    if (known !== undefined && typeof known !== "object") return "another label has a value for the section above it";
    const below = (known ?? newKeys()) as LabelKeys;
    at[name] = below;
    at = below;
  }
  return "";
}

/** Keys without those of objects. */
export function newKeys(): LabelKeys {
  return Object.create(null) as LabelKeys;
}

/** The keys of a route with each text as its key takes it: a list of texts with commas, `true` of a switch. */
export function routeKeys(keys: LabelKeys, type: string): LabelKeys {
  const { types, options } = ROUTE_FORMAT;
  const rows = { ...routePlace.rows, ...(types[type]?.keys.rows ?? {}), ...options.rows };
  return sectionOf(rows, keys);
}

/** Whether routes of a type lead to servers. */
export function takesTargets(type: string): boolean {
  return "targets" in (ROUTE_FORMAT.types[type]?.keys.rows ?? {});
}

function sectionOf(rows: FormRows, keys: LabelKeys): LabelKeys {
  const made = newKeys();
  for (const [name, value] of Object.entries(keys))
    made[name] = meant(Object.hasOwn(rows, name) ? rows[name]!.type.form : ANYTHING, value);
  return made;
}

function meant(form: Form, value: unknown): unknown {
  if (typeof value === "string") return meantText(form, value);
  const keys = value as LabelKeys;
  const numbers = Object.keys(keys).map(Number);
  const forms = formsOf(form);
  const list = forms.find((one) => one.is === "list");
  if (list !== undefined && numbers.every((one) => Number.isInteger(one)))
    return numbers.sort((a, b) => a - b).map((at) => meant(list.item, keys[String(at)]));
  const section = forms.find((one) => one.is === "section");
  if (section !== undefined) return sectionOf(section.rows, keys);
  const map = forms.find((one) => one.is === "map");
  const made = newKeys();
  for (const [name, one] of Object.entries(keys)) made[name] = meant(map?.value ?? ANYTHING, one);
  return made;
}

function meantText(form: Form, text: string): unknown {
  const forms = formsOf(form);
  const list = forms.find((one) => one.is === "list");
  const hasPlain = forms.some(({ is }) => !/^(list|section|map|anything)$/.test(is));
  if (!hasPlain && /^\s*[[{]/.test(text)) {
    const document = strictYaml(text);
    if (document.errors.length === 0) return document.toJS({ maxAliasCount: 0 }) as unknown;
  }
  if (list !== undefined && !hasPlain) return text.split(",").map((one) => meantText(list.item, one.trim()));
  const isText = forms.every(({ is }) => is === "text" || is === "word");
  return !isText && /^(true|false)$/.test(text) ? text === "true" : text;
}

function formsOf(form: Form): readonly Form[] {
  return form.is === "either" ? form.forms.flatMap(formsOf) : [form];
}

const ANYTHING: Form = { is: "anything" };
const MAX_DEPTH = 12;
