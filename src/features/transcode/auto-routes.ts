import type { DescMethod } from "@bufbuild/protobuf";
import { type ConfigPosition, quote } from "../../config/config-fault.ts";
import { didYouMean } from "../../config/nearest-name.ts";
import type { OriginConfig } from "../../config/origin.ts";
import { isFixedPattern, patternShape } from "../../core/path-pattern.ts";
import { optionRules, type RuleText } from "../../proto/grpc/http-rules.ts";
import { bodyType, isHttpBody, methodFault, methodPath, type Schema, takesStream } from "../../proto/grpc/schema.ts";
import type { FiledRule } from "./http-rule-file.ts";
import type { TranscodedRouteConfig } from "./transcoded-route.ts";

/** What `auto` makes routes of. docs/transcoder.md#auto */
interface AutoSource {
  readonly schema: Schema;
  /** The rules of files, which take the place of the options of their methods. */
  readonly rules: readonly FiledRule[];
  readonly services: readonly string[];
  readonly exclude: readonly string[];
  readonly upstream: OriginConfig;
  readonly descriptorSet: string;
  readonly timeoutMs: number;
  /** The place of `auto`. */
  readonly position: ConfigPosition;
  /** Method and shape of the path of each route that is there already. */
  readonly taken: Iterable<string>;
}

/** Something to tell of a place. */
interface RouteNote {
  readonly position: ConfigPosition;
  readonly message: string;
}

/** The routes, and what is to be said of the rest. */
interface AutoRoutes {
  readonly routes: readonly TranscodedRouteConfig[];
  /** What cannot be served, which is no reason to serve none. */
  readonly skipped: readonly RouteNote[];
  /** Rules of files that no method, or not their method, can follow. */
  readonly wrong: readonly RouteNote[];
  /** Names among `services` and `exclude` that lead to nothing. */
  readonly unknown: readonly {
    readonly key: "services" | "exclude";
    readonly index: number;
    readonly message: string;
  }[];
}

/** Makes a route of each rule, of files and of `google.api.http` options. Routes that are there already keep their paths. */
export function autoRoutes(source: AutoSource): AutoRoutes {
  return new AutoRouting(source).run();
}

class AutoRouting {
  private readonly source: AutoSource;
  private readonly configured: ReadonlySet<string>;
  private readonly shapes: Set<string> = new Set();
  private readonly routes: TranscodedRouteConfig[] = [];
  private readonly skipped: RouteNote[] = [];
  private readonly wrong: RouteNote[] = [];

  constructor(source: AutoSource) {
    this.source = source;
    this.configured = new Set(source.taken);
  }

  run(): AutoRoutes {
    const { schema, rules, position } = this.source;
    const unknown = this.unknownNames();
    const methods = schema.methods();
    for (const rule of rules) {
      if (!methods.some((method) => isSelected(method, rule)))
        this.wrong.push({ position: rule.position, message: this.nothingFor(rule) });
    }
    for (const method of unknown.length > 0 ? [] : methods.filter((one) => this.isWanted(one))) {
      // The last rule for a method counts, before its own option. google/api/http.proto, "Using gRPC API Service Configuration".
      const rule = rules.findLast((one) => isSelected(method, one));
      if (rule !== undefined)
        for (const binding of rule.bindings)
          this.add(method, binding, binding.position, rule.selectors.includes(qualifiedName(method)));
      else for (const one of optionRules(schema, method)) this.add(method, one, position, false);
    }
    return { routes: this.routes, skipped: this.skipped, wrong: this.wrong, unknown };
  }

  private isWanted(method: DescMethod): boolean {
    const { services, exclude } = this.source;
    return (
      (services.length === 0 || services.some((name) => isNamed(method, name))) &&
      !exclude.some((name) => isNamed(method, name))
    );
  }

