import { type Form, type FormRow, type FormRows, formsIn } from "../config/form.ts";
import { POLICY_KEYS, SECRET_LISTS } from "../routes/policy-keys.ts";
import type { JsonSchema } from "./json-schema.ts";

/** The group and version of the kinds that edge brings into a cluster. */
const EDGE_GROUP = "edge.dev";
const EDGE_VERSION = "v1alpha1";

/**
 * The CustomResourceDefinition of EdgePolicy. Its schema follows from the rows of routes, each key in its long form: a structural schema has one type for
 * each value. A key that names a file is not in it, and a secret is a reference to one. docs/kubernetes-policies.md
 */
export function policyDefinition(): JsonSchema {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `edgepolicies.${EDGE_GROUP}`,
      labels: { "app.kubernetes.io/name": "edge", "gateway.networking.k8s.io/policy": "Inherited" },
    },
    spec: {
      group: EDGE_GROUP,
      names: {
        kind: "EdgePolicy",
        listKind: "EdgePolicyList",
        plural: "edgepolicies",
        singular: "edgepolicy",
        shortNames: ["edgepol"],
        categories: ["gateway-api"],
      },
      scope: "Namespaced",
      versions: [
        {
          name: EDGE_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: COLUMNS,
          schema: { openAPIV3Schema: policySchema() },
        },
      ],
    },
  };
}

function policySchema(): JsonSchema {
  return {
    type: "object",
    description: "Settings of edge for the objects that it is attached to.",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: {
        type: "object",
        description: "The keys of a route in routes.yaml, in their long form, and the objects that they are for.",
        properties: { targetRef: TARGET, targetRefs: TARGETS, ...propertiesOf(POLICY_KEYS) },
        "x-kubernetes-validations": [
          { rule: "has(self.targetRef) != has(self.targetRefs)", message: "expected either targetRef or targetRefs" },
        ],
      },
      status: STATUS,
    },
  };
}

function propertiesOf(rows: FormRows): Record<string, JsonSchema> {
  const all = Object.entries(rows).flatMap(([key, row]) => {
    const schema = structural(row.type.form);
    return schema === null ? [] : [[key, described(schema, row)] as const];
  });
  for (const [key, { file }] of Object.entries(SECRET_LISTS)) if (file in rows) all.push([key, SECRET_LIST]);
  return Object.fromEntries(all);
}

function described(schema: JsonSchema, { doc, required, ...row }: FormRow): JsonSchema {
  const isLong = schema.type === "object" || schema.type === "array";
  const text = (doc ?? required ?? "").replace(isLong ? SHORT_FORM : "", "");
  const usual = row.default;
  const hasUsual = usual !== undefined && usual !== "" && typeof usual !== "object";
  const description = `${text}${hasUsual ? ` (${String(usual)} by default)` : ""}`.trim();
  return description === "" ? schema : { description, ...schema };
}

/** What may be written in one form; null for what has no place in a cluster. */
function structural(form: Form): JsonSchema | null {
  switch (form.is) {
    case "section": {
      const properties = propertiesOf(form.rows);
      const required = Object.keys(properties).filter((key) => form.rows[key]?.required !== undefined);
      if (Object.keys(properties).length === 0) return null;
      return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
    }
    case "list": {
      const items = structural(form.item);
      return items === null ? null : { type: "array", items };
    }
    case "map": {
      const values = structural(form.value);
      return values === null ? null : { type: "object", additionalProperties: values };
    }
    case "either":
      return eitherOf(form.forms.flatMap(formsIn));
    case "anything":
      return OPEN;
    default:
      return scalar(form);
  }
}

/** The longest form of several: a section before a list, a map, a scalar. A section or a list of sections has no type, and both contents. */
function eitherOf(forms: readonly Form[]): JsonSchema | null {
  const [section, list, map] = (["section", "list", "map"] as const).map((kind) => {
    const found = forms.find(({ is }) => is === kind);
    return found === undefined ? null : structural(found);
  });
  if (section && list) return { ...OPEN, properties: section.properties, items: list.items };
  const long = section ?? list ?? map ?? null;
  if (long !== null) return long;
  const schemas = forms.map(structural).filter((schema) => schema !== null);
  if (schemas.length === 0) return null;
  const types = new Set(schemas.map(({ type }) => type));
  if (types.size === 1 && schemas.length === 1) return schemas[0]!;
  if (types.size === 1) return { type: [...types][0] };
  const isIntOrText = [...types].every((type) => TEXT_OR_NUMBER.has(type));
  return isIntOrText ? INT_OR_TEXT : OPEN;
}

type Scalar = Exclude<Form, { readonly is: "section" | "list" | "map" | "either" | "anything" }>;

