/** A route as the form of the editor has it: the keys that most routes are made of. */
export interface FormRoute {
  readonly type: string;
  readonly host: string;
  readonly prefix: string;
  /** Of an upstream: one a line, with ` weight=N` behind it if that is not 1. */
  readonly targets: string;
  /** Of a redirect. */
  readonly to: string;
  readonly status: string;
  /** Of a fixed response. */
  readonly body: string;
}

export const NEW_ROUTE: FormRoute = {
  type: "upstream",
  host: "",
  prefix: "/",
  targets: "http://10.0.0.5:8000",
  to: "",
  status: "",
  body: "",
};

/** A type that the form knows. */
interface FormType {
  /** In the list of types. */
  readonly title: string;
  /** Its keys, beside those of every route. */
  readonly keys: readonly (keyof FormRoute)[];
}

/** Text takes every type. */
export const FORM_TYPES: Readonly<Record<string, FormType>> = {
  upstream: { title: "upstream: requests go to servers", keys: ["targets"] },
  redirect: { title: "redirect: clients go elsewhere", keys: ["to", "status"] },
  respond: { title: "respond: a fixed response", keys: ["status", "body"] },
};

/** A route of the form as YAML. */
export function routeText(route: FormRoute): string {
  const lines = [`type: ${route.type}`];
  for (const key of ["host", "prefix", ...(FORM_TYPES[route.type]?.keys ?? [])] as const) {
    const value = route[key].trim();
    if (key === "targets") lines.push(...targetEntries(value));
    else if (value !== "") lines.push(`${key}: ${scalar(value)}`);
  }
  return `${lines.join("\n")}\n`;
}

function targetEntries(text: string): readonly string[] {
  const entries = targetsIn(text).flatMap(({ url, weight }) => [
    `  - url: ${scalar(url)}`,
    ...(weight === "" ? [] : [`    weight: ${scalar(weight)}`]),
  ]);
  return ["targets:", ...entries];
}

/** A route of JSON as the form has it; null if it has keys that the form does not know. */
export function formRoute(route: Readonly<Record<string, unknown>>): FormRoute | null {
  const { type, host = "", prefix = "", target, targets, to = "", status = "", body = "", ...others } = route;
  if (Object.keys(others).length > 0 || !Object.hasOwn(FORM_TYPES, String(type))) return null;
  const isPlain = [host, prefix, to, status, body].every((one) => typeof one === "string" || typeof one === "number");
  const lines = targetLines(targets ?? (target === undefined ? [] : [target]));
  if (!isPlain || lines === null) return null;
  return {
    type: String(type),
    host: String(host),
    prefix: String(prefix),
    targets: lines,
    to: String(to),
    status: String(status),
    body: String(body),
  };
}

function targetLines(targets: unknown): string | null {
  if (!Array.isArray(targets)) return null;
  const lines = targets.map((one: unknown) => {
    if (typeof one === "string") return one;
    const { url, weight = 1, ...others } = (one ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof url !== "string" || Object.keys(others).length > 0) return null;
    return weight === 1 ? url : `${url} weight=${String(weight)}`;
  });
  return lines.includes(null) ? null : lines.join("\n");
}

function targetsIn(text: string): readonly { readonly url: string; readonly weight: string }[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const [url = "", ...words] = line.split(/\s+/);
      const weight = words.find((word) => word.startsWith("weight="))?.slice("weight=".length) ?? "";
      return { url, weight };
    });
}

/** A value of YAML: numbers as they are, every other text in double quotes. */
function scalar(value: string): string {
  return /^[1-9]\d{0,8}$|^0$/.test(value) ? value : JSON.stringify(value);
}
