import { stringify } from "yaml";
import { MASK, withoutCredentials } from "../core/secret-name.ts";
import { formatDuration } from "./duration.ts";
import type { SidecarConfig, TranscoderConfig } from "./mesh-config.ts";
import { listNetworks, listRoute, listUpstreamTls } from "./route-listing.ts";
import type { RuntimeConfig, ServerConfig } from "./runtime-config.ts";
import { rateLimit as rateLimitBlock } from "./server-schema.ts";
import { formatSize } from "./size.ts";

/**
 * Writes the effective configuration as YAML, every default filled in: what `config.yaml` and `routes.yaml` would have
 * to say, one document each. Secrets are shown as `***`; without any, the text reads back as the same configuration.
 * Decisions §1 "Commands" (`--print`).
 */
export function listConfig(config: RuntimeConfig): string {
  const { server, proxy, internalApi } = config;
  const main = {
    server: listServer(server),
    proxy: {
      enabled: proxy.enabled,
      transport: {
        profile: proxy.transport.profile,
        max_idle_conns: proxy.transport.maxIdleConns,
        idle_conn_timeout: formatDuration(proxy.transport.idleConnTimeoutMs),
        connect_timeout: formatDuration(proxy.transport.connectTimeoutMs),
        response_header_timeout: formatDuration(proxy.transport.responseHeaderTimeoutMs),
        max_response_fields: proxy.transport.maxResponseFields,
        inbound_chunked_mode: proxy.transport.inboundChunkedMode,
        max_buffered_bytes: formatSize(proxy.transport.maxBufferedBytes),
        max_buffered_share: `${proxy.transport.maxBufferedShare * 100}%`,
        max_spooled_bytes: proxy.transport.maxSpooledBytes === 0 ? "auto" : formatSize(proxy.transport.maxSpooledBytes),
        nameservers: proxy.transport.nameservers,
      },
    },
    sidecar: listSidecar(config.sidecar),
    transcoder: listTranscoder(config.transcoder),
    internal_api: {
      // The first two are loopback, which is always allowed.
      allow: listNetworks(internalApi.allow).slice(2),
      hosts: internalApi.hosts,
      token: masked(internalApi.token),
      listen: internalApi.listenPort < 0 ? "" : listenText(internalApi.listenHost, internalApi.listenPort),
      max_proxy_test_response_bytes: formatSize(internalApi.maxProxyTestResponseBytes),
    },
  };
  const routes = { routes: config.routes.map(listRoute) };
  return `# config.yaml\n${stringify(main, STYLE)}---\n# routes.yaml\n${stringify(routes, STYLE)}`;
}

function listServer(server: ServerConfig): object {
  return {
    host: server.host,
    port: server.port < 0 ? "off" : server.port,
    workers: server.workers === 0 ? "auto" : server.workers,
    header_timeout: formatDuration(server.headerTimeoutMs),
    read_timeout: formatDuration(server.readTimeoutMs),
    min_body_rate: server.minBodyRate,
    write_timeout: formatDuration(server.writeTimeoutMs),
    idle_timeout: formatDuration(server.idleTimeoutMs),
    half_close_grace: server.halfCloseGraceMs < 0 ? "serve" : formatDuration(server.halfCloseGraceMs),
    shutdown_timeout: formatDuration(server.shutdownTimeoutMs),
    drain_delay: formatDuration(server.drainDelayMs),
    max_header_bytes: formatSize(server.maxHeaderBytes),
    max_header_fields: server.maxHeaderFields,
    max_body_bytes: formatSize(server.maxBodyBytes),
    max_connections: server.maxConnections === 0 ? "auto" : server.maxConnections,
    max_connections_per_ip: server.maxConnectionsPerIp,
    max_unsent_bytes: formatSize(server.maxUnsentBytes),
    inbound_chunked_mode: server.inboundChunkedMode,
    request_trailers: server.requestTrailers,
    trusted_proxies: listNetworks(server.trustedProxies),
    ip_rules: { allow: listNetworks(server.ipRules.allow), deny: listNetworks(server.ipRules.deny) },
    ...listTransportSecurity(server),
    http2: {
      enabled: server.http2.enabled,
      max_concurrent_streams: server.http2.maxConcurrentStreams,
      max_header_list_bytes: formatSize(server.http2.maxHeaderListBytes),
      unknown_pseudo_headers: server.http2.unknownPseudoHeaders,
      extended_connect: server.http2.extendedConnect,
    },
    proxy_protocol: { enabled: server.proxyProtocol.enabled, trusted: listNetworks(server.proxyProtocol.trusted) },
    ...listPolicies(server),
    access_log: server.accessLog,
  };
}

