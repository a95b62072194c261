import { readFileSync } from "node:fs";
import type { DescMethod } from "@bufbuild/protobuf";
import { type KeyPath, quote } from "../../config/config-fault.ts";
import type { ConfiguredFiles } from "../../config/configured-file.ts";
import type { FaultLog } from "../../config/fault-log.ts";
import { didYouMean } from "../../config/nearest-name.ts";
import { meshOrigin } from "../../config/origin.ts";
import { patternShape } from "../../core/path-pattern.ts";
import { REST_METHODS } from "../../proto/grpc/http-rules.ts";
import { colonPattern } from "../../proto/grpc/path-template.ts";
import { isHttpBody, methodFault, methodPath, readSchema, type Schema, takesStream } from "../../proto/grpc/schema.ts";
import { autoRoutes } from "./auto-routes.ts";
import { type FiledRule, readHttpRules } from "./http-rule-file.ts";
import { MAX_DESCRIPTOR_BYTES } from "./limits.ts";
import type { DescriptorSetConfig, FieldMapping, ReflectedAuto, TranscodedRouteConfig } from "./transcoded-route.ts";

/** Bytes of a service configuration with rules for methods. */
const MAX_RULE_FILE_BYTES = 4_194_304;

/** A route of the section, as it is written. */
interface WrittenRoute {
  readonly http_method: string;
  readonly http_path: string;
  readonly grpc_method: string;
  readonly upstream_url: string;
  readonly field_mappings: readonly (readonly [string, string])[];
  readonly descriptor_set: string;
  readonly timeout: number | null;
}

/** The section, as it is written: what becomes of its routes goes by these keys. */
interface TranscoderValues {
  readonly enabled: boolean;
  readonly descriptor_set: string;
  readonly upstream_url: string;
  readonly auto: {
    readonly enabled: boolean;
    readonly services: readonly string[];
    readonly exclude: readonly string[];
    readonly refresh: number;
  };
  readonly http_rules: readonly string[];
  readonly timeout: number;
  readonly routes: readonly WrittenRoute[];
}

/** The routes of the section. Everything that a descriptor set can tell is checked here. */
export function resolveTranscodedRoutes(
  values: TranscoderValues,
  log: FaultLog,
  files: ConfiguredFiles,
): TranscodedRoutes {
  return new TranscoderResolution(values, log, files).resolve();
}

/** What becomes of the routes of the section. */
interface TranscodedRoutes {
  /** The shared one as an absolute path, or "". */
  readonly descriptorSet: string;
  /** Those that `google.api.http` options ask for are the last. */
  readonly routes: readonly TranscodedRouteConfig[];
  /** The contents of the descriptor sets that routes name. */
  readonly descriptorSets: readonly DescriptorSetConfig[];
  /** Where `auto` goes by what the upstream tells of itself; else null. */
  readonly reflected: ReflectedAuto | null;
  /** Whether that is not known yet. */
  readonly isPending: boolean;
}

const ROOT = ["transcoder"];

class TranscoderResolution {
  private readonly values: TranscoderValues;
  private readonly log: FaultLog;
  private readonly files: ConfiguredFiles;
  private readonly sets: Map<string, DescriptorSetConfig> = new Map();
  /** null for a file that cannot be used, which has been said. */
  private readonly schemas: Map<string, Schema | null> = new Map();
  /** Where the routes stand, by method and shape of the path. */
  private readonly shapes: Map<string, number> = new Map();
  private rules: readonly FiledRule[] = [];
  private reflected: ReflectedAuto | null = null;

  constructor(values: TranscoderValues, log: FaultLog, files: ConfiguredFiles) {
    this.values = values;
    this.log = log;
    this.files = files;
  }

  resolve(): TranscodedRoutes {
    const { values, log } = this;
    if (!values.enabled && values.routes.length > 0) {
      log.warn(ROOT, "the section is present, but enabled is not true: it has no effect");
    }
    const shared = this.schemaFile([...ROOT, "descriptor_set"], values.descriptor_set);
    const routes = values.routes.map((_, i) => this.route(i, shared));
    if (values.enabled) this.rules = this.readRules();
    if (values.auto.enabled && values.enabled) routes.push(...this.autoRoutes(shared));
    const { reflected } = this;
    return {
      descriptorSet: shared,
      routes,
      descriptorSets: [...this.sets.values()],
      reflected,
      isPending: reflected !== null,
    };
  }

