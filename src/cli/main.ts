import { nearestNames } from "../config/nearest-name.ts";
import { EarlyThread } from "../control/early-thread.ts";
import type { HeldSignals } from "../control/held-signals.ts";
import { series } from "../core/number-text.ts";
import { SECRET_VALUES } from "../core/secret-values.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import type { HelpCommands } from "./help/run-help.ts";
import type { ListedCommand, ListedSpec } from "./listed-command.ts";
import { writeAll } from "./write-all.ts";

/** Runs with the words after its name. @returns the exit code */
type Run<Around extends readonly unknown[]> = (
  args: readonly string[],
  io: CommandIo,
  ...around: Around
) => number | Promise<number>;

/** What the file of a command has. */
interface Loaded<Around extends readonly unknown[]> {
  /** As its help shows it; more than one if the command has words below it. */
  readonly specs: readonly ListedSpec[];
  readonly run: Run<Around>;
}

interface Command {
  readonly run: Run<[signals: HeldSignals]>;
  /** One line, for the list of commands. */
  readonly summary: string;
  specs(): Promise<readonly ListedSpec[]>;
}

/** Why results could not be written; "" while they could. */
let outputFault = "";

const IO: CommandIo = {
  out: (text) => {
    outputFault ||= writeAll(1, SECRET_VALUES.masked(text));
  },
  err: (text) => void writeAll(2, SECRET_VALUES.masked(text)),
};

