import { stringify } from "yaml";
import type { formatFault } from "../../config/config-fault.ts";
import type { ControlOptions } from "../../control/control.ts";
import { judgeRoutes } from "../../explain/judge-routes.ts";
import { RepeatedLoad } from "../../loading/repeated-load.ts";
import { type CommandIo, ExitCode } from "../command-io.ts";
import { loadRequest } from "../load-for-request.ts";
import { serveGateway } from "../serve.ts";
import type { QuickAddress } from "./quick-address.ts";

/** A gateway that a command line describes, in the words of both files. */
interface QuickGateway {
  /** As typed, such as `edge respond`. */
  readonly command: string;
  readonly at: QuickAddress;
  /** Keys of `server` beside its address. */
  readonly server: Readonly<Record<string, unknown>>;
  /** The keys of its route beside host and prefix. */
  readonly route: Readonly<Record<string, unknown>>;
  /** The flags or operands that keys come from, by the key: a fault of the value names them. */
  readonly flags: Readonly<Record<string, string>>;
}

/** Flags of all commands of one line. */
export const QUICK_FLAGS = [
  {
    name: "print",
    type: "bool",
    default: false,
    help: "print the two files that do the same, and end",
  },
] as const;

/** Serves it until a signal ends it, or prints its files. Gives the exit code. docs/one-line.md */
export function runQuick(
  quick: QuickGateway,
  isPrinted: boolean,
  io: CommandIo,
  control: Pick<ControlOptions, "signals" | "early">,
): number | Promise<number> {
  const { listen, port, host } = quick.at;
  const config = { server: { host: listen, port, waf: { enabled: true }, ...quick.server } };
  const { type, ...others } = quick.route;
  const routes = [{ type, ...(host === "" ? {} : { host }), prefix: "/", ...others }];
  if (isPrinted) {
    io.out(`# config.yaml\n${written(config)}\n# routes.yaml\n${written(routes)}`);
    return ExitCode.Done;
  }
  const file = (value: unknown) => ({
    name: quick.command,
    path: `${process.cwd()}/config.yaml`,
    bytes: Buffer.from(written(value)),
  });
  const files = new RepeatedLoad({
    ...loadRequest({ config: "", routes: "" }),
    given: { config: file(config), routes: file(routes) },
    judge: judgeRoutes,
  });
  const flagOf = (path: string): string | undefined =>
    Object.entries(quick.flags).find(([key]) => path.split(/[.[\]]+/).includes(key))?.[1];
  const serving = {
    command: quick.command,
    files,
    remote: null,
    logFormat: "auto" as const,
    placed: <C>(read: C): C => read,
    onStart: () => {},
    onFaults(faults: readonly Parameters<typeof formatFault>[0][]) {
      for (const { path, message } of faults) {
        const flag = flagOf(path);
        io.err(`${quick.command}: ${flag ?? path}${(flag ?? path) === "" ? "" : ": "}${message}\n`);
      }
      io.err(`Try "${quick.command} --help".\n`);
    },
  };
  return serveGateway(serving, io, control);
}

/** A value as YAML; a text with `${` stays one. */
function written(value: unknown): string {
  return stringify(value, { lineWidth: 0 }).replaceAll("${", () => "$${");
}
