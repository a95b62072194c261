import { orWord, TEXT } from "../../config/form.ts";
import { didYouMean } from "../../config/nearest-name.ts";
import { describe, type Kind, list, piece, resolved, Wrong, written } from "../../config/piece.ts";
import { block, type ConfigOf, layerRows, orOff, orWritten, type Rows } from "../../config/row.ts";
import { decimal, duration, flag, folderName, integer, size, textLike } from "../../config/scalars.ts";
import { templateFault } from "../../config/template-kind.ts";
import { ACCESS_FIELDS, type AccessField } from "./access-fields.ts";
import { compileFilter } from "./line-filter.ts";

/** Files of a log that were put aside and are kept. */
const MAX_LOG_FILES = 10_000;

/** `udp://host:514`, `tcp://host:601`, `unix:/run/log.sock`. */
const SYSLOG = /^((udp|tcp):\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?|unix:\/\S+)$/;

const compress = written(
  piece<"zstd" | "gzip" | "off">(
    (value) => {
      if (value === true || value === "true") return "zstd";
      if (value === false || value === "false") return "off";
      return value === "zstd" || value === "gzip" || value === "off"
        ? value
        : new Wrong(`expected zstd, gzip or false, found ${describe(value)}`);
    },
    orWord({ is: "flag" }, "zstd", "gzip"),
  ),
  (way) => (way === "off" ? false : way),
);

const rotate = block({
  size: { type: size(1, 2 ** 40), default: "100MiB", doc: "the size at which edge rotates the file" },
  age: {
    type: duration(0),
    default: "0s",
    example: "24h",
    doc: "the age at which edge rotates the file, too; 0s: only the size counts",
  },
  keep: { type: integer(1, MAX_LOG_FILES), default: 10, doc: "how many rotated files edge keeps" },
  compress: { type: compress, default: "zstd", doc: "compression of rotated files: zstd, gzip or false" },
});

const output = orWritten(
  block(
    {
      stdout: {
        type: flag(),
        default: false,
        doc: "true: standard output too, beside the other outputs",
      },
      file: {
        type: folderName(),
        default: "",
        example: "/var/log/edge/access.log",
        doc: "the file to which edge appends lines",
      },
      rotate: {
        type: rotate,
        absent: null,
        doc: "rotation of that file; without it your own tool may rotate it and send SIGUSR1",
      },
      syslog: {
        type: textLike(SYSLOG, "udp://host:514, tcp://host:601 or unix:/run/log.sock"),
        absent: "",
        example: "udp://192.0.2.5:514",
        doc: "a syslog server (RFC 5424)",
      },
    },
    {
      check({ stdout, file, rotate: turns, syslog }, { path, log }) {
        if ([stdout, file !== "", syslog !== ""].filter(Boolean).length !== 1)
          log.fault(path, 'expected stdout, {file: ./access.log} or {syslog: "udp://host:514"}', true);
        if (turns !== null && file === "") log.warn([...path, "rotate"], "has no effect without file");
      },
      list: ({ stdout }, lines) => (stdout ? "stdout" : lines) as object,
    },
  ),
  { is: "text", pattern: /^stdout$/ },
  (value) => (value === "stdout" ? { stdout: true } : value),
);

const NAMES = Object.keys(ACCESS_FIELDS);

/** Names of formats; everything else is a template. */
const FORMATS = ["json", "common", "combined"];

const format: Kind<string> = piece((value) => {
  if (typeof value !== "string")
    return new Wrong(`expected json, common, combined or a template, found ${describe(value)}`);
  if (FORMATS.includes(value)) return value;
  if (!value.includes("{"))
    return new Wrong(
      `expected json, common, combined or a template such as "{client_ip} {status}"${didYouMean(value, FORMATS)}`,
    );
  const fault = /[\r\n]/.test(value) ? "expected a template on one line" : templateFault(value, { locals: NAMES });
  return fault === "" ? value : new Wrong(fault);
}, TEXT);

const field: Kind<AccessField> = piece((value) => {
  if (typeof value === "string" && NAMES.includes(value)) return value as AccessField;
  const meant = typeof value === "string" ? didYouMean(value, NAMES) : "";
  return new Wrong(`expected a field of the access log, found ${describe(value)}${meant}; "edge help log" lists them`);
}, TEXT);

const only: Kind<string> = resolved(
  piece(
    (value) =>
      typeof value === "string"
        ? value.trim()
        : new Wrong(`expected a text such as "status >= 400", found ${describe(value)}`),
    TEXT,
  ),
  (source, { path, log }) => {
    const filter = source === "" ? null : compileFilter(source);
    if (filter === null || typeof filter === "function") return source;
    log.faultWithin(path, filter.at, `${filter.fault} (character ${filter.at + 1})`);
    return "";
  },
);

const routeRows = {
  enabled: { type: flag(), default: true, doc: "false: no access log" },
  sample: { type: decimal(0, 1), default: 1, doc: "share of the requests that are logged, 0 to 1" },
  only: {
    type: only,
    default: "",
    example: "status >= 400 or duration > 1s",
    doc: "an expression: edge writes a line only for requests that fit",
  },
  format: {
    type: format,
    default: "json",
    doc: 'the format: json, common, combined (as in Apache and nginx), or your template: "{client_ip} {method} {path} {status}"',
  },
  fields: {
    type: list(field, "names"),
    example: ["time", "client_ip", "method", "path", "query", "status"],
    doc: 'the fields of json, in this order; "edge help log" lists them',
  },
  outputs: { type: list(output, "outputs"), example: ["stdout"], doc: "where edge writes lines: stdout by default" },
} as const satisfies Rows;

/** Bits of addresses that are shown; the rest is zeros. */
const maskIp = block({
  v4: { type: integer(0, 32), default: 24, doc: "bits of an IPv4 address that edge shows" },
  v6: { type: integer(0, 128), default: 48, doc: "bits of an IPv6 address that edge shows" },
});

const exclude = block({
  paths: {
    type: list(textLike(/^\/[\x21-\x7e]*$/, "a path such as /health or /assets/*"), "paths"),
    example: ["/health", "/assets/*"],
    doc: "paths without a line: exact, or with * at the end",
  },
});

/** `server.access_log`. docs/operations.md#access-log */
export const accessLog = block(
  {
    ...routeRows,
    exclude: { type: exclude, doc: "requests without a line" },
    mask_ip: {
      type: maskIp,
      absent: null,
      doc: "cuts the last bits off client addresses: in logs, traces and on the dashboard",
    },
  },
  {
    check({ format: way, fields }, { path, log }) {
      if (way !== "json" && fields.length > 0)
        log.warn([...path, "fields"], "has no effect: only format: json has fields");
    },
  },
);

/** `access_log` at a route, over the server's. docs/guards.md#policies-at-a-route */
export const routeAccessLog = orOff(block(layerRows(routeRows)));

/** Resolved: one of `server.access_log.outputs`. */
export type LogOutputConfig = ConfigOf<typeof accessLog>["outputs"][number];

export type AccessLogConfig = ConfigOf<typeof accessLog>;