/** THE commands, in the order of help. */
const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>(
  Object.entries<Command>({
    serve: serving("run the gateway", async () => {
      const { serveCommand, runServe } = await import("./serve.ts");
      return { specs: [serveCommand], run: runServe };
    }),
    check: checking("check config.yaml and routes.yaml and show every mistake"),
    validate: checking("the same as check"),
    "file-server": serving("serve a folder, without configuration files", async () => {
      const { fileServerCommand, runFileServer } = await import("./quick/file-server.ts");
      return { specs: [fileServerCommand], run: runFileServer };
    }),
    "reverse-proxy": serving("forward requests to an origin, without configuration files", async () => {
      const { reverseProxyCommand, runReverseProxy } = await import("./quick/reverse-proxy.ts");
      return { specs: [reverseProxyCommand], run: runReverseProxy };
    }),
    respond: serving("send one fixed response, without configuration files", async () => {
      const { respondCommand, runRespond } = await import("./quick/respond.ts");
      return { specs: [respondCommand], run: runRespond };
    }),
    fmt: loaded("format config.yaml and routes.yaml, with their comments", async () => {
      const { fmtCommand, runFmt } = await import("./fmt.ts");
      return { specs: [fmtCommand], run: runFmt };
    }),
    init: loaded("write a commented config.yaml and routes.yaml", async () => {
      const { initCommand, runInit } = await import("./init.ts");
      return { specs: [initCommand], run: runInit };
    }),
    new: loaded("write a function with comments, and its test", async () => {
      const { newFunctionCommand, runNew } = await import("./new-function.ts");
      return { specs: [newFunctionCommand], run: runNew };
    }),
    types: loaded("write edge.d.ts, the types of functions and hooks", async () => {
      const { typesCommand, runTypes } = await import("./types.ts");
      return { specs: [typesCommand], run: runTypes };
    }),
    dev: signalled("run the gateway here, and reload it at each save", async () => {
      const { devCommand, runDev } = await import("./dev.ts");
      return { specs: [devCommand], run: runDev };
    }),
    test: loaded("run the tests of functions and hooks against the gateway", async () => {
      const { testCommand, runFunctionTests } = await import("./function-tests.ts");
      return { specs: [testCommand], run: runFunctionTests };
    }),
    convert: {
      summary: "convert a configuration of nginx, Caddy, HAProxy or Traefik, or Ingresses of Kubernetes",
      specs: async () => [
        (await import("./convert.ts")).convertCommand,
        (await import("./convert-ingress.ts")).convertIngressCommand,
      ],
      run: async (args, io) => (await import("./convert.ts")).runConvert(args, io),
    },
    schema: loaded("print the JSON Schema of config.yaml or routes.yaml, or the definition of EdgePolicy", async () => {
      const { schemaCommand, runSchema } = await import("./schema.ts");
      return { specs: [schemaCommand], run: runSchema };
    }),
    kubernetes: loaded("print the manifests with which edge runs in a cluster as its gateway", async () => {
      const { manifestsCommand, runKubernetes } = await import("./kubernetes.ts");
      return { specs: [manifestsCommand], run: runKubernetes };
    }),
    explain: loaded("show what the gateway would do with a request, and why", async () => {
      const { explainCommand, runExplain } = await import("./explain.ts");
      return { specs: [explainCommand], run: runExplain };
    }),
    routes: loaded("list the routes of all sources; put, remove and weigh routes of the API", async () => {
      const { routesCommand, runRoutes } = await import("./routes.ts");
      return { specs: [routesCommand], run: runRoutes };
    }),
    waf: {
      summary: "show how the firewall judges a request; write exclusions",
      specs: async () => {
        const { wafLearnCommand, wafImportCommand } = await import("./waf-exclusions.ts");
        return [(await import("./waf.ts")).wafTestCommand, wafLearnCommand, wafImportCommand];
      },
      run: async (args, io) => (await import("./waf.ts")).runWaf(args, io),
    },
    multihop: loaded("attack a gateway with framing vectors, and judge it", async () => {
      const { multihopCommand, runMultihop } = await import("./multihop.ts");
      return { specs: [multihopCommand], run: runMultihop };
    }),
    certs: loaded("list, renew or revoke the certificates that ACME has obtained", async () => {
      const { certsCommand, runCerts } = await import("./certs.ts");
      return { specs: [certsCommand], run: runCerts };
    }),
    trust: loaded("make this machine trust the local authority of tls.internal", async () => {
      const { trustCommand, runTrust } = await import("./trust.ts");
      return { specs: [trustCommand], run: runTrust };
    }),
    passwd: loaded("print a line of a users file, with the hash of a password", async () => {
      const { passwdCommand, runPasswd } = await import("./passwd.ts");
      return { specs: [passwdCommand], run: runPasswd };
    }),
    status: loaded("show on one screen whether the running gateway is well", async () => {
      const { statusCommand, runStatus } = await import("./status.ts");
      return { specs: [statusCommand], run: runStatus };
    }),
    reload: loaded("make the running gateway read both files again", async () => {
      const { reloadCommand, runReload } = await import("./reload.ts");
      return { specs: [reloadCommand], run: runReload };
    }),
    rollback: loaded("make the running gateway serve an earlier configuration", async () => {
      const { rollbackCommand, runRollback } = await import("./reload.ts");
      return { specs: [rollbackCommand], run: runRollback };
    }),
    canary: loaded("show, promote or abort rollouts of new versions at the running gateway", async () => {
      const { canaryCommand, runCanary } = await import("./canary.ts");
      return { specs: [canaryCommand], run: runCanary };
    }),
    drain: loaded("take a target of the running gateway out of service", async () => {
      const { drainCommand, runDrain } = await import("./operate.ts");
      return { specs: [drainCommand], run: runDrain };
    }),
    undrain: loaded("take a drained target back into service", async () => {
      const { undrainCommand, runUndrain } = await import("./operate.ts");
      return { specs: [undrainCommand], run: runUndrain };
    }),
    maintenance: loaded("switch maintenance of the running gateway on or off", async () => {
      const { maintenanceCommand, runMaintenance } = await import("./operate.ts");
      return { specs: [maintenanceCommand], run: runMaintenance };
    }),
    top: signalled("watch the running gateway: routes, upstreams, clients", async () => {
      const { topCommand, runTop } = await import("./top.ts");
      return { specs: [topCommand], run: runTop };
    }),
    bans: loaded("list, add and lift bans of the running gateway", async () => {
      const { bansCommand, runBans } = await import("./bans.ts");
      return { specs: [bansCommand], run: runBans };
    }),
    agents: loaded("list the agents that sign their requests, and check a key directory", async () => {
      const { agentsListCommand, agentsCheckCommand, runAgents } = await import("./agents.ts");
      return { specs: [agentsListCommand, agentsCheckCommand], run: runAgents };
    }),
    nodes: loaded("list the gateways of the fleet", async () => {
      const { nodesCommand, runNodes } = await import("./nodes.ts");
      return { specs: [nodesCommand], run: runNodes };
    }),
    logs: loaded("show the log for people, filtered by status, route, event and time", async () => {
      const { logsCommand, runLogs } = await import("./logs.ts");
      return { specs: [logsCommand], run: runLogs };
    }),
    replay: loaded("send a log's requests again, and show what differs", async () => {
      const { replayCommand, runReplay } = await import("./replay.ts");
      return { specs: [replayCommand], run: runReplay };
    }),
    purge: loaded("take stored responses out of a running gateway's cache", async () => {
      const { purgeCommand, runPurge } = await import("./purge.ts");
      return { specs: [purgeCommand], run: runPurge };
    }),
    grafana: loaded("print a dashboard for Grafana", async () => {
      const { grafanaCommand, runGrafana } = await import("./monitoring.ts");
      return { specs: [grafanaCommand], run: runGrafana };
    }),
    alerts: loaded("print rules for alerts of Prometheus", async () => {
      const { alertsCommand, runAlerts } = await import("./monitoring.ts");
      return { specs: [alertsCommand], run: runAlerts };
    }),
    loadgen: loaded("load a gateway with requests and attacks, and judge it", async () => {
      const { loadgenCommand, runLoadgen } = await import("./loadgen.ts");
      return { specs: [loadgenCommand], run: runLoadgen };
    }),
    completion: loaded("print the completion script for bash, zsh or fish", async () => {
      const { completionCommand, runCompletion } = await import("./completion.ts");
      return { specs: [completionCommand], run: (args, io) => runCompletion(args, io, listing) };
    }),
    man: loaded("print the manual page, or that of config.yaml or routes.yaml", async () => {
      const { manCommand, runMan } = await import("./man.ts");
      return { specs: [manCommand], run: (args, io) => runMan(args, io, listing) };
    }),
    version: loaded("print the version, and the newest release", async () => {
      const { versionCommand, runVersion } = await import("./update/version.ts");
      return { specs: [versionCommand], run: runVersion };
    }),
    update: loaded("replace this program by the newest signed release, with zero downtime", async () => {
      const { updateCommand, runUpdate } = await import("./update/update.ts");
      return { specs: [updateCommand], run: runUpdate };
    }),
    help: signalled("print this text, explain a command, a name or a page, or search for words", async () => {
      const { helpCommand, runHelp } = await import("./help/run-help.ts");
      return {
        specs: [helpCommand([...COMMANDS.keys()])],
        run: (args, io, signals) => runHelp(args, io, helpedCommands(io, signals)),
      };
    }),
  }),
);

