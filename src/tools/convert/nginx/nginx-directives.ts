import type { Statement } from "../statement.ts";

/** Directives of one kind. docs/migrate-nginx.md#what-needs-nothing */
interface DirectiveRow {
  /** Names, with spaces between them. */
  readonly names: string;
  /** The values for which nothing is needed; without it, all. Others are noted. */
  readonly values?: RegExp;
  /**
   * Values with which both gateways are compared (tests/conformance/converted-values.test.ts), as directives; those of a block `events`, of the
   * file's top or of an upstream are marked so. Without one, the directive is noted as not compared.
   */
  readonly compared?: readonly string[];
  /** What is different, for values that need more. */
  readonly why?: string;
  readonly cure?: string;
}

/** Directives that need nothing, for the values that are compared: the gateway does the same without a setting, or has no such part. */
export const STANDARD: readonly DirectiveRow[] = [
  { names: "events", compared: [] },
  {
    names: "worker_connections multi_accept use accept_mutex",
    compared: [
      "events: worker_connections 128",
      "events: multi_accept on",
      "events: use epoll",
      "events: accept_mutex on",
    ],
  },
  {
    names: "worker_rlimit_nofile worker_cpu_affinity thread_pool pcre_jit daemon master_process",
    compared: [
      "top: worker_rlimit_nofile 4096",
      "top: worker_cpu_affinity auto",
      "top: thread_pool own threads=2",
      "top: pcre_jit on",
      "top: master_process on",
    ],
  },
  { names: "http", compared: [] },
  {
    names: "sendfile sendfile_max_chunk tcp_nopush tcp_nodelay aio directio output_buffers postpone_output",
    compared: [
      "sendfile on",
      "sendfile_max_chunk 64k",
      "tcp_nopush on",
      "tcp_nodelay off",
      "aio threads",
      "directio 4k",
      "output_buffers 1 16k",
      "postpone_output 100",
    ],
  },
  {
    names: `types_hash_max_size types_hash_bucket_size server_names_hash_bucket_size server_names_hash_max_size variables_hash_max_size
      variables_hash_bucket_size map_hash_bucket_size map_hash_max_size proxy_headers_hash_max_size proxy_headers_hash_bucket_size`,
    compared: [
      "types_hash_max_size 4096",
      "types_hash_bucket_size 128",
      "server_names_hash_bucket_size 128",
      "server_names_hash_max_size 1024",
      "variables_hash_max_size 2048",
      "variables_hash_bucket_size 128",
      "map_hash_bucket_size 128",
      "map_hash_max_size 4096",
      "proxy_headers_hash_max_size 1024",
      "proxy_headers_hash_bucket_size 128",
    ],
  },
  { names: "server_tokens", values: /^(on|off)$/, compared: ["server_tokens off"] },
  {
    names: "open_file_cache open_file_cache_valid open_file_cache_min_uses open_file_cache_errors",
    compared: [
      "open_file_cache max=100 inactive=20s",
      "open_file_cache_valid 10s",
      "open_file_cache_min_uses 2",
      "open_file_cache_errors on",
    ],
  },
  {
    names: "reset_timedout_connection lingering_close lingering_time lingering_timeout keepalive_disable",
    compared: [
      "reset_timedout_connection on",
      "lingering_close always",
      "lingering_time 10s",
      "lingering_timeout 2s",
      "keepalive_disable none",
    ],
  },
  {
    names: `proxy_buffering proxy_request_buffering proxy_buffers proxy_buffer_size proxy_busy_buffers_size proxy_max_temp_file_size
      proxy_temp_file_write_size proxy_socket_keepalive proxy_temp_path uwsgi_temp_path scgi_temp_path fastcgi_temp_path client_body_temp_path`,
    compared: [
      "proxy_buffering off",
      "proxy_request_buffering off",
      "proxy_buffers 4 16k",
      "proxy_buffer_size 8k",
      "proxy_busy_buffers_size 16k",
      "proxy_max_temp_file_size 0",
      "proxy_temp_file_write_size 32k",
      "proxy_socket_keepalive on",
      "proxy_temp_path FOLDER/t2 1 2",
      "uwsgi_temp_path FOLDER/t4",
      "scgi_temp_path FOLDER/t5",
      "fastcgi_temp_path FOLDER/t3",
      "client_body_temp_path FOLDER/t1 1",
    ],
  },
  {
    names:
      "client_body_buffer_size client_header_buffer_size request_pool_size connection_pool_size client_body_in_single_buffer",
    compared: [
      "client_body_buffer_size 32k",
      "client_header_buffer_size 2k",
      "request_pool_size 8k",
      "connection_pool_size 512",
      "client_body_in_single_buffer on",
    ],
  },
  {
    names: "log_not_found log_subrequest limit_req_log_level limit_conn_log_level",
    compared: ["log_not_found off", "log_subrequest on", "limit_req_log_level info", "limit_conn_log_level info"],
  },
  {
    names: "zone keepalive",
    compared: ["upstream: zone own 64k", "upstream: keepalive 8"],
  },
  {
    names: "proxy_http_version",
    values: /^1\.1$/,
    compared: ["proxy_http_version 1.1"],
    why: "edge speaks HTTP/1.1 to origins, or the protocol of the target's scheme",
    cure: "write h2c:// or h2:// as the scheme of the target for HTTP/2",
  },
  {
    names: "gzip_vary",
    values: /^on$/,
    compared: ["gzip_vary on"],
    why: "Vary: Accept-Encoding goes with every response that compression could change",
    cure: "nothing",
  },
  { names: "gzip_buffers", compared: ["gzip_buffers 8 16k"] },
  {
    names: "gzip_http_version",
    values: /^1\.0$/,
    compared: ["gzip_http_version 1.0"],
    why: "compression goes by Accept-Encoding, whatever the version of HTTP",
    cure: "nothing",
  },
  {
    names: "gzip_proxied",
    values: /^any$/,
    compared: ["gzip_proxied any"],
    why: "compression goes by Accept-Encoding, also behind another proxy",
    cure: "see server.compression",
  },
  {
    names: "gzip_static brotli_static",
    values: /^on$/,
    compared: ["gzip_static on"],
    why: "files with .br, .zst or .gz beside a file are sent to clients that take them",
    cure: "keep such files away if you do not want that: docs/files.md",
  },
  {
    names: "gunzip",
    values: /^off$/,
    compared: ["gunzip off"],
    why: "a compressed response of an origin goes on unchanged",
    cure: "let the origin go by Accept-Encoding",
  },
  {
    names: "etag",
    values: /^on$/,
    compared: ["etag on"],
    why: "files always have an ETag",
    cure: "set headers.response.remove: [ETag]",
  },
  {
    names: "if_modified_since",
    values: /^before$/,
    compared: ["if_modified_since before"],
    why: "conditions are those of RFC 9110: a file that has not changed since is 304",
    cure: "nothing",
  },
  {
    names: "max_ranges",
    values: /^1$/,
    compared: ["max_ranges 1"],
    why: "edge sends one range of a file, and the whole file for several",
    cure: "nothing",
  },
  {
    names: "merge_slashes",
    values: /^on$/,
    compared: ["merge_slashes on"],
    why: "routes are always found by the path with its slashes merged",
    cure: "see docs/security.md#paths-and-hosts",
  },
  {
    names: "recursive_error_pages",
    values: /^off$/,
    compared: ["recursive_error_pages off"],
    why: "pages of errors are files",
    cure: "see errors: docs/pages.md",
  },
  {
    names: "chunked_transfer_encoding",
    values: /^on$/,
    compared: ["chunked_transfer_encoding on"],
    why: "responses without a length are chunked",
    cure: "nothing",
  },
  {
    names: "ignore_invalid_headers",
    values: /^on$/,
    compared: ["ignore_invalid_headers on"],
    why: "requests with names of fields that are none are refused",
    cure: "let clients send names in order",
  },
  {
    names: "client_body_in_file_only",
    values: /^off$/,
    compared: ["client_body_in_file_only off"],
    why: "bodies of requests are not written to files",
    cure: "let the application keep them",
  },
  { names: "autoindex", values: /^off$/, compared: ["autoindex off"] },
  {
    names: "ssi sub_filter_last_modified",
    values: /^off$/,
    compared: ["ssi off"],
  },
  { names: "proxy_redirect proxy_store", values: /^off$/, compared: ["proxy_redirect off", "proxy_store off"] },
  {
    names: "proxy_intercept_errors fastcgi_intercept_errors",
    values: /^off$/,
    compared: ["proxy_intercept_errors off", "fastcgi_intercept_errors off"],
  },
  {
    names: "proxy_pass_request_headers proxy_pass_request_body",
    values: /^on$/,
    compared: ["proxy_pass_request_headers on", "proxy_pass_request_body on"],
  },
  {
    names: "uwsgi_pass_request_headers uwsgi_pass_request_body scgi_pass_request_headers scgi_pass_request_body",
    values: /^on$/,
    compared: [
      "uwsgi_pass_request_headers on",
      "uwsgi_pass_request_body on",
      "scgi_pass_request_headers on",
      "scgi_pass_request_body on",
    ],
  },
  {
    names: "uwsgi_buffering uwsgi_request_buffering scgi_buffering scgi_request_buffering",
    compared: ["uwsgi_buffering off", "uwsgi_request_buffering on", "scgi_buffering off", "scgi_request_buffering on"],
  },
  { names: "disable_symlinks", values: /^off$/, compared: ["disable_symlinks off"] },
];

