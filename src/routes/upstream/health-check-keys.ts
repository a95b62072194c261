import { probeRows } from "../../config/attempt-settings.ts";
import { quote } from "../../config/config-fault.ts";
import { expressionFault } from "../../config/expression-kind.ts";
import { TEXT } from "../../config/form.ts";
import { headerValue, method, namedFields } from "../../config/http-syntax.ts";
import { parseAuthority } from "../../config/origin.ts";
import { type Kind, pairs, piece, resolved, type Spot, Wrong, written } from "../../config/piece.ts";
import { block, isFaultyAt, type Rows, type Values } from "../../config/row.ts";
import { flag, port, text, textLike } from "../../config/scalars.ts";
import { series } from "../../core/number-text.ts";
import { maskedFields, withoutCredentials } from "../../core/secret-name.ts";
import { compileExpression, expressionIn, isExpressionFault } from "../../proto/expression/expression.ts";

const rows = {
  enabled: { type: flag(), default: true, doc: "false: edge sends no probes" },
  path: {
    type: written(textLike(/^\/[\x21-\x7e]*$/, "a path such as /health"), withoutCredentials),
    absent: "",
    example: "/health",
    doc: "the path that the probe asks for",
  },
  host: {
    type: checkedHost(),
    absent: "",
    example: "app.example.com",
    doc: "Host of the probe; the target's by default",
  },
  method: {
    type: probeMethod(),
    default: "GET",
    doc: "the method of the probe: GET, HEAD, OPTIONS or POST (without a body)",
  },
  headers: {
    type: written(namedFields(pairs(headerValue(), "Name: value")), maskedFields),
    example: { Authorization: "Bearer ${HEALTH_TOKEN:-secret}" },
    doc: "further fields of the probe",
  },
  port: { type: port(1), absent: 0, example: 9100, doc: "the port for probes; the target's by default" },
  body: {
    type: bodyPattern(),
    absent: "",
    example: '/"status": *"ok"/',
    doc: "text that the body must contain: /an expression/ or plain text, in the first 64 KiB",
  },
  grpc: {
    type: flag(),
    default: false,
    doc: "true: edge calls grpc.health.v1.Health/Check in place of path; targets are h2c:// or h2://",
  },
  interval: { ...probeRows.interval, doc: "time between two probes" },
  timeout: { ...probeRows.timeout, doc: "a response that takes longer is a failure" },
  healthy_threshold: {
    ...probeRows.healthy_threshold,
    doc: "successful probes in a row after which a target gets requests again",
  },
  unhealthy_threshold: {
    ...probeRows.unhealthy_threshold,
    doc: "failed probes in a row after which a target gets no requests",
  },
  expect_status: { type: statusRange(), default: "200-399", field: "", doc: "statuses of a successful probe" },
} as const satisfies Rows;

/** `health_check` of an upstream route: docs/upstreams.md#health-checks */
export const healthCheck = block(rows, {
  absent: { enabled: false },
  shorthand: "path",
  check,
  finish: (_, { expect_status: [expectStatusFrom, expectStatusTo] }) => ({ expectStatusFrom, expectStatusTo }),
  list: ({ expectStatusFrom, expectStatusTo }, lines) => ({
    ...lines,
    expect_status: `${expectStatusFrom}-${expectStatusTo}`,
  }),
});

function check(values: Values<typeof rows>, spot: Spot): void {
  const { log, path } = spot;
  if (values.grpc && values.path !== "") log.warn([...path, "path"], "has no effect with grpc");
  if (values.grpc && values.method !== "GET")
    log.fault([...path, "method"], "a call of gRPC is a POST: remove it, or grpc", true);
  if (values.grpc && values.body !== "")
    log.fault([...path, "body"], "a server of gRPC responds with a status alone: remove it, or grpc", true);
  if (values.body !== "" && values.method === "HEAD")
    log.fault([...path, "body"], "a response to HEAD has no body: write method: GET", true);
  for (const [name] of values.headers) {
    const cure = RESERVED[name.toLowerCase()];
    if (cure !== undefined) log.fault([...path, "headers", name], cure, true);
  }
  if (values.enabled && values.path === "" && !values.grpc && !isFaultyAt(spot, "path"))
    log.fault(path, "a health check needs path, the page to ask for, such as path: /health", true);
  if (values.enabled && values.timeout > values.interval)
    log.warn([...path, "timeout"], "is longer than interval: probes of one target overlap");
}

const FRAMED = "edge writes this field itself: remove it";

/** Fields that a question cannot have from the configuration. */
const RESERVED: Readonly<Record<string, string>> = {
  host: "write it as health_check.host",
  connection: FRAMED,
  "content-length": FRAMED,
  expect: FRAMED,
  "keep-alive": FRAMED,
  "proxy-connection": FRAMED,
  te: FRAMED,
  trailer: FRAMED,
  "transfer-encoding": FRAMED,
  upgrade: FRAMED,
};

/** A name, with a port or without. */
function checkedHost(): Kind<string> {
  return resolved(text("a host name"), (host, { path, log }) => {
    const parsed = parseAuthority(host);
    if (typeof parsed === "string") log.fault(path, `${parsed}, such as app.example.com, found ${quote(host)}`);
    return host.toLowerCase();
  });
}

type ProbeMethod = "GET" | "HEAD" | "OPTIONS" | "POST";

function probeMethod(): Kind<ProbeMethod> {
  const kind = method((name) =>
    METHODS.includes(name as ProbeMethod) ? "" : `expected ${series(METHODS, "or")}, found ${quote(name)}`,
  );
  return kind as unknown as Kind<ProbeMethod>;
}

const METHODS: readonly ProbeMethod[] = ["GET", "HEAD", "OPTIONS", "POST"];

/** `/expression/`, `/expression/i`, or text. */
function bodyPattern(): Kind<string> {
  const line = text("a text or an expression");
  return piece((value) => {
    const read = line["~run"]({ value }, {});
    if (read.issues !== undefined) return new Wrong(read.issues[0].message);
    const wanted = String(read.value);
    const source = expressionIn(wanted);
    if (source === null) return wanted;
    if (source === "") return new Wrong("expected an expression between the slashes, found none");
    const made = compileExpression(source);
    return isExpressionFault(made) ? new Wrong(expressionFault(source, made.fault)) : wanted;
  }, TEXT);
}

/** `200`, or `200-399`. */
function statusRange(): Kind<readonly [number, number]> {
  const pattern = /^(\d{3})(?:-(\d{3}))?$/;
  return piece(
    (value) => {
      const parts = pattern.exec(typeof value === "number" ? String(value) : typeof value === "string" ? value : "");
      const from = Number(parts?.[1] ?? 0);
      const to = Number(parts?.[2] ?? from);
      if (from >= 100 && to >= from && to <= 599) return [from, to] as const;
      return new Wrong(`expected a status such as 200, or a range such as 200-399, found ${JSON.stringify(value)}`);
    },
    {
      is: "either",
      forms: [
        { is: "integer", min: 100, max: 599 },
        { is: "text", pattern },
      ],
    },
  );
}
