import type { Environment } from "../config/variable-expansion.ts";
import { canSpool } from "../features/ingest/spool-file.ts";
import type { CertificateSet } from "../message/server-certificate.ts";
import { descriptorLimit } from "../net/descriptor-watch.ts";
import { upstreamRoutes } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";

/** Notes on a start for the log: each becomes a `start` event. */
export function startNotes(
  config: RuntimeConfig,
  usingDefaults: boolean,
  env: Environment,
): { readonly note: string }[] {
  const notes: { readonly note: string; readonly variable?: string }[] = runtimeVariables(env).map(
    ({ name, note }) => ({ variable: name, note }),
  );
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
        note: `HTTP/3 serves ${first.id} only, never ${one.id}, which is for the same name: it cannot choose by client`,
      },
    ];
  });
}

/** A variable of the environment that changes the runtime beneath the gateway. */
interface RuntimeVariable {
  readonly name: string;
  /** What it does, and the cure. */
  readonly note: string;
}

/**
 * The variables of an environment that the JavaScript runtime reads before the gateway's first line: what no setting of the
 * gateway can undo, so that it can only be told. Sorted by name. docs/security.md#environment
 */
export function runtimeVariables(env: Environment): RuntimeVariable[] {
  return Object.keys(env)
    .filter((name) => env[name] !== undefined && env[name] !== "" && PRINTABLE.test(name))
    .sort()
    .flatMap((name) => {
      const effect = effectOf(name);
      return effect === "" ? [] : [{ name, note: `${name} is set in the environment: ${effect}` }];
    });
}

/** "" for what is no concern. */
function effectOf(name: string): string {
  if (HARMLESS.has(name)) return "";
  return KNOWN.get(name) ?? (name.startsWith("BUN_") ? OTHERS : "");
}

const UNSET = "unset it for the gateway (UnsetEnvironment= in a unit file)";
const DEBUGGER = `it opens a debugger in the gateway, which can run any code; ${UNSET}`;
const OTHERS = `the runtime reads it before the gateway does; ${UNSET}`;

const KNOWN: ReadonlyMap<string, string> = new Map([
  ["BUN_BE_BUN", `it makes the binary the runtime's command line, which runs any script; ${UNSET}`],
  ["BUN_OPTIONS", `the runtime reads it as flags, which can run other code first; ${UNSET}`],
  ["BUN_INSPECT", DEBUGGER],
  ["BUN_INSPECT_CONNECT_TO", DEBUGGER],
  ["BUN_INSPECT_NOTIFY", DEBUGGER],
  ["BUN_INSPECT_PRELOAD", `it makes the runtime run other code first; ${UNSET}`],
  ["BUN_CONFIG_VERBOSE_FETCH", `the runtime may print requests with their credentials; ${UNSET}`],
  ["NODE_TLS_REJECT_UNAUTHORIZED", `the gateway verifies certificates all the same; ${UNSET}`],
]);

/** Common in shells, and without an effect on a compiled binary; the log of collections is what `edge loadgen` reads. */
const HARMLESS: ReadonlySet<string> = new Set(["BUN_INSTALL", "BUN_JSC_logGC"]);

const PRINTABLE = /^\w+$/;
