/** What people learn of an error that keeps a command from its work. */
export interface ErrorGuide {
  /** The cause. */
  readonly cause: string;
  /** What to do about it. */
  readonly cure: string;
  /** Where it is explained: a page of docs, with a heading if it has one. */
  readonly page: string;
}

/** Errors of the commands by the name that `edge help NAME` takes: docs/errors.md is made of these rows. */
export const ERROR_GUIDE = {
  "port-in-use": {
    cause: "Another process listens at this address and port; it may be another edge.",
    cure: "Run `ss -ltnp` (`ss -lunp` for HTTP/3) to find it. Stop it, or choose another port: `server.port`, `server.tls.port`, `server.http3.port`, `internal_api.listen`.",
    page: "operations.md#replacing-the-binary",
  },
  "port-privilege": {
    cause: "Your user may not listen at ports below 1024.",
    cure: "Use the systemd unit, which grants CAP_NET_BIND_SERVICE. Or run `setcap cap_net_bind_service=+ep` on your binary, or choose a higher port. If you use SELinux, check its rules: it refuses with the same code.",
    page: "install.md",
  },
  "unknown-host": {
    cause: "The listen address is a host name that does not resolve.",
    cure: "Write an address: `0.0.0.0` for all of IPv4, `::` for IPv6 and IPv4, `127.0.0.1` for this machine alone.",
    page: "configuration.md#values",
  },
  "no-such-address": {
    cause: "This machine has no network interface with the address at which the gateway is to listen.",
    cure: "Run `ip address` to see your addresses. If yours comes later, set `net.ipv4.ip_nonlocal_bind`.",
    page: "configuration.md#values",
  },
  "cannot-listen": {
    cause: "The system refuses the listening socket, for the reason in the message.",
    cure: "Look that reason up in errno(3). With EMFILE or ENFILE, raise your limit of open files. With EAFNOSUPPORT, your machine has no IPv6.",
    page: "configuration.md#values",
  },
  "socket-path": {
    cause:
      "The UNIX socket of `internal_api.socket` cannot be made: another process listens there, a file is there, or the folder may not be written.",
    cure: "Choose a path in a folder that the gateway's user may write, such as `/run/edge/internal.sock`.",
    page: "endpoints.md#the-unix-socket",
  },
  "start-failed": {
    cause:
      "The gateway, or one of its workers, could not start with this configuration, for the reason in the message.",
    cure: "Run `edge check`: it reports most problems of a start. If it reports none, please file a bug with your message.",
    page: "operations.md#workers",
  },
  "configuration-file": {
    cause: "A file is not there, may not be read, is empty, was cut off, or is not YAML.",
    cure: "Fix the file that the message names, for YAML with line and column. If you have no files yet, run `edge init`; if yours are elsewhere, name them with `--config` and `--routes`.",
    page: "configuration.md#files",
  },
  "remote-configuration": {
    cause:
      "The configuration at the URL of `--config` could not be fetched, verified or used, and no good one is kept on disk.",
    cure: "Fix the cause in the message: your address, its certificate, the signature, or a mistake in the file. After a first good read, edge keeps the last good one for you.",
    page: "fleet.md#configuration-from-afar",
  },
  "failed-test": {
    cause: "A route test failed: the gateway would handle the request differently.",
    cure: "Run `edge explain` with the same request to see why. Fix your route or your expectation.",
    page: "explain.md#tests",
  },
  "module-fault": {
    cause: "A module of a function, hook or schedule cannot be loaded, or does not export what its use needs.",
    cure: "Fix your module at the file, line and column in the message. `edge new function` writes you a correct module; `edge dev` shows faults at each save.",
    page: "functions.md#edge-check",
  },
  "gateway-not-found": {
    cause: "No gateway answers at this address: it is not running, listens elsewhere, or does not let this user in.",
    cure: "Name your gateway with `--socket PATH` or `--url URL`, or run the command beside its files (`--config`). If you get 401, set EDGE_TOKEN; with 403, call from an address that `internal_api` allows.",
    page: "tools.md#a-running-gateway",
  },
  "log-file": {
    cause: "This user cannot write a file of `server.access_log.outputs`. The gateway makes a missing folder.",
    cure: "Give your gateway's user the folder, or choose another file. Check as that user: `sudo -u edge edge check`.",
    page: "operations.md#log-files",
  },
  "failed-try": {
    cause:
      "`edge check --online` could not look up a name, connect to a target, or use a folder or log of the configuration.",
    cure: "Fix the name or the target, or give your gateway's user the folder. Run the check on your gateway's machine, as its user.",
    page: "configuration.md#online",
  },
  "runtime-variable": {
    cause: "The environment holds a variable that the JavaScript runtime in the binary reads before the gateway does.",
    cure: "Unset it for your gateway (`UnsetEnvironment=` in your unit).",
    page: "security.md#environment",
  },
  "wrong-usage": {
    cause: "The command line has a flag, a value or an operand that the command does not take; the exit code is 2.",
    cure: "Run `edge help COMMAND` to see its flags, or `edge help` to see all commands.",
    page: "tools.md",
  },
} as const satisfies Readonly<Record<string, ErrorGuide>>;

export type ErrorName = keyof typeof ERROR_GUIDE;

/** An error that keeps the gateway from starting, or a reload from being taken; the message names the place and the cure. */
export class StartError extends Error {
  /** @param guide the name by which `edge help` explains it */
  constructor(
    message: string,
    readonly guide: ErrorName,
  ) {
    super(message);
  }
}
