import { type ConfigPosition, type KeyPath, quote } from "../../config/config-fault.ts";
import { FaultLog } from "../../config/fault-log.ts";
import { list } from "../../config/piece.ts";
import { block, type Rows, type Values } from "../../config/row.ts";
import { flag, text, textLike } from "../../config/scalars.ts";
import { readYaml } from "../../config/yaml-source.ts";
import { REST_METHODS, type RuleText } from "../../proto/grpc/http-rules.ts";
import { templatePattern } from "../../proto/grpc/path-template.ts";

/** A rule of a service configuration. docs/transcoder.md#rules-in-a-file */
export interface FiledRule {
  /** The methods that it is for: `shop.Shop.GetItem`, all below `shop.Shop.*`, or all of them, `*`. */
  readonly selectors: readonly string[];
  readonly position: ConfigPosition;
  /** The rule itself, and its additional bindings. */
  readonly bindings: readonly FiledBinding[];
}

interface FiledBinding extends RuleText {
  readonly position: ConfigPosition;
}

const custom = block({
  kind: { type: text("an HTTP method"), required: "an HTTP method, such as HEAD" },
  path: { type: text("a path template"), required: "a path template, such as /v1/items/{id}" },
});
const path = { type: text("a path template"), absent: "" } as const;
const bindingRows = {
  get: path,
  put: path,
  post: path,
  delete: path,
  patch: path,
  custom: { type: custom, absent: null },
  body: { type: text("* or the name of a request field"), absent: "" },
  response_body: { type: text("the name of a response field"), absent: "" },
} as const satisfies Rows;
const rule = block({
  selector: {
    type: textLike(
      /^[A-Za-z_*][\w.*]*(?:\s*,\s*[A-Za-z_*][\w.*]*)*$/,
      "the name of a method such as shop.Shop.GetItem, or shop.Shop.*",
    ),
    required: "the name of a method, such as shop.Shop.GetItem",
  },
  ...bindingRows,
  additional_bindings: { type: list(block(bindingRows), "rules") },
});
const rules = list(rule, "rules");
const serviceConfig = block({
  type: { type: text("google.api.Service"), absent: "" },
  http: { type: block({ rules: { type: rules }, fully_decode_reserved_expansion: { type: flag(), default: false } }) },
});

/**
 * Reads a gRPC API service configuration (google.api.Service, as YAML): its `http.rules`. What else such a file has, `apis`, `documentation`
 * and so on, is passed over.
 * @param name for messages
 * @returns the rules in their order; faults go to `log` with their places in this file
 */
export function readHttpRules(name: string, content: string, log: FaultLog): FiledRule[] {
  const source = readYaml(name, content, {});
  const own = new FaultLog(source);
  const found = source.readable ? rulesIn(source.value, own) : [];
  log.include(own);
  return found;
}

function rulesIn(value: unknown, log: FaultLog): FiledRule[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    log.fault([], "expected a service configuration: type: google.api.Service, and http with its rules");
    return [];
  }
  const { type, http } = value as Readonly<Record<string, unknown>>;
  const known = { ...(type === undefined ? {} : { type }), ...(http === undefined ? {} : { http }) };
  const config = log.read(serviceConfig, known, [], 3);
  if (config.type !== "" && config.type !== "google.api.Service") {
    log.fault(["type"], `expected google.api.Service, found ${quote(config.type)}`);
  }
  if (config.http.fully_decode_reserved_expansion) {
    log.fault(
      ["http", "fully_decode_reserved_expansion"],
      "is not supported: an encoded slash in a variable of several segments stays as it is",
    );
  }
  if (config.http.rules.length === 0 && !log.isFaulty(["http"]))
    log.fault(["http"], "expected rules: none is in this file");
  return config.http.rules.map((one, i) => filedRule(one, ["http", "rules", i], log));
}

function filedRule(one: Values<typeof rule.rows>, at: KeyPath, log: FaultLog): FiledRule {
  const selectors = one.selector.split(",").map((selector) => selector.trim());
  const odd = selectors.find((selector) => !/^(?:\*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\.\*)?)$/.test(selector));
  if (odd !== undefined && !log.isFaulty([...at, "selector"])) {
    log.fault([...at, "selector"], `expected a whole name, "*", or a name that ends with ".*", found ${quote(odd)}`);
  }
  const bindings: [Values<typeof bindingRows>, KeyPath][] = [
    [one, at],
    ...one.additional_bindings.map((more, i): [Values<typeof bindingRows>, KeyPath] => [
      more,
      [...at, "additional_bindings", i],
    ]),
  ];
  const read = bindings.flatMap(([binding, place]): FiledBinding[] => {
    const text = log.isFaulty(place) ? null : bindingOf(binding, place, log);
    return text === null ? [] : [{ ...text, position: log.position(place) }];
  });
  return { selectors, position: log.position([...at, "selector"]), bindings: read };
}

function bindingOf(binding: Values<typeof bindingRows>, at: KeyPath, log: FaultLog): RuleText | null {
  const found = PATTERN_KEYS.filter((key) => (key === "custom" ? binding.custom !== null : binding[key] !== ""));
  const [key] = found;
  if (key === undefined || found.length > 1) {
    log.fault(
      at,
      `expected one of ${PATTERN_KEYS.join(", ")}${key === undefined ? "" : `, found ${found.join(" and ")}`}`,
    );
    return null;
  }
  const httpMethod = (key === "custom" ? binding.custom!.kind : key).toUpperCase();
  if (!REST_METHODS.includes(httpMethod)) {
    log.fault([...at, key, "kind"], `expected ${REST_METHODS.join(", ")}, found ${quote(httpMethod)}`);
    return null;
  }
  const template = key === "custom" ? binding.custom!.path : binding[key];
  const pattern = templatePattern(template);
  if (typeof pattern === "string") {
    log.fault(key === "custom" ? [...at, key, "path"] : [...at, key], pattern);
    return null;
  }
  return { httpMethod, template, pattern, body: binding.body, responseBody: binding.response_body };
}

const PATTERN_KEYS = ["get", "put", "post", "delete", "patch", "custom"] as const;