function listTransportSecurity({ tls, http3, acme }: ServerConfig): object {
  return {
    tls: {
      enabled: tls.enabled,
      port: tls.port,
      certificates: tls.certificates.map((one) => ({ cert_file: one.certFile, key_file: one.keyFile })),
      min_version: tls.minVersion,
      client_auth: tls.clientAuth,
      client_ca_file: tls.clientCaFile,
      redirect_http: tls.redirectHttp,
      redirect_port: tls.redirectPort,
    },
    http3,
    acme: {
      enabled: acme.enabled,
      directory_url: withoutCredentials(acme.directoryUrl),
      email: acme.email,
      domains: acme.domains,
      cache_dir: acme.cacheDir,
      challenge_type: acme.challengeType,
      ca_file: acme.caFile,
      eab: { kid: acme.eabKid, hmac_key: masked(acme.eabHmacKey) },
    },
  };
}

function listPolicies({ waf, cache, cors, securityHeaders, rateLimit }: ServerConfig): object {
  return {
    waf: {
      enabled: waf.enabled,
      mode: waf.mode,
      anomaly_threshold: waf.anomalyThreshold,
      max_inspect_body_size: formatSize(waf.maxInspectBodyBytes),
      over_limit: waf.overLimit,
      disabled_rules: waf.disabledRules,
      allowed_ips: listNetworks(waf.allowedIps),
      exclusions: waf.exclusions.map((one) =>
        Object.fromEntries(Object.entries(one).filter(([, value]) => value !== "")),
      ),
    },
    cache: {
      enabled: cache.enabled,
      default_ttl: formatDuration(cache.defaultTtlMs),
      max_entries: cache.maxEntries,
      max_payload_size: formatSize(cache.maxPayloadBytes),
      max_bytes: formatSize(cache.maxBytes),
      cookies: cache.cookies,
    },
    cors: {
      enabled: cors.enabled,
      allowed_origins: cors.allowedOrigins,
      allowed_methods: cors.allowedMethods,
      allowed_headers: cors.allowedHeaders,
      exposed_headers: cors.exposedHeaders,
      allow_credentials: cors.allowCredentials,
      max_age: formatDuration(cors.maxAgeSeconds * 1000),
    },
    security_headers: {
      enabled: securityHeaders.enabled,
      frame_options: securityHeaders.frameOptions,
      referrer_policy: securityHeaders.referrerPolicy,
      hsts: securityHeaders.hsts,
    },
    rate_limit: rateLimitBlock.write(rateLimit),
  };
}

function listSidecar(sidecar: SidecarConfig): object {
  return {
    enabled: sidecar.enabled,
    mode: sidecar.mode,
    ingress_host: sidecar.ingressHost,
    ingress_port: sidecar.ingressPort,
    egress_host: sidecar.egressHost,
    egress_port: sidecar.egressPort,
    app_port: sidecar.appPort,
    max_body_bytes: formatSize(sidecar.maxBodyBytes),
    strict_mtls: sidecar.strictMtls,
    cert_file: sidecar.certificate.certFile,
    key_file: sidecar.certificate.keyFile,
    ca_file: sidecar.caFile,
    insecure_skip_verify: sidecar.insecureSkipVerify,
    allowed_ids: sidecar.allowedIds,
    traffic_splits: sidecar.trafficSplits.map((split) => ({
      prefix: split.prefix,
      backends: split.backends.map((backend) => ({ target: backend.url, weight: backend.weight })),
    })),
  };
}

function listTranscoder(transcoder: TranscoderConfig): object {
  return {
    enabled: transcoder.enabled,
    max_body_bytes: formatSize(transcoder.maxBodyBytes),
    descriptor_set: transcoder.descriptorSet,
    auto: transcoder.auto,
    upstream_url: transcoder.upstreamUrl,
    tls: listUpstreamTls(transcoder.tls),
    // The file is written as it would be read: routes that the descriptor set asks for come of themselves.
    routes: transcoder.routes
      .filter((route) => !route.isAuto)
      .map((route) => ({
        http_method: route.httpMethod,
        http_path: route.httpPath,
        grpc_method: route.grpcMethod,
        upstream_url: route.upstream.originKey + route.upstream.basePath,
        field_mappings: Object.fromEntries(route.fieldMappings.map(({ param, field }) => [param, field])),
        descriptor_set: route.descriptorSet,
        timeout: formatDuration(route.timeoutMs),
      })),
  };
}

function listenText(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function masked(secret: string): string {
  return secret === "" ? "" : MASK;
}

const STYLE = { lineWidth: 0, aliasDuplicateObjects: false } as const;
