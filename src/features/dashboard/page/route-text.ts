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

/** The types that the form knows; text takes every type. */
export const FORM_TYPES: Readonly<Record<string, string>> = {
  upstream: "upstream: requests go to servers",
  redirect: "redirect: clients go elsewhere",
  respond: "respond: a fixed response",
};

/** A route of the form as YAML. */
export function routeText(route: FormRoute): string {
  const lines = [`type: ${route.type}`];
  const put = (key: string, value: string): void => {
    if (value.trim() !== "") lines.push(`${key}: ${scalar(value.trim())}`);
  };
  put("host", route.host);
  put("prefix", route.prefix);
  if (route.type === "upstream") {
    lines.push("targets:");
    for (const { url, weight } of targetsIn(route.targets)) {
      lines.push(`  - url: ${scalar(url)}`);
      if (weight !== "") lines.push(`    weight: ${scalar(weight)}`);
    }
  }
  if (route.type === "redirect") put("to", route.to);
  if (route.type !== "upstream") put("status", route.status);
  if (route.type === "respond") put("body", route.body);
  return `${lines.join("\n")}\n`;
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
