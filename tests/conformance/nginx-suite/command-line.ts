/** What the suite may ask nginx's binary for. */
export interface CommandLine {
  readonly prefix: string;
  readonly config: string;
  readonly errorLog: string;
  readonly globals: string;
  readonly isTest: boolean;
  readonly isDump: boolean;
  readonly shows: "v" | "V" | null;
  readonly signal: NodeJS.Signals | null;
}

const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = {
  quit: "SIGQUIT",
  stop: "SIGTERM",
  reload: "SIGHUP",
  reopen: "SIGUSR1",
};

/** Reads nginx's command line. */
export function startCommandLine(args: readonly string[]): CommandLine {
  const wordAfter = (flag: string): string | undefined => {
    const at = args.lastIndexOf(flag);
    return at === -1 ? undefined : args[at + 1];
  };
  const signal = wordAfter("-s");
  return {
    prefix: wordAfter("-p") ?? ".",
    config: wordAfter("-c") ?? "conf/nginx.conf",
    errorLog: wordAfter("-e") ?? "error.log",
    globals: wordAfter("-g") ?? "",
    isTest: args.includes("-t") || args.includes("-T"),
    isDump: args.includes("-T"),
    shows: args.includes("-V") ? "V" : args.includes("-v") ? "v" : null,
    signal: signal === undefined ? null : (SIGNALS[signal] ?? null),
  };
}

/** Modules of nginx that edge has something for; the suite leaves out the tests of all others. */
const WITH: readonly string[] = [
  "--with-http_ssl_module",
  "--with-http_v2_module",
  "--with-http_v3_module",
  "--with-http_realip_module",
  "--with-http_auth_request_module",
  "--with-http_gzip_static_module",
  "--with-stream",
  "--with-stream_ssl_module",
  "--with-stream_ssl_preread_module",
  "--with-stream_realip_module",
];

/** Modules that nginx has without a word, and edge has nothing for. */
export const WITHOUT: readonly string[] = [
  "--without-http_ssi_module",
  "--without-http_userid_module",
  "--without-http_uwsgi_module",
  "--without-http_scgi_module",
  "--without-http_memcached_module",
  "--without-http_empty_gif_module",
  "--without-http_browser_module",
  "--without-http_tunnel_module",
];

const SUITE_VERSION = "nginx version: nginx/1.31.4 (edge)\n";

/** What `-v` and `-V` print. */
export const VERSION_TEXT = {
  v: SUITE_VERSION,
  V: `${SUITE_VERSION}built with OpenSSL 1.1.1 (compatible; BoringSSL)\nTLS SNI support enabled\nconfigure arguments: ${[...WITH, ...WITHOUT].join(" ")}\n`,
} as const;