/** Directives that no part of the converter knows, with nothing that a client gets by their absence. */
const NOTED = new Set(
  `worker_priority worker_shutdown_timeout user pid lock_file env error_log log_format load_module stream mail map geo split_clients set
  charset charset_types override_charset source_charset charset_map types default_type server_name_in_redirect absolute_redirect
  port_in_redirect gzip_disable keepalive_requests keepalive_time http2 http2_push_preload http3 http3_hq quic_gso quic_retry
  http2_max_concurrent_streams http2_recv_buffer_size http2_chunk_size http2_body_preread_size http2_idle_timeout http2_max_field_size
  http2_max_header_size http2_max_requests http2_recv_timeout grpc_buffer_size grpc_socket_keepalive resolver_timeout underscores_in_headers
  ssl_prefer_server_ciphers ssl_session_cache ssl_session_timeout ssl_session_tickets ssl_session_ticket_key ssl_buffer_size
  ssl_early_data ssl_stapling ssl_stapling_verify ssl_stapling_file ssl_stapling_responder ssl_dhparam ssl_ecdh_curve ssl_ciphers ssl_conf_command
  ssl_password_file ssl_trusted_certificate ssl_verify_depth ssl_reject_handshake ssl_crl ssl_ocsp ssl_ocsp_cache ssl_ocsp_responder ssl
  proxy_cache_lock proxy_cache_lock_timeout proxy_cache_lock_age proxy_cache_revalidate proxy_cache_min_uses proxy_cache_background_update
  proxy_cache_convert_head proxy_cache_methods proxy_cache_path proxy_cache_key proxy_cache_valid proxy_cache_use_stale proxy_cache_bypass
  proxy_cache_max_range_offset proxy_no_cache proxy_ignore_headers proxy_pass_header proxy_limit_rate proxy_force_ranges
  proxy_ignore_client_abort proxy_cookie_domain proxy_cookie_path proxy_cookie_flags proxy_bind proxy_redirect proxy_store
  proxy_store_access proxy_next_upstream proxy_next_upstream_tries proxy_next_upstream_timeout proxy_send_timeout
  proxy_send_lowat proxy_ssl_ciphers proxy_ssl_protocols proxy_ssl_session_reuse proxy_ssl_verify_depth proxy_ssl_password_file
  grpc_ssl_ciphers grpc_ssl_protocols grpc_ssl_session_reuse grpc_ssl_verify_depth grpc_ssl_password_file grpc_ssl_conf_command grpc_ssl_crl
  proxy_ssl_conf_command proxy_ssl_crl proxy_ssl_certificate_cache grpc_send_timeout grpc_next_upstream grpc_next_upstream_tries grpc_next_upstream_timeout
  limit_rate limit_rate_after limit_req_zone limit_conn_zone limit_req_dry_run limit_conn_dry_run limit_zone
  secure_link secure_link_md5 secure_link_secret valid_referers referer_hash_max_size referer_hash_bucket_size
  userid userid_domain userid_expires userid_flags userid_mark userid_name userid_p3p userid_path userid_service
  autoindex autoindex_exact_size autoindex_format autoindex_localtime expires add_header add_trailer access_log add_before_body
  add_after_body addition_types sub_filter sub_filter_types sub_filter_once sub_filter_last_modified ssi_types ssi_silent_errors ssi_last_modified
  ssi_min_file_chunk ssi_value_length mirror mirror_request_body auth_delay auth_request_set auth_basic_user_file slice
  dav_access create_full_put_path min_delete_depth mp4_buffer_size mp4_max_buffer_size gzip_window gzip_hash gzip_no_buffer
  brotli_buffers brotli_window brotli_min_length zstd_min_length post_action read_ahead min_alignment directio_alignment
  rewrite_log uninitialized_variable_warn break http_index recursive subrequest_output_buffer_size msie_padding msie_refresh
  early_hints keepalive_min_timeout error_page log_format_combined open_log_file_cache max_headers
  geoip_country geoip_city geoip_org geoip_proxy geoip_proxy_recursive geoip2 geoip2_proxy js_import js_include js_path js_preload_object js_set
  js_var js_shared_dict_zone js_fetch_buffer_size js_fetch_timeout js_fetch_ciphers js_fetch_protocols js_fetch_trusted_certificate js_fetch_verify
  js_context_reuse js_engine perl_modules perl_require perl_set
  fastcgi_param fastcgi_index fastcgi_split_path_info fastcgi_buffering fastcgi_request_buffering fastcgi_buffers fastcgi_buffer_size
  fastcgi_busy_buffers_size fastcgi_send_timeout fastcgi_read_timeout fastcgi_connect_timeout fastcgi_keep_conn fastcgi_hide_header fastcgi_pass_header
  fastcgi_intercept_errors fastcgi_ignore_headers fastcgi_next_upstream fastcgi_next_upstream_tries fastcgi_next_upstream_timeout fastcgi_catch_stderr
  fastcgi_limit_rate fastcgi_max_temp_file_size fastcgi_temp_file_write_size fastcgi_socket_keepalive fastcgi_ignore_client_abort fastcgi_store
  fastcgi_cache fastcgi_cache_path fastcgi_cache_key fastcgi_cache_valid fastcgi_cache_use_stale fastcgi_cache_bypass fastcgi_cache_lock
  fastcgi_cache_lock_timeout fastcgi_cache_methods fastcgi_cache_min_uses fastcgi_cache_background_update fastcgi_cache_revalidate fastcgi_no_cache fastcgi_force_ranges`
    .split(/\s+/)
    .filter((word) => word !== ""),
);

