import { utf8AsLatin1 } from "../../core/bytes.ts";
import type { TextTable } from "../../memory/text-table.ts";
import type { Exchange, MapValues } from "../../message/exchange.ts";
import { Template, templateOf } from "../../proto/template/template.ts";
import type { MapConfig } from "./settings.ts";

/** A map as a worker asks it. */
interface ReadyMap {
  readonly of: Template;
  readonly values: ReadonlyMap<string, string>;
  /** The lines of the file, which another one may replace at any time; null without a file. */
  readonly file: { readonly table: TextTable } | null;
  readonly whenNone: string;
}

/** The maps of a configuration. docs/routing.md#maps */
export class RequestMaps implements MapValues {
  private readonly maps: ReadonlyMap<string, ReadyMap>;

  /** @param fileOf gives the lines of a file as they are now */
  constructor(configs: readonly MapConfig[], fileOf: (file: string) => { readonly table: TextTable }) {
    this.maps = new Map(
      configs.map(({ name, of, values, file, default: whenNone }) => [
        name,
        {
          of: inBytes(templateOf(of)),
          values: new Map(values.map(([key, value]) => [utf8AsLatin1(key), utf8AsLatin1(value)])),
          file: file === "" ? null : fileOf(file),
          whenNone: utf8AsLatin1(whenNone),
        },
      ]),
    );
  }

  valueOf(name: string, ex: Exchange): string {
    const map = this.maps.get(name);
    if (map === undefined) return "";
    const key = map.of.render(ex, "header");
    const own = map.values.get(key);
    if (own !== undefined) return own;
    const table = map.file?.table;
    const number = table?.find(key) ?? -1;
    return table === undefined || number < 0 ? map.whenNone : table.valueOf(number);
  }
}

function inBytes({ literals, uses }: Template): Template {
  return new Template(literals.map(utf8AsLatin1), uses);
}
