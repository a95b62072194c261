import { PLACEHOLDERS } from "../proto/template/placeholders.ts";
import { parseTemplate, Template } from "../proto/template/template.ts";
import { TEXT } from "./form.ts";
import { didYouMean } from "./nearest-name.ts";
import { describe, type Kind, piece, Wrong } from "./piece.ts";

/** How a key's template is read. */
interface TemplateOptions {
  /** Names that it has beside the placeholders of all templates: `status`. */
  readonly locals?: readonly string[];
  /** Why the template will not do for the key, or "". */
  readonly faultOf?: (template: Template) => string;
}

/**
 * A text with placeholders. It stays the text that it is, which `templateOf` takes apart where it is rendered.
 * @param what names it in the fault: "a URL or path such as https://example.com{uri}"
 */
export function template(what: string, options: TemplateOptions = {}): Kind<string> {
  return piece((value) => {
    if (typeof value !== "string") return new Wrong(`expected ${what}, found ${describe(value)}${cureOfMap(value)}`);
    const fault = templateFault(value, options);
    return fault === "" ? value : new Wrong(fault);
  }, TEXT);
}

/** The same on one line and in the characters of a URL. */
export function urlTemplate(what: string, options: TemplateOptions = {}): Kind<string> {
  const kind = template(what, options);
  return piece((value) => {
    const text = typeof value === "string" ? value.trim() : value;
    if (typeof text === "string" && !/^[\x21-\x7e]+$/.test(text)) {
      return new Wrong(`expected ${what}, in plain ASCII without spaces, found ${describe(value)}`);
    }
    const result = kind["~run"]({ value: text }, {});
    return result.issues === undefined ? String(result.value) : new Wrong(result.issues[0].message);
  }, TEXT);
}

/** Says why a text is no template, with the cure, or "". The text is not repeated, but for the name of a placeholder. */
export function templateFault(text: string, { locals = [], faultOf }: TemplateOptions = {}): string {
  const parsed = parseTemplate(text, locals);
  if (parsed instanceof Template) return faultOf?.(parsed) ?? "";
  return parsed.unknown === "" ? parsed.fault : `${parsed.fault}${cureOf(parsed.unknown, locals)}`;
}

/** YAML reads `to: {rest}` as a section with one key. */
function cureOfMap(value: unknown): string {
  const [name, ...more] = typeof value === "object" && value !== null ? Object.keys(value) : [];
  return name === undefined || more.length > 0 ? "" : `; put what begins with a brace in quotes: "{${name}}"`;
}

/** The fault of a template with what an expression has found, on a route that can have none; "" if there is none in it. */
export function groupFault({ uses }: Template): string {
  const group = uses.find(({ name }) => name.startsWith("match."));
  return group === undefined
    ? ""
    : `{${group.name}} is the match of a group of rewrite.regex, which this type of route lacks`;
}

function cureOf(name: string, locals: readonly string[]): string {
  const foreign = FOREIGN.get(name.toLowerCase());
  if (foreign !== undefined) return `: ${foreign}`;
  const argument = /\.(.*)$/s.exec(name)?.[1] ?? "";
  const known = PLACEHOLDERS.map((row) => row.name.replace(/(?<=\.)(NAME|N)$/, () => argument));
  const meant = didYouMean(
    name,
    [...locals, ...known].filter((one) => !one.endsWith(".")),
  );
  return meant === "" ? `: docs/placeholders.md lists all; write {{ for a brace` : `${meant}; write {{ for a brace`;
}

/** Names that other gateways have for a value, without those that are near enough to be guessed. */
const FOREIGN: ReadonlyMap<string, string> = new Map([
  ["remote_addr", "here it is called {client_ip}"],
  ["remote_host", "here it is called {client_ip}"],
  ["remote", "here it is called {client_ip}"],
  ["request_uri", "here it is called {uri}"],
  ["http.request.uri", "here it is called {uri}"],
  ["http.request.uri.path", "here it is called {path}"],
  ["http.request.uri.query", "here it is called {query}"],
  ["http.request.host", "here it is called {host}"],
  ["http.request.method", "here it is called {method}"],
  ["http.request.scheme", "here it is called {scheme}"],
  ["http.request.remote.host", "here it is called {client_ip}"],
  ["http.request.uuid", "here it is called {request_id}"],
]);
