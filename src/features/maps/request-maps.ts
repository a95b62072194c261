import { utf8AsLatin1 } from "../../core/bytes.ts";
import { NetworkValues } from "../../core/network-set.ts";
import type { TextTable } from "../../memory/text-table.ts";
import type { Exchange, MapValues } from "../../message/exchange.ts";
import { type Expression, LateExpression } from "../../proto/expression/expression.ts";
import { Template, templateOf } from "../../proto/template/template.ts";
import type { MapConfig } from "./settings.ts";

/** A map as a worker asks it. */
interface ReadyMap {
  readonly of: Template;
  readonly values: ReadonlyMap<string, MapValue>;
  /** The lines of the file, which another one may replace at any time; null without a file. */
  readonly file: { readonly table: TextTable } | null;
  readonly isAnyCase: boolean;
  readonly networks: NetworkValues<MapValue>;
  readonly expressions: readonly (readonly [Expression, MapValue])[];
  readonly whenNone: MapValue;
}

/** A text, or a template with parts of a request. */
type MapValue = string | Template;

/** The maps of a configuration. docs/routing.md#maps */
export class RequestMaps implements MapValues {
  private readonly maps: ReadonlyMap<string, ReadyMap>;

  /** @param fileOf gives the lines of a file as they are now */
  constructor(configs: readonly MapConfig[], fileOf: (file: string) => { readonly table: TextTable }) {
    this.maps = new Map(
      configs.map(({ name, of, values, file, anyCase, networks, expressions, default: whenNone }) => [
        name,
        {
          of: inBytes(templateOf(of)),
          values: new Map(
            values.map(([key, value]) => [utf8AsLatin1(anyCase ? inLowerCase(key) : key), readyValue(value)]),
          ),
          file: file === "" ? null : fileOf(file),
          isAnyCase: anyCase,
          networks: new NetworkValues(networks.map(([network, value]) => [network, readyValue(value)])),
          expressions: expressions.map(({ regex, value }) => [new LateExpression(regex), readyValue(value)]),
          whenNone: readyValue(whenNone),
        },
      ]),
    );
  }

  valueOf(name: string, ex: Exchange): string {
    const map = this.maps.get(name);
    if (map === undefined) return "";
    const value = this.find(map, map.of.render(ex, "header"));
    return typeof value === "string" ? value : value.render(ex, "header");
  }

  private find(map: ReadyMap, found: string): MapValue {
    const key = map.isAnyCase ? inLowerCase(found) : found;
    const own = map.values.get(key);
    if (own !== undefined) return own;
    const table = map.file?.table;
    const number = table?.find(key) ?? -1;
    if (table !== undefined && number >= 0) return table.valueOf(number);
    const near = map.networks.find(found);
    if (near !== undefined) return near;
    for (let i = 0; i < map.expressions.length; i++) {
      const [expression, value] = map.expressions[i]!;
      if (expression.test(found)) return value;
    }
    return map.whenNone;
  }
}

function readyValue(text: string): MapValue {
  const template = inBytes(templateOf(text));
  return template.isLiteral ? template.literals[0]! : template;
}

function inBytes({ literals, uses }: Template): Template {
  return new Template(literals.map(utf8AsLatin1), uses);
}

/** Letters beyond ASCII are bytes of UTF-8 here. */
function inLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
