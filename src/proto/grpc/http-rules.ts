import { type DescMethod, getExtension, hasExtension, type Message } from "@bufbuild/protobuf";
import type { PathPattern } from "../../core/path-pattern.ts";
import { templatePattern } from "./path-template.ts";
import type { Schema } from "./schema.ts";

/** A REST route that a method's `google.api.http` option asks for. */
export interface HttpRule {
  readonly method: DescMethod;
  /** Upper-case. */
  readonly httpMethod: string;
  /** As written. */
  readonly template: string;
  readonly pattern: PathPattern;
  readonly body: string;
  readonly responseBody: string;
}

/** A rule that cannot be served, and why. */
export interface RuleFault {
  readonly method: DescMethod;
  readonly message: string;
}

/**
 * The rules of all methods, in the order of the files.
 * @returns beside them what is wrong with those that cannot be served
 */
export function httpRules(schema: Schema): {
  readonly rules: readonly HttpRule[];
  readonly faults: readonly RuleFault[];
} {
  const extension = schema.registry.getExtension("google.api.http");
  const rules: HttpRule[] = [];
  const faults: RuleFault[] = [];
  for (const method of extension === undefined ? [] : schema.methods()) {
    const { options } = method.proto;
    if (options === undefined || !hasExtension(options, extension!)) continue;
    const rule = getExtension(options, extension!) as RuleMessage;
    for (const one of [rule, ...(rule.additionalBindings ?? [])]) {
      const read = readRule(method, one);
      if (typeof read === "string") faults.push({ method, message: read });
      else rules.push(read);
    }
  }
  return { rules, faults };
}

/** google.api.HttpRule as the library reads it from the descriptor set's own files. */
type RuleMessage = Message & {
  readonly pattern?: { readonly case?: string; readonly value?: unknown };
  readonly body?: string;
  readonly responseBody?: string;
  readonly additionalBindings?: readonly RuleMessage[];
};

function readRule(method: DescMethod, rule: RuleMessage): HttpRule | string {
  const kind = rule.pattern?.case ?? "";
  const value = rule.pattern?.value;
  const custom = kind === "custom" ? (value as { readonly kind?: string; readonly path?: string }) : null;
  const httpMethod = (custom?.kind ?? kind).toUpperCase();
  const template = custom === null ? String(value ?? "") : (custom.path ?? "");
  if (!REST_METHODS.includes(httpMethod)) return `the HTTP method ${JSON.stringify(httpMethod)} cannot be served`;
  const pattern = templatePattern(template);
  if (typeof pattern === "string") return pattern;
  return { method, httpMethod, template, pattern, body: rule.body ?? "", responseBody: rule.responseBody ?? "" };
}

/** The HTTP methods that a transcoded route may have. */
export const REST_METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];
