import { exactPath, method } from "../../config/http-syntax.ts";
import { list, pairs, type Spot } from "../../config/piece.ts";
import { block, type ConfigOf, type Fields, OFF, type Rows, type Values } from "../../config/row.ts";
import { duration, fileName, flag, sizeOrDefault, text, textLike } from "../../config/scalars.ts";
import { upstreamTls } from "../../config/upstream-tls.ts";
import type { TranscodedRouteConfig } from "./transcoded-route.ts";

/** What a route says; `TranscodedRouteConfig` is what becomes of it. */
const transcodedRoute = block({
  http_method: { type: method(), required: "the HTTP method, such as GET", example: "GET" },
  http_path: { type: exactPath(), required: "the HTTP path, such as /v1/users/:id", example: "/v1/users/:id" },
  grpc_method: {
    type: textLike(/^\/[A-Za-z_][\w.]*\/[A-Za-z_]\w*$/, "a gRPC method such as /shop.Users/GetUser"),
    required: "the gRPC method, such as /shop.Users/GetUser",
    example: "/shop.Users/GetUser",
  },
  upstream_url: {
    type: text("a server address"),
    required: "the address of the gRPC server, such as http://127.0.0.1:50051",
    example: "http://127.0.0.1:50051",
  },
  field_mappings: {
    type: pairs(textLike(/^[A-Za-z_][\w.]*$/, "the name of a request field"), "parameter: field"),
    example: { id: "user_id" },
    doc: "names of path parameters, each with its request field",
  },
  descriptor_set: {
    type: fileName(),
    default: "",
    example: "./users.binpb",
    doc: "the file that protoc writes with --descriptor_set_out",
  },
  timeout: { type: duration(1), absent: null, example: "5s", doc: "in place of transcoder.timeout" },
});

/** As `refresh` has it where the file says nothing. */
const REFRESH_MS = 60_000;

/** Which of the methods with `google.api.http` options are served. */
const auto = block(
  {
    enabled: { type: flag(), default: true, doc: "false: rules in descriptor sets make no routes" },
    services: {
      type: list(text("the name of a service"), "names of services"),
      example: ["shop.Shop"],
      doc: "services, or packages such as shop.*, that get routes; all by default",
    },
    exclude: {
      type: list(text("the name of a service or method"), "names"),
      example: ["shop.Shop/Delete"],
      doc: "services, packages and methods without routes",
    },
    refresh: {
      type: duration(1),
      default: "60s",
      doc: "without descriptor_set: how often edge asks the upstream again",
    },
  },
  {
    absent: OFF,
    isSwitch: true,
    list: ({ enabled, services, exclude, refreshMs }, lines) =>
      enabled && (services.length + exclude.length > 0 || refreshMs !== REFRESH_MS) ? lines : { enabled },
  },
);

/** How messages are written as JSON, and read. docs/transcoder.md#json */
const json = block({
  emit_defaults: { type: flag(), default: false, doc: "true: edge writes fields with their default value too" },
  proto_names: { type: flag(), default: false, doc: "true: user_id in place of userId" },
  enum_numbers: { type: flag(), default: false, doc: "true: edge writes enums as numbers" },
  ignore_unknown: {
    type: flag(),
    default: false,
    doc: "true: edge ignores members of a body that the message does not have",
  },
});

/** docs/transcoder.md#json */
export type TranscoderJson = ConfigOf<typeof json>;

const BODY_LIMIT = "4MiB";
const transcoderRows = {
  enabled: { type: flag(), default: false, doc: "true: edge transcodes JSON to gRPC" },
  max_body_bytes: {
    type: sizeOrDefault(BODY_LIMIT),
    default: BODY_LIMIT,
    doc: "largest request body, a larger one gets 413",
  },
  descriptor_set: {
    type: fileName(),
    default: "",
    example: "./shop.binpb",
    doc: 'the file of "protoc --include_imports --descriptor_set_out"; without it edge uses reflection',
  },
  upstream_url: {
    type: text("a server address"),
    default: "",
    example: "http://127.0.0.1:50051",
    doc: 'the gRPC server of the "auto" routes',
  },
  auto: { type: auto, doc: "true takes the routes from google.api.http options" },
  http_rules: {
    type: list(fileName(), "files"),
    example: ["./shop_http.yaml"],
    doc: "gRPC API service configurations, whose http.rules replace the options",
  },
  json: { type: json, doc: "how JSON is read and written" },
  timeout: { type: duration(1), default: "30s", doc: "time for a call; then 504" },
  tls: { type: upstreamTls, doc: 'for https upstreams; the keys of "tls" at a route' },
  routes: { type: list(transcodedRoute, "routes"), field: "", doc: "calls by method and path" },
} as const satisfies Rows;

/** REST in front of gRPC. docs/transcoder.md */
export const transcoder = block(transcoderRows, {
  finish: finishTranscoder,
  // The file is written as it would be read: routes that the descriptor set asks for come of themselves.
  list: ({ routes }, lines) => ({ ...lines, routes: routes.filter(({ isAuto }) => !isAuto).map(listRoute) }),
});

/**
 * What reads descriptors is loaded only if there are routes: the library for it takes 30 ms and 6 MB in each thread,
 * which a gateway without gRPC shall not pay.
 */
function finishTranscoder(
  _: Fields<typeof transcoderRows>,
  values: Values<typeof transcoderRows>,
  { log, files }: Spot,
) {
  if (values.routes.length === 0 && !values.auto.enabled && values.descriptor_set === "")
    return { descriptorSet: "", routes: [], descriptorSets: [], reflected: null, isPending: false };
  const { resolveTranscodedRoutes } =
    require("./transcoder-resolution.ts") as typeof import("./transcoder-resolution.ts");
  return resolveTranscodedRoutes(values, log, files);
}

function listRoute(route: TranscodedRouteConfig): object {
  return transcodedRoute.write({
    ...route,
    upstreamUrl: route.upstream.originKey + route.upstream.basePath,
    fieldMappings: route.fieldMappings.map(({ param, field }) => [param, field]),
  });
}