function scalar(form: Scalar): JsonSchema | null {
  switch (form.is) {
    case "integer":
    case "number": {
      const { min, max } = form;
      const low = min > -Number.MAX_SAFE_INTEGER ? { minimum: min } : {};
      const high = max < Number.MAX_SAFE_INTEGER ? { maximum: max } : {};
      return { type: form.is, ...(form.is === "integer" ? { format: "int64" } : {}), ...low, ...high };
    }
    case "duration":
    case "size":
      return INT_OR_TEXT;
    case "word":
      return { type: "string", enum: form.words };
    case "flag":
      return { type: "boolean" };
    case "percent":
      return { type: "string", pattern: "^\\d{1,3}(\\.\\d{1,3})? ?%$" };
    case "text":
      if (form.names === "file") return null;
      if (form.names === "secret") return SECRET;
      return { type: "string", ...patternOf(form.pattern) };
  }
}

const TEXT_OR_NUMBER: ReadonlySet<unknown> = new Set(["string", "integer", "number", undefined]);

/** An expression that Go reads in the same way; the gateway checks all others. */
function patternOf(pattern: RegExp | undefined): JsonSchema {
  if (pattern === undefined || pattern.flags !== "" || FOREIGN_SYNTAX.test(pattern.source)) return {};
  return { pattern: pattern.source };
}

/** What Go's expressions do not have: looking around, references, names of characters. */
const FOREIGN_SYNTAX = /\(\?[=!<]|\\[uckpP1-9]/;
/** The beginning of a key's line that shows its short form. */
const SHORT_FORM = /^or [^;]*(?:; |$)/;

const OPEN: JsonSchema = { "x-kubernetes-preserve-unknown-fields": true };
const INT_OR_TEXT: JsonSchema = { "x-kubernetes-int-or-string": true };
const NAME: JsonSchema = { type: "string", minLength: 1, maxLength: 253 };

/** The value of a secret, in a Secret of the policy's namespace. */
const SECRET: JsonSchema = {
  type: "object",
  required: ["name", "key"],
  properties: { name: { ...NAME, description: "of a Secret in the namespace of the policy" }, key: NAME },
};

/** Lines of a value of a Secret, or, without a key, all its values by their names. */
const SECRET_LIST: JsonSchema = {
  type: "object",
  description:
    "a Secret in the namespace of the policy, with lines of name:hash at a key, or without one a hash at each name",
  required: ["name"],
  properties: { name: NAME, key: NAME },
};

const TARGET: JsonSchema = {
  type: "object",
  description: "an object of the policy's namespace",
  required: ["group", "kind", "name"],
  properties: {
    group: { type: "string", enum: ["gateway.networking.k8s.io", "networking.k8s.io"] },
    kind: { type: "string", enum: ["Gateway", "HTTPRoute", "GRPCRoute", "Ingress"] },
    name: NAME,
    sectionName: { ...NAME, description: "the name of a listener of the Gateway, or of a rule of the route" },
  },
};

const TARGETS: JsonSchema = { type: "array", minItems: 1, maxItems: 16, items: TARGET };

const CONDITION: JsonSchema = {
  type: "object",
  required: ["type", "status", "reason", "message", "lastTransitionTime"],
  properties: {
    type: { type: "string", maxLength: 316 },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    reason: { type: "string", maxLength: 1024 },
    message: { type: "string", maxLength: 32_768 },
    observedGeneration: { type: "integer", format: "int64", minimum: 0 },
    lastTransitionTime: { type: "string", format: "date-time" },
  },
};

const STATUS: JsonSchema = {
  type: "object",
  properties: {
    ancestors: {
      type: "array",
      maxItems: 16,
      description: "the state of the policy at each of its targets",
      items: {
        type: "object",
        required: ["ancestorRef", "controllerName", "conditions"],
        properties: {
          ancestorRef: {
            type: "object",
            required: ["name"],
            properties: {
              group: { type: "string" },
              kind: { type: "string" },
              namespace: { type: "string" },
              name: { type: "string" },
              sectionName: { type: "string" },
            },
          },
          controllerName: { type: "string" },
          conditions: {
            type: "array",
            maxItems: 8,
            items: CONDITION,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
          },
        },
      },
    },
  },
};

const COLUMNS: readonly JsonSchema[] = [
  { name: "Kind", type: "string", jsonPath: ".status.ancestors[0].ancestorRef.kind" },
  { name: "Target", type: "string", jsonPath: ".status.ancestors[0].ancestorRef.name" },
  {
    name: "Accepted",
    type: "string",
    jsonPath: '.status.ancestors[0].conditions[?(@.type=="Accepted")].status',
  },
  {
    name: "Reason",
    type: "string",
    priority: 1,
    jsonPath: '.status.ancestors[0].conditions[?(@.type=="Accepted")].reason',
  },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];
