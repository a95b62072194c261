import { upstreamRoutes } from "../config/route-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { Environment } from "../config/variable-expansion.ts";
import { canSpool } from "../features/ingest/spool-file.ts";
import type { CertificateSet } from "../message/server-certificate.ts";
import { descriptorLimit } from "./descriptor-watch.ts";
import { runtimeVariables } from "./runtime-variables.ts";

/** What whoever reads the log should know of a start: each becomes a `start` event. */
export function startNotes(
  config: RuntimeConfig,
  usingDefaults: boolean,
  env: Environment,
): Readonly<Record<string, string>>[] {
  const notes: Record<string, string>[] = runtimeVariables(env).map(({ name, note }) => ({ variable: name, note }));
  if (usingDefaults) notes.push({ note: "no config.yaml found: embedded defaults, loopback only" });
  const { maxConnections } = config.server;
  const descriptors = descriptorLimit();
  if (maxConnections >= descriptors) {
    const limit = `the limit of open files (RLIMIT_NOFILE) is ${descriptors}`;
    notes.push({ note: `server.max_connections is ${maxConnections}, but ${limit}: fewer connections are served` });
  }
  const { enabled: isSidecar } = config.sidecar;
  const normalizes = upstreamRoutes(config.routes).some((route) => route.inboundChunkedMode === "normalize");
  if ((normalizes || isSidecar) && !canSpool()) {
    const bodies = isSidecar ? "request bodies" : "chunked request bodies";
    notes.push({ note: `no temporary folder (TMPDIR, /tmp) can be written: ${bodies} over 1 MiB get 503` });
  }
  return notes;
}

/**
 * What HTTP/3 does not do with certificates: the runtime's QUIC has one for a name, and does not look at what a client can
 * check before it shows it.
 */
export function quicNotes({ server }: RuntimeConfig, set: CertificateSet | undefined): { readonly note: string }[] {
  if (!server.http3.enabled || set === undefined) return [];
  return set.certificates.flatMap((one, index) => {
    const first = set.certificates.slice(0, index).find(({ names }) => names.some((name) => one.names.includes(name)));
    if (first === undefined) return [];
    return [
      {
        note: `HTTP/3 shows ${first.id} only, never ${one.id}, which is for the same name: it cannot choose by client`,
      },
    ];
  });
}