  private add(method: DescMethod, rule: RuleText | string, position: ConfigPosition, isNamedThere: boolean): void {
    const note = (list: RouteNote[], message: string) =>
      list.push({ position, message: `${methodPath(method)}${message}` });
    if (typeof rule === "string") return void note(this.skipped, `: ${rule}: not served`);
    const shape = `${rule.httpMethod} ${patternShape(rule.pattern)}`;
    if (this.configured.has(shape)) return;
    const fault = methodFault(method, { ...rule, pathFields: rule.pattern.variables.map((one) => one.name) });
    if (fault !== null && isNamedThere) return void note(this.wrong, `: ${fault.message}`);
    if (fault !== null) return void note(this.skipped, `: ${fault.message}: not served`);
    if (this.shapes.has(shape)) {
      return void note(this.skipped, `: ${rule.httpMethod} ${rule.template} is taken by another method: not served`);
    }
    this.shapes.add(shape);
    this.routes.push(this.route(method, rule, position));
  }

  private route(method: DescMethod, rule: RuleText, position: ConfigPosition): TranscodedRouteConfig {
    const { upstream, descriptorSet, timeoutMs } = this.source;
    return {
      position,
      httpMethod: rule.httpMethod,
      httpPath: isFixedPattern(rule.pattern) ? patternShape(rule.pattern) : rule.template,
      pattern: rule.pattern,
      grpcMethod: methodPath(method),
      upstream,
      fieldMappings: [],
      descriptorSet,
      timeoutMs,
      body: rule.body,
      responseBody: rule.responseBody,
      takesBytes: isHttpBody(bodyType(method.input, rule.body)),
      takesStream: takesStream(method),
      isAuto: true,
    };
  }

  private unknownNames(): AutoRoutes["unknown"] {
    const methods = this.source.schema.methods();
    const services = [...new Set(methods.map((method) => method.parent.typeName))];
    const paths = methods.map((method) => methodPath(method).slice(1));
    const check = (key: "services" | "exclude", known: readonly string[]) =>
      this.source[key].flatMap((name, index) => {
        if (methods.some((method) => isNamed(method, name))) return [];
        const what = key === "services" ? "service" : "service or method";
        const message = `expected a ${what} of the schema, found ${quote(name)}${didYouMean(name, known)}`;
        return [{ key, index, message }];
      });
    return [...check("services", services), ...check("exclude", [...services, ...paths])];
  }

  private nothingFor(rule: FiledRule): string {
    const names = this.source.schema.methods().map(qualifiedName);
    const [name = ""] = rule.selectors;
    return `selector: no method of the schema is ${quote(name)}${didYouMean(name, names)}`;
  }
}

/** Whether a service has methods that `services` and `exclude` leave in, as far as its name tells. Reflection itself is no service for clients. */
export function isServiceWanted(service: string, services: readonly string[], exclude: readonly string[]): boolean {
  if (/^grpc\.reflection\./.test(service)) return false;
  const isAround = (name: string) =>
    name.endsWith(".*") ? `${service}.`.startsWith(name.slice(0, -1)) : name === service;
  const isIn = (name: string) => isAround(name) || name.replace(/^\//, "").split("/")[0] === service;
  return (services.length === 0 || services.some(isIn)) && !exclude.some(isAround);
}

/** Whether a name is that of the method (`shop.Shop/GetItem`), of its service, or of a package around it (`shop.*`). */
function isNamed(method: DescMethod, name: string): boolean {
  const path = methodPath(method).slice(1);
  if (name.endsWith(".*")) return path.startsWith(name.slice(0, -1));
  return name === method.parent.typeName || name === path || name === `/${path}`;
}

function isSelected(method: DescMethod, { selectors }: FiledRule): boolean {
  const name = qualifiedName(method);
  return selectors.some(
    (one) => one === name || one === "*" || (one.endsWith(".*") && name.startsWith(one.slice(0, -1))),
  );
}

function qualifiedName(method: DescMethod): string {
  return `${method.parent.typeName}.${method.name}`;
}