/** Directives that other parts of the converter read. */
const READ = new Set(
  `server location upstream listen server_name if return rewrite limit_except internal root alias index try_files proxy_pass grpc_pass fastcgi_pass
  uwsgi_pass scgi_pass memcached_pass proxy_set_header grpc_set_header proxy_hide_header grpc_hide_header more_clear_headers proxy_connect_timeout
  proxy_read_timeout grpc_connect_timeout grpc_read_timeout client_max_body_size client_body_timeout client_header_timeout
  keepalive_timeout send_timeout large_client_header_buffers allow deny satisfy auth_basic auth_request limit_req limit_req_status
  limit_conn limit_conn_status gzip gzip_types gzip_comp_level gzip_min_length brotli brotli_types brotli_comp_level zstd zstd_types
  zstd_comp_level proxy_cache proxy_intercept_errors set_real_ip_from real_ip_header real_ip_recursive resolver worker_processes
  ssl_certificate ssl_certificate_key ssl_protocols ssl_client_certificate ssl_verify_client proxy_ssl_certificate proxy_ssl_certificate_key
  proxy_ssl_trusted_certificate proxy_ssl_verify proxy_ssl_name proxy_ssl_server_name grpc_ssl_certificate grpc_ssl_certificate_key
  grpc_ssl_trusted_certificate grpc_ssl_verify grpc_ssl_name grpc_ssl_server_name stub_status include auth_http`
    .split(/\s+/)
    .filter((word) => word !== ""),
);

