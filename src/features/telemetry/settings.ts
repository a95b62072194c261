import { headerValue, namedFields } from "../../config/http-syntax.ts";
import { pairs, type Spot, written } from "../../config/piece.ts";
import { block, type ConfigOf, OFF, type Rows, type Values } from "../../config/row.ts";
import { decimal, duration, fileName, flag, text, word } from "../../config/scalars.ts";
import { maskedFields, withoutCredentials } from "../../core/secret-name.ts";

const traceRows = {
  enabled: { type: flag(), default: true, doc: "false: edge sends no spans" },
  sample: {
    type: decimal(0, 1),
    default: 0.1,
    doc: "share of the requests without a caller's decision that are recorded, 0 to 1",
  },
} as const satisfies Rows;

const otlpRows = {
  enabled: { type: flag(), default: true, doc: "false: edge sends nothing" },
  endpoint: {
    type: text("the address of the collector"),
    default: "",
    example: "http://127.0.0.1:4318",
    doc: "your collector's URL, to which edge adds /v1/traces, /v1/metrics and /v1/logs",
  },
  protocol: { type: word("http/protobuf"), default: "http/protobuf", doc: "protocol to the collector" },
  headers: {
    type: written(namedFields(pairs(headerValue(), "Name: value")), maskedFields),
    example: { Authorization: "Bearer ${OTLP_TOKEN}" },
    doc: "header fields for your collector",
  },
  traces: { type: block(traceRows, { isSwitch: true }), doc: "spans of requests" },
  metrics: { type: flag(), default: true, doc: "true: edge also sends the metrics of /metrics" },
  metrics_interval: { type: duration(1000), default: "60s", doc: "how often edge sends metrics" },
  logs: { type: flag(), default: false, doc: "true: edge also sends the lines of its log" },
  timeout: { type: duration(1), default: "10s", doc: "time for one call with its retries" },
  compression: { type: word("gzip", "none"), default: "gzip", doc: "compression of the data" },
  ca_file: { type: fileName(), default: "", example: "./ca.pem", doc: "for https://; the system's roots by default" },
} as const satisfies Rows;

const otlp = block(otlpRows, {
  absent: OFF,
  shorthand: "endpoint",
  check: checkOtlp,
  finish: ({ caFile }, _, { path, files }) => ({ caFile: files.bundle([...path, "ca_file"], caFile) }),
  list: ({ endpoint }, lines) => ({ ...lines, endpoint: withoutCredentials(endpoint) }),
});

const rows = {
  enabled: { type: flag(), default: true, doc: "false: edge keeps and sends no trace" },
  otlp: { type: otlp, doc: "what edge sends to your OpenTelemetry collector" },
  propagate: { type: flag(), default: true, doc: "true: your origins get traceparent and tracestate" },
  service_name: { type: text("a name"), default: "edge", doc: "the service name of your traces and metrics" },
  resource: {
    type: written(pairs(text("a text"), "attribute: value"), (all) => Object.fromEntries(all as [string, string][])),
    example: { "deployment.environment.name": "production" },
    doc: "further attributes of everything that edge sends",
  },
} as const satisfies Rows;

/** `telemetry`: docs/tracing.md */
export const telemetry = block(rows, { absent: OFF });

/** The resolved section. */
export type TelemetryConfig = ConfigOf<typeof telemetry>;

function checkOtlp({ enabled, endpoint, ca_file }: Values<typeof otlpRows>, { log, path }: Spot): void {
  const at = [...path, "endpoint"];
  if (!enabled || log.isFaulty(at)) return;
  if (endpoint === "")
    return log.fault(path, "needs endpoint, the address of the collector, such as http://127.0.0.1:4318");
  const url = URL.parse(endpoint);
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.hostname === "")
    log.fault(at, "expected a URL with http:// or https://, such as http://127.0.0.1:4318");
  else if (url.username !== "" || url.password !== "")
    log.fault(at, "expected a URL without a name and a password: write them into headers");
  else if (url.search !== "" || url.hash !== "") log.fault(at, "expected a URL without a query and a fragment");
  else if (/\/v1\/(traces|metrics|logs)\/?$/.test(url.pathname))
    log.fault(at, "expected the base of the collector: /v1/traces, /v1/metrics and /v1/logs are added to it");
  else if (url.port === "4317")
    log.warn(at, "4317 is usually the port for gRPC; this gateway sends OTLP over HTTP, usually to 4318");
  if (ca_file !== "" && url?.protocol === "http:") log.warn([...path, "ca_file"], "has no effect with http://");
}