  private route(i: number, shared: string): TranscodedRouteConfig {
    const { log } = this;
    const values = this.values.routes[i]!;
    const path = [...ROOT, "routes", i];
    const segments = values.http_path.split("/").slice(1);
    checkParameters(segments, values.http_path, [...path, "http_path"], log);
    const pattern = colonPattern(values.http_path);
    if (!REST_METHODS.includes(values.http_method)) {
      log.fault([...path, "http_method"], `expected ${REST_METHODS.join(", ")}, found ${quote(values.http_method)}`);
    }
    const shape = `${values.http_method} ${patternShape(pattern)}`;
    const earlier = this.shapes.get(shape);
    if (earlier === undefined) this.shapes.set(shape, i);
    else
      log.fault(
        [...path, "http_path"],
        `the same method and path shape as routes[${earlier}]: only one of them can answer`,
      );
    const descriptorSet =
      values.descriptor_set === "" ? shared : this.schemaFile([...path, "descriptor_set"], values.descriptor_set);
    const route: TranscodedRouteConfig = {
      position: log.position(path),
      httpMethod: values.http_method,
      httpPath: values.http_path,
      pattern,
      grpcMethod: values.grpc_method,
      upstream: meshOrigin(values.upstream_url, [...path, "upstream_url"], log),
      fieldMappings: mappings(values.field_mappings, segments, [...path, "field_mappings"], log),
      descriptorSet,
      timeoutMs: values.timeout ?? this.values.timeout,
      body: "*",
      responseBody: "",
      takesBytes: isHttpBody(this.methodOf(descriptorSet, values.grpc_method)?.input),
      takesStream: takesStream(this.methodOf(descriptorSet, values.grpc_method)),
      isAuto: false,
    };
    this.checkMethod(route, path);
    return route;
  }

  /** The method of a route; null if there is no schema, or no such method in it. */
  private methodOf(descriptorSet: string, grpcMethod: string): DescMethod | null {
    return this.schemas.get(descriptorSet)?.method(grpcMethod) ?? null;
  }

  /** Whether the descriptor set has the method, and the method the fields. */
  private checkMethod(route: TranscodedRouteConfig, path: KeyPath): void {
    const schema = this.schemas.get(route.descriptorSet) ?? null;
    if (schema === null || this.log.isFaulty([...path, "grpc_method"])) return;
    const method = schema.method(route.grpcMethod);
    if (method === null) {
      const known = schema.methods().map(methodPath);
      const found = `found ${quote(route.grpcMethod)}${didYouMean(route.grpcMethod, known)}`;
      this.log.fault([...path, "grpc_method"], `expected a method of the descriptor set, ${found}`);
      return;
    }
    const fields = pathFieldsOf(route);
    const fault = methodFault(method, { ...route, pathFields: [...fields.values()] });
    if (fault === null) return;
    if (typeof fault.part === "string") {
      this.log.fault([...path, "grpc_method"], fault.message);
      return;
    }
    const { field } = fault.part;
    const mapping = route.fieldMappings.find((one) => one.field === field);
    if (mapping !== undefined) this.log.fault([...path, "field_mappings", mapping.param], fault.message);
    else this.log.fault([...path, "http_path"], `${fault.message}: map the parameter with field_mappings`);
  }

