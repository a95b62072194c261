import type * as v from "valibot";
import { FOREIGN_SERVER_KEYS } from "./foreign-names.ts";
import { exactPath, method, pathPrefix } from "./http-syntax.ts";
import { type Entries, list, must, or, orElse, pairs, section } from "./piece.ts";
import { upstreamTls } from "./route-schema.ts";
import {
  cidr,
  duration,
  flag,
  integer,
  percent,
  port,
  size,
  sizeOrAuto,
  sizeOrDefault,
  text,
  textLike,
  textOrNumber,
  word,
} from "./scalars.ts";
import { chunkedMode, serverEntries } from "./server-schema.ts";

/** The defaults of spec, "Limits". */
const SIDECAR_BODY_BYTES = 10_485_760;
const TRANSCODER_BODY_BYTES = 4_194_304;
const PROXY_TEST_RESPONSE_BYTES = 1_048_576;

/** Judged by isIP where it is resolved. */
const NAME_SERVER = /^(\d+\.\d+\.\d+\.\d+(:\d{1,5})?|\[[0-9a-fA-F:.]+\](:\d{1,5})?|[0-9a-fA-F:.]*::?[0-9a-fA-F:.]*)$/;

const transportEntries = {
  profile: or(word("default", "low_latency", "high_throughput"), "default"),
  // `null` takes the profile's number.
  max_idle_conns: orElse(integer(0, 1_000_000), null),
  idle_conn_timeout: orElse(duration(1), null),
  connect_timeout: orElse(duration(1), null),
  response_header_timeout: orElse(duration(1), null),
  max_response_fields: or(integer(1, 10_000), 256),
  inbound_chunked_mode: chunkedMode,
  max_buffered_bytes: or(size(16_384, 1_099_511_627_776), "256MiB"),
  max_buffered_share: or(percent(), "12.5%"),
  max_spooled_bytes: or(sizeOrAuto(16_384, 1_099_511_627_776), "auto"),
  nameservers: list(
    textLike(NAME_SERVER, "an address with or without a port such as 10.0.0.2 or [::1]:5353"),
    "addresses",
  ),
} satisfies Entries;

const proxyEntries = {
  enabled: or(flag(), true),
  transport: section(transportEntries),
} satisfies Entries;

const sidecarEntries = {
  enabled: or(flag(), false),
  mode: or(word("ingress", "egress", "dual"), "dual"),
  ingress_host: or(text("an address such as 0.0.0.0"), "0.0.0.0"),
  ingress_port: or(port(0), 15_006),
  egress_host: or(text("an address such as 127.0.0.1"), "127.0.0.1"),
  egress_port: or(port(0), 15_001),
  app_port: or(port(1), 8080),
  max_body_bytes: or(sizeOrDefault(SIDECAR_BODY_BYTES), SIDECAR_BODY_BYTES),
  strict_mtls: or(flag(), false),
  cert_file: or(text("a file name"), ""),
  key_file: or(text("a file name"), ""),
  ca_file: or(text("a file name"), ""),
  insecure_skip_verify: or(flag(), false),
  allowed_ids: list(textLike(/^spiffe:\/\/[^\s*]+\*?$/, "a SPIFFE id such as spiffe://mesh/ns/shop/*"), "SPIFFE ids"),
  traffic_splits: list(
    section({
      prefix: must(pathPrefix(), "the path prefix that is split, such as /api"),
      backends: must(
        list(
          section({
            target: must(text("a server address"), "the address of a server, such as http://10.0.0.5:8080"),
            weight: or(integer(0, 1_000_000_000), 1),
          }),
          "backends",
        ),
        'a list of backends, such as [{target: "http://10.0.0.5:8080", weight: 9}]',
      ),
    }),
    "splits",
  ),
} satisfies Entries;

const GRPC_METHOD = /^\/[A-Za-z_][\w.]*\/[A-Za-z_]\w*$/;

const transcoderEntries = {
  enabled: or(flag(), false),
  max_body_bytes: or(sizeOrDefault(TRANSCODER_BODY_BYTES), TRANSCODER_BODY_BYTES),
  descriptor_set: or(text("a file name"), ""),
  upstream_url: or(text("a server address"), ""),
  auto: or(flag(), false),
  timeout: or(duration(1), "30s"),
  tls: upstreamTls,
  routes: list(
    section({
      http_method: must(method(), "the HTTP method, such as GET"),
      http_path: must(exactPath(), "the HTTP path, such as /v1/users/:id"),
      grpc_method: must(
        textLike(GRPC_METHOD, "a gRPC method such as /shop.Users/GetUser"),
        "the gRPC method, such as /shop.Users/GetUser",
      ),
      upstream_url: must(text("a server address"), "the address of the gRPC server, such as http://127.0.0.1:50051"),
      field_mappings: pairs(textLike(/^[A-Za-z_][\w.]*$/, "the name of a request field"), "parameter: field"),
      descriptor_set: or(text("a file name"), ""),
      timeout: orElse(duration(1), null),
    }),
    "routes",
  ),
} satisfies Entries;

const internalApiEntries = {
  allow: list(cidr(), "networks"),
  hosts: list(text("a host name"), "host names", true),
  token: or(text("the token", true), ""),
  listen: or(textOrNumber("host:port"), ""),
  max_proxy_test_response_bytes: or(sizeOrDefault(PROXY_TEST_RESPONSE_BYTES), PROXY_TEST_RESPONSE_BYTES),
} satisfies Entries;

const topNames = ["server", "proxy", "sidecar", "transcoder", "internal_api"];

/** config.yaml as a whole. Decisions §1 "Places". */
export const configSchema = section(
  {
    server: section(
      serverEntries,
      {},
      new Map([...FOREIGN_SERVER_KEYS, ...pointer(topNames, "belongs at the top of the file, beside server")]),
    ),
    proxy: section(
      proxyEntries,
      {},
      pointer(Object.keys(transportEntries), "belongs one level down: write proxy.transport."),
    ),
    sidecar: section(sidecarEntries),
    transcoder: section(transcoderEntries),
    internal_api: section(internalApiEntries),
  },
  {},
  new Map([
    ...pointer(Object.keys(serverEntries), "belongs one level down: write server."),
    ["routes", "belong in a file of their own, routes.yaml"],
  ]),
);

/** Cures for keys that are right in themselves but stand in the wrong section. */
function pointer(names: readonly string[], cure: string): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [name, cure.endsWith(".") ? cure + name : cure]));
}

/** config.yaml, and its sections, as the schema gives them. */
export type ConfigValues = v.InferOutput<typeof configSchema>;
export type ProxyValues = ConfigValues["proxy"];
export type SidecarValues = ConfigValues["sidecar"];
export type TranscoderValues = ConfigValues["transcoder"];
export type InternalApiValues = ConfigValues["internal_api"];
