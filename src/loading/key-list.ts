import type { Form, FormRow, FormRows } from "../config/form.ts";
import { routeMaps } from "../features/maps/settings.ts";
import { ROUTE_FORMAT } from "../routes/route-format.ts";
import { routePlace } from "../routes/route-schema.ts";
import { routeTests } from "../routes/route-tests.ts";
import { configFile } from "../settings/config-settings.ts";

/** One key of config.yaml or routes.yaml, at whatever depth. */
export interface ListedKey {
  /** With dots, entries of lists passed over: `server.tls.certificates.cert_file`, `routes.target`. */
  readonly path: string;
  readonly file: "config.yaml" | "routes.yaml";
  readonly row: FormRow;
  /** The types of routes that have it; none where every type has it, and for config.yaml. */
  readonly types: readonly string[];
}

/** The keys of both files by path, and the sections that are the same as another. docs/keys.md */
export class KeyList {
  private readonly byPath: Map<string, ListedKey> = new Map();
  /** By the path of a section: that of the section whose keys it has, which was listed before. */
  private readonly same: Map<string, string> = new Map();
  private readonly listed: Map<FormRows, string> = new Map();

  constructor() {
    const { types, options, streams } = ROUTE_FORMAT;
    this.walk(configFile.rows, { prefix: "", file: "config.yaml", types: [] });
    const routes = { prefix: "routes.", file: "routes.yaml" } as const;
    this.walk(routePlace.rows, { ...routes, types: [] });
    for (const [name, { keys }] of Object.entries(types)) this.walk(keys.rows, { ...routes, types: [name] });
    this.walk(options.rows, { ...routes, types: [] });
    for (const [name, { keys }] of Object.entries(streams)) this.walk(keys.rows, { ...routes, types: [name] });
    const tests: FormRow = { type: routeTests, doc: "your tests of routes: edge check runs them without a network" };
    const maps: FormRow = {
      type: routeMaps,
      doc: "your own values for placeholders, such as a tenant by the host: {map.NAME}",
    };
    this.walk({ maps }, { prefix: "", file: "routes.yaml", types: [] });
    this.walk({ tests }, { prefix: "", file: "routes.yaml", types: [] });
  }

  /** config.yaml first, a section before its content. */
  get keys(): readonly ListedKey[] {
    return [...this.byPath.values()];
  }

  /** The section whose keys this one has; "" if it has keys of its own, or none. */
  sameAs(path: string): string {
    return this.same.get(path) ?? "";
  }

  find(path: string): ListedKey | undefined {
    return this.byPath.get(path);
  }

  /**
   * The key that a fault is about, or the nearest section around it.
   * @param path as faults write it: `server.tls.certificates[0].cert_file`, `routes[2].target`
   * @returns "" if no key is meant
   */
  ofFault(path: string): string {
    const names = path.replace(/\[\d+\]/g, "").split(".");
    let key = "";
    for (const name of names) {
      const section = this.same.get(key) ?? key;
      const next = section === "" ? name : `${section}.${name}`;
      if (!this.byPath.has(next) && next !== "routes") break;
      key = next;
    }
    return key === "routes" ? "" : key;
  }

  private walk(rows: FormRows, at: Pick<ListedKey, "file" | "types"> & { readonly prefix: string }): void {
    for (const [key, row] of Object.entries(rows)) {
      const path = at.prefix + key;
      const before = this.byPath.get(path);
      const types = before === undefined ? at.types : both(before.types, at.types);
      this.byPath.set(path, { ...(before ?? { path, file: at.file, row }), types });
      for (const inner of sectionsIn(row.type.form)) {
        const twin = this.listed.get(inner) ?? "";
        if (isTwin(path, key, twin)) this.same.set(path, twin);
        else {
          if (twin === "") this.listed.set(inner, path);
          this.walk(inner, { ...at, prefix: `${path}.` });
        }
      }
    }
  }
}

/** None stands for all. */
function both(some: readonly string[], others: readonly string[]): readonly string[] {
  return some.length === 0 || others.length === 0 ? [] : [...new Set([...some, ...others])];
}

/** Whether one reads the keys of a section at another: that is the server's, and has the same name. */
function isTwin(path: string, key: string, other: string): boolean {
  const isNear = other.startsWith("server.") && other.split(".").length <= MAX_TWIN_NAMES;
  return isNear && path !== other && other.endsWith(`.${key}`);
}

const MAX_TWIN_NAMES = 3;

/** The rows of the sections that may stand at a key, also as entries of a list. */
function sectionsIn(form: Form): readonly FormRows[] {
  if (form.is === "section") return [form.rows];
  if (form.is === "list") return sectionsIn(form.item);
  return form.is === "either" ? form.forms.flatMap(sectionsIn) : [];
}

/** The type of a key in words: "duration", "list (string)". */
export function formText(form: Form): string {
  switch (form.is) {
    case "section":
      return form.isSwitch ? "section, or `true` or `false`" : "section";
    case "map":
      return "section with names of your own";
    case "list":
      return form.orOne ? `${formText(form.item)}, or a list` : `list (${formText(form.item)})`;
    case "either":
      return [...new Set(form.forms.map(formText))].join(", or ");
    case "word":
      return form.words.flatMap((word) => (word === "" ? [] : [`\`${word}\``])).join(", ");
    case "flag":
      return "`true` or `false`";
    default:
      return FORM_TEXTS[form.is];
  }
}

const FORM_TEXTS = {
  integer: "integer",
  number: "number",
  duration: "duration",
  size: "size",
  percent: "percentage",
  anything: "any value",
  text: "string",
} as const;
