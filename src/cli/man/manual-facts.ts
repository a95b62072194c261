// What edge(1) says beside the commands: what belongs to the process as a whole, and not to a flag.
import { SYSTEM_CONFIG } from "../../config/config-file.ts";

type Fact = readonly [term: string, text: string];

/** docs/configuration.md#files */
export const FILES: readonly Fact[] = [
  [
    "config.yaml",
    "The configuration, in the working folder; edge help config shows every key, as edge-config(5) does.",
  ],
  [SYSTEM_CONFIG, "The configuration, if the working folder has none."],
  ["routes.yaml", "The routes, beside the configuration; edge help routes shows every key, as edge-routes(5) does."],
];

/** docs/security.md#environment, docs/tools.md#a-running-gateway */
export const ENVIRONMENT: readonly Fact[] = [
  ["EDGE_TOKEN", "The token with which commands ask a running gateway."],
  ["LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES", "Listening sockets of the service manager: sd_listen_fds(3)."],
  [
    "NOTIFY_SOCKET",
    "Socket on which the gateway tells the service manager that it serves, reloads or ends: sd_notify(3).",
  ],
  ["NO_COLOR, TERM", "Set, or dumb: texts for people have no colors."],
  ["SOURCE_DATE_EPOCH", "The date of the pages of edge man, in seconds since 1970."],
  ["SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS", "More authorities, if you set no ca_file."],
  [
    "HTTP_PROXY, HTTPS_PROXY, NO_PROXY",
    "The proxy by which services on other machines are asked: for keys, sign-ins, lists, certificates and settings. Not for origins.",
  ],
  ["TMPDIR", "The folder of bodies that are too large for memory."],
  [
    "BUN_*",
    "The runtime reads these before the gateway, and some of them make it run other code: unset them; edge check names the ones in use.",
  ],
  ["any other name", "What ${NAME} and ${NAME:-default} in the two files say."],
];

/** Of `edge serve`. docs/operations.md */
export const MANUAL_SIGNALS: readonly Fact[] = [
  ["SIGTERM, SIGINT", "Drain, then end; a second one ends the gateway at once, with 1."],
  ["SIGHUP", "Read both files and the certificates again. If they are faulty, nothing changes."],
  ["SIGUSR1", "Open the files of the access log anew."],
  ["SIGUSR2", "Start the binary that is now at the same path, hand the connections over, and end."],
];

/** docs/tools.md */
export const EXIT_STATUS: readonly Fact[] = [
  ["0", "Done, PASS."],
  ["1", "Failure, FAIL."],
  ["2", "Wrong usage."],
  ["3", "Of serve: connections were closed before they were done."],
  ["130", "Interrupted; reports hold the measurements so far."],
];

export const EXAMPLES: readonly Fact[] = [
  ["Write two commented files and a first page, then serve it on loopback:", "edge init && edge serve"],
  ["Find every mistake, and show the configuration in force:", "edge check --print"],
  ["Ask what would become of a request, and why:", "edge explain 'GET https://shop.example.com/a/b'"],
  ["Take over changed files:", "edge reload"],
  ["Look at a running gateway:", "edge status --socket /run/edge/edge.sock"],
];
