import { type DescMethod, getExtension, hasExtension, type Message } from "@bufbuild/protobuf";
import type { PathPattern } from "../../core/path-pattern.ts";
import { templatePattern } from "./path-template.ts";
import type { Schema } from "./schema.ts";

/** What a rule asks for. */
export interface RuleText {
  /** Upper-case. */
  readonly httpMethod: string;
  /** As written. */
  readonly template: string;
  readonly pattern: PathPattern;
  readonly body: string;
  readonly responseBody: string;
}

/**
 * The rules of a method's `google.api.http` option, the first and its additional bindings.
 * @returns for each the rule, or why it cannot be served
 */
export function optionRules(schema: Schema, method: DescMethod): (RuleText | string)[] {
  const extension = schema.registry.getExtension("google.api.http");
  const { options } = method.proto;
  if (extension === undefined || options === undefined || !hasExtension(options, extension)) return [];
  const rule = getExtension(options, extension) as RuleMessage;
  return [rule, ...(rule.additionalBindings ?? [])].map(readRule);
}

/** google.api.HttpRule as the library reads it from the descriptor set's own files. */
type RuleMessage = Message & {
  readonly pattern?: { readonly case?: string; readonly value?: unknown };
  readonly body?: string;
  readonly responseBody?: string;
  readonly additionalBindings?: readonly RuleMessage[];
};

function readRule(rule: RuleMessage): RuleText | string {
  const kind = rule.pattern?.case ?? "";
  const value = rule.pattern?.value;
  const custom = kind === "custom" ? (value as { readonly kind?: string; readonly path?: string }) : null;
  const httpMethod = (custom?.kind ?? kind).toUpperCase();
  const template = custom === null ? String(value ?? "") : (custom.path ?? "");
  if (!REST_METHODS.includes(httpMethod)) return `the HTTP method ${JSON.stringify(httpMethod)} cannot be served`;
  const pattern = templatePattern(template);
  if (typeof pattern === "string") return pattern;
  return { httpMethod, template, pattern, body: rule.body ?? "", responseBody: rule.responseBody ?? "" };
}

/** The HTTP methods that a transcoded route may have. */
export const REST_METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];