/** A command whose file is loaded when it runs, or when its help is shown. */
function loaded(summary: string, load: () => Promise<Loaded<[]>>): Command {
  return loadedWith<[]>(() => [], summary, load);
}

/** One that takes signals itself. */
function signalled(summary: string, load: () => Promise<Loaded<[HeldSignals]>>): Command {
  return loadedWith<[HeldSignals]>((signals) => [signals], summary, load);
}

/** One that serves: its thread begins while its file loads. */
function serving(summary: string, load: () => Promise<Loaded<[ServingPorts]>>): Command {
  return loadedWith<[ServingPorts]>((signals) => [{ signals, early: new EarlyThread() }], summary, load);
}

interface ServingPorts {
  readonly signals: HeldSignals;
  readonly early: EarlyThread;
}

function loadedWith<Around extends readonly unknown[]>(
  around: (signals: HeldSignals) => Around,
  summary: string,
  load: () => Promise<Loaded<Around>>,
): Command {
  return {
    summary,
    specs: async () => (await load()).specs,
    run: async (args, io, signals) => {
      const given = around(signals);
      return (await load()).run(args, io, ...given);
    },
  };
}

function checking(summary: string): Command {
  return loaded(summary, async () => {
    const { checkCommand, runCheck } = await import("./check.ts");
    const { RULE_NAMES } = await import("../features/waf/rule-table.ts");
    const ports = { cwd: process.cwd(), env: process.env, knownWafRules: RULE_NAMES };
    return { specs: [checkCommand], run: (args, io) => runCheck(args, io, ports) };
  });
}

/** `edge`: finds the command, runs it, leaves with its exit code. docs/tools.md */
export async function main(args: readonly string[], signals: HeldSignals): Promise<void> {
  const [name = "help", ...rest] = args;
  const command = commandNamed(name);
  if (command === undefined) {
    const near = series(nearestNames(name, [...COMMANDS.keys()], NEAR_COMMANDS), "or");
    IO.err(`edge: no command ${JSON.stringify(name)}; did you mean ${near}? "edge help" lists all.\n`);
    process.exit(ExitCode.Usage);
  }
  const code = await command.run(rest, IO, signals);
  if (outputFault === "") process.exit(code);
  IO.err(`edge: cannot write the output: ${errorReason({ code: outputFault })}\n`);
  process.exit(code === ExitCode.Done ? ExitCode.Failure : code);
}

/** So many commands are named to someone who mistypes one. */
const NEAR_COMMANDS = 3;

function commandNamed(word: string): Command | undefined {
  return COMMANDS.get(ALIASES.get(word) ?? word);
}

const ALIASES: ReadonlyMap<string, string> = new Map([
  ["--help", "help"],
  ["-help", "help"],
  ["-h", "help"],
  ["--version", "version"],
  ["-version", "version"],
  ["-v", "version"],
]);

/** All commands with their flags, in the order of help. */
export function listing(): Promise<ListedCommand[]> {
  return Promise.all(
    [...COMMANDS].map(async ([name, { summary, specs }]) => ({ name, summary, specs: await specs() })),
  );
}

/** What `edge help` knows of all commands. */
function helpedCommands(io: CommandIo, signals: HeldSignals): HelpCommands {
  return {
    list: [...COMMANDS].map(([name, { summary }]) => [name, summary] as const),
    help(name) {
      const command = commandNamed(name);
      return command === undefined ? null : () => command.run(["--help"], io, signals);
    },
  };
}