  /** The routes that rules of files and `google.api.http` options ask for; one that is configured by hand takes the place of its like. */
  private autoRoutes(shared: string): readonly TranscodedRouteConfig[] {
    const { log, values } = this;
    const at = [...ROOT, "auto"];
    if (values.upstream_url === "") {
      log.fault(at, "needs upstream_url, the address of the gRPC server, such as http://127.0.0.1:50051");
      return [];
    }
    const { services, exclude } = values.auto;
    const source: ReflectedAuto = {
      upstream: meshOrigin(values.upstream_url, [...ROOT, "upstream_url"], log),
      rules: this.rules,
      services,
      exclude,
      timeoutMs: values.timeout,
      position: log.position(at),
    };
    if (values.descriptor_set === "") this.reflected = source;
    const schema = this.schemas.get(shared) ?? null;
    if (schema === null) return [];
    const { routes, skipped, wrong, unknown } = autoRoutes({
      ...source,
      schema,
      descriptorSet: shared,
      taken: this.shapes.keys(),
    });
    for (const { key, index, message } of unknown) log.fault([...at, key, index], message);
    for (const { position, message } of wrong) log.noteAt(position, message, false);
    for (const { position, message } of skipped) log.noteAt(position, `transcoder.auto: ${message}`, true);
    if (routes.length + skipped.length + wrong.length + unknown.length === 0) {
      log.fault(at, "no method of the descriptor set has a google.api.http option or a rule of http_rules");
    }
    return routes;
  }

  /** The rules of the files that `http_rules` names. */
  private readRules(): FiledRule[] {
    const { values, log } = this;
    const at = [...ROOT, "http_rules"];
    if (values.http_rules.length > 0 && !values.auto.enabled)
      log.fault(at, "needs auto: true, which makes routes of the rules");
    return values.http_rules.flatMap((name, i) => {
      const content = this.files.contents(
        [...at, i],
        name,
        MAX_RULE_FILE_BYTES,
        "http_rules takes the rules of a service",
      );
      if (log.isFaulty([...at, i])) return [];
      return readHttpRules(name, Buffer.from(content, "latin1").toString("utf8"), log);
    });
  }

  /** Reads a descriptor set, once. @returns its absolute path, "" if none is named */
  private schemaFile(key: KeyPath, name: string): string {
    if (!this.values.enabled) return this.files.absolute(name);
    const file = this.files.file(key, name);
    if (file === "" || this.log.isFaulty(key)) return file;
    if (this.schemas.has(file)) return file;
    const bytes = readFileSync(file);
    const schema =
      bytes.length > MAX_DESCRIPTOR_BYTES ? `is larger than ${MAX_DESCRIPTOR_BYTES} bytes` : readSchema(bytes);
    if (typeof schema === "string") {
      this.log.fault(
        key,
        `${quote(name)} ${schema} (expected what protoc --descriptor_set_out --include_imports writes)`,
      );
      this.schemas.set(file, null);
    } else {
      this.schemas.set(file, schema);
      this.sets.set(file, { file, base64: bytes.toString("base64") });
    }
    return file;
  }
}

/** The request field of each path variable. */
export function pathFieldsOf(route: Pick<TranscodedRouteConfig, "pattern" | "fieldMappings">): Map<string, string> {
  const mapped = new Map(route.fieldMappings.map(({ param, field }) => [param, field]));
  return new Map(route.pattern.variables.map(({ name }) => [name, mapped.get(name) ?? name]));
}

function checkParameters(segments: readonly string[], path: string, at: KeyPath, log: FaultLog): void {
  const names = segments.filter((part) => part.startsWith(":"));
  const odd = names.find((part) => !/^:[A-Za-z_]\w*$/.test(part));
  if (odd !== undefined) log.fault(at, `expected parameters such as :id, found ${quote(odd)} in ${quote(path)}`);
  const twice = names.find((part, i) => names.indexOf(part) !== i);
  if (twice !== undefined) log.fault(at, `the parameter ${twice} occurs twice in ${quote(path)}`);
}

function mappings(
  found: readonly (readonly [string, string])[],
  segments: readonly string[],
  path: KeyPath,
  log: FaultLog,
): FieldMapping[] {
  const params = segments.filter((part) => part.startsWith(":")).map((part) => part.slice(1));
  return found.map(([param, field]) => {
    if (!params.includes(param)) {
      const message = `expected a parameter of http_path, found ${quote(param)}${didYouMean(param, params)}`;
      log.fault([...path, param], message, true);
    }
    return { param, field };
  });
}