/** Other names that decide nothing: settings of code, of which the code itself is closed. */
const DETAILS =
  /^((uwsgi|scgi|memcached)_(?!pass$)\w+|lua_\w+|init(_worker)?_by_lua\w*|exit_worker_by_lua\w*|log_by_lua\w*|set_by_lua\w*|geoip\w*|dav_(?!methods)\w+)$/;

const ROWS: ReadonlyMap<string, readonly DirectiveRow[]> = Map.groupBy(
  STANDARD.flatMap((row) => row.names.split(/\s+/).map((name) => ({ ...row, names: name }))),
  ({ names }) => names,
);

/** What is said of a directive by its name and value alone. */
interface DirectiveVerdict {
  /** Whether nothing is needed for this value. */
  readonly isStandard: boolean;
  /** Whether its absence could let in whom it keeps out, or send what it changes: its routes are closed. */
  readonly isClosing: boolean;
  /** The row of STANDARD, whatever the value. */
  readonly row: DirectiveRow | null;
}

/** THE verdict on a directive that no other part of the converter has judged. */
export function verdictOf({ name, args }: Statement): DirectiveVerdict {
  const rows = ROWS.get(name) ?? [];
  const value = args.join(" ");
  const row = rows[0] ?? null;
  if (rows.some(({ values }) => values === undefined || values.test(value)))
    return { isStandard: true, isClosing: false, row };
  // "off" is the change of those that pass requests on, and the default of all others.
  const isChange = args[0] !== "off" || name.includes("_pass_request_");
  if (CLOSING.has(name)) return { isStandard: false, isClosing: isChange, row };
  const isKnown = row !== null || NOTED.has(name) || READ.has(name) || DETAILS.test(name);
  return { isStandard: false, isClosing: !isKnown && args[0] !== "off", row };
}

/** Directives that change what is sent, or to whom. */
const CLOSING = new Set(
  `proxy_method proxy_set_body proxy_pass_request_headers proxy_pass_request_body grpc_pass_request_headers uwsgi_pass_request_headers uwsgi_pass_request_body
  scgi_pass_request_headers scgi_pass_request_body disable_symlinks xslt_stylesheet
  image_filter`
    .split(/\s+/)
    .filter((word) => word !== ""),
);
