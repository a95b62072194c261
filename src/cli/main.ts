import { nearestNames } from "../config/nearest-name.ts";
import { EarlyThread } from "../control/early-thread.ts";
import type { HeldSignals } from "../control/held-signals.ts";
import { series } from "../core/number-text.ts";
import { SECRET_VALUES } from "../core/secret-values.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import type { ListedCommand, ListedSpec } from "./listed-command.ts";
import { writeAll } from "./write-all.ts";

interface Command {
  run(args: readonly string[], io: CommandIo, signals: HeldSignals): number | Promise<number>;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** As its help shows it; more than one where the command has words below it. */
  specs(): readonly ListedSpec[] | Promise<readonly ListedSpec[]>;
}

/** Why results could not be written; "" while they could. */
let outputFault = "";

const IO: CommandIo = {
  out: (text) => {
    outputFault ||= writeAll(1, SECRET_VALUES.masked(text));
  },
  err: (text) => void writeAll(2, SECRET_VALUES.masked(text)),
};

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ["serve", { run: serve, summary: "run the gateway", specs: async () => [(await import("./serve.ts")).serveCommand] }],
  [
    "check",
    {
      run: checkWithRules,
      summary: "check config.yaml and routes.yaml and show every mistake",
      specs: async () => [(await import("./check.ts")).checkCommand],
    },
  ],
  [
    "validate",
    {
      run: checkWithRules,
      summary: "the same as check",
      specs: async () => [(await import("./check.ts")).checkCommand],
    },
  ],
  [
    "file-server",
    {
      run: serveFolder,
      summary: "serve a folder, without configuration files",
      specs: async () => [(await import("./quick/file-server.ts")).fileServerCommand],
    },
  ],
  [
    "reverse-proxy",
    {
      run: forward,
      summary: "forward requests to an origin, without configuration files",
      specs: async () => [(await import("./quick/reverse-proxy.ts")).reverseProxyCommand],
    },
  ],
  [
    "respond",
    {
      run: respond,
      summary: "send one fixed response, without configuration files",
      specs: async () => [(await import("./quick/respond.ts")).respondCommand],
    },
  ],
  [
    "fmt",
    {
      run: formatFiles,
      summary: "format config.yaml and routes.yaml, with their comments",
      specs: async () => [(await import("./fmt.ts")).fmtCommand],
    },
  ],
  [
    "init",
    {
      run: initialize,
      summary: "write a commented config.yaml and routes.yaml",
      specs: async () => [(await import("./init.ts")).initCommand],
    },
  ],
  [
    "new",
    {
      run: writeNew,
      summary: "write a function with comments, and its test",
      specs: async () => [(await import("./new-function.ts")).newFunctionCommand],
    },
  ],
  [
    "types",
    {
      run: writeTypes,
      summary: "write edge.d.ts, the types of functions and hooks",
      specs: async () => [(await import("./types.ts")).typesCommand],
    },
  ],
  [
    "dev",
    {
      run: develop,
      summary: "run the gateway here, and reload it at each save",
      specs: async () => [(await import("./dev.ts")).devCommand],
    },
  ],
  [
    "test",
    {
      run: testFunctions,
      summary: "run the tests of functions and hooks against the gateway",
      specs: async () => [(await import("./function-tests.ts")).testCommand],
    },
  ],
  [
    "convert",
    {
      run: convert,
      summary: "convert a configuration of nginx, Caddy, HAProxy or Traefik, or Ingresses of Kubernetes",
      specs: async () => [
        (await import("./convert.ts")).convertCommand,
        (await import("./convert-ingress.ts")).convertIngressCommand,
      ],
    },
  ],
  [
    "schema",
    {
      run: printSchema,
      summary: "print the JSON Schema of config.yaml or routes.yaml, or the definition of EdgePolicy",
      specs: async () => [(await import("./schema.ts")).schemaCommand],
    },
  ],
  [
    "kubernetes",
    {
      run: printManifests,
      summary: "print the manifests with which edge runs in a cluster as its gateway",
      specs: async () => [(await import("./kubernetes.ts")).manifestsCommand],
    },
  ],
  [
    "explain",
    {
      run: explain,
      summary: "show what the gateway would do with a request, and why",
      specs: async () => [(await import("./explain.ts")).explainCommand],
    },
  ],
  [
    "routes",
    {
      run: changeRoutes,
      summary: "list the routes of all sources; put, remove and weigh routes of the API",
      specs: async () => [(await import("./routes.ts")).routesCommand],
    },
  ],
  [
    "waf",
    {
      run: explainWaf,
      summary: "show how the firewall judges a request; write exclusions",
      specs: async () => {
        const { wafLearnCommand, wafImportCommand } = await import("./waf-exclusions.ts");
        return [(await import("./waf.ts")).wafTestCommand, wafLearnCommand, wafImportCommand];
      },
    },
  ],
  [
    "multihop",
    {
      run: attackGateway,
      summary: "attack a gateway with framing vectors, and judge it",
      specs: async () => [(await import("./multihop.ts")).multihopCommand],
    },
  ],
  [
    "certs",
    {
      run: listCerts,
      summary: "list, renew or revoke the certificates that ACME has obtained",
      specs: async () => [(await import("./certs.ts")).certsCommand],
    },
  ],
  [
    "trust",
    {
      run: trustAuthority,
      summary: "make this machine trust the local authority of tls.internal",
      specs: async () => [(await import("./trust.ts")).trustCommand],
    },
  ],
  [
    "passwd",
    {
      run: makePassword,
      summary: "print a line of a users file, with the hash of a password",
      specs: async () => [(await import("./passwd.ts")).passwdCommand],
    },
  ],
  [
    "status",
    {
      run: showStatus,
      summary: "show on one screen whether the running gateway is well",
      specs: async () => [(await import("./status.ts")).statusCommand],
    },
  ],
  [
    "reload",
    {
      run: reloadGateway,
      summary: "make the running gateway read both files again",
      specs: async () => [(await import("./reload.ts")).reloadCommand],
    },
  ],
  [
    "rollback",
    {
      run: rollBack,
      summary: "make the running gateway serve an earlier configuration",
      specs: async () => [(await import("./reload.ts")).rollbackCommand],
    },
  ],
  [
    "canary",
    {
      run: canary,
      summary: "show, promote or abort rollouts of new versions at the running gateway",
      specs: async () => [(await import("./canary.ts")).canaryCommand],
    },
  ],
  [
    "drain",
    {
      run: drainTarget,
      summary: "take a target of the running gateway out of service",
      specs: async () => [(await import("./operate.ts")).drainCommand],
    },
  ],
  [
    "undrain",
    {
      run: undrainTarget,
      summary: "take a drained target back into service",
      specs: async () => [(await import("./operate.ts")).undrainCommand],
    },
  ],
  [
    "maintenance",
    {
      run: switchMaintenance,
      summary: "switch maintenance of the running gateway on or off",
      specs: async () => [(await import("./operate.ts")).maintenanceCommand],
    },
  ],
  [
    "top",
    {
      run: watchGateway,
      summary: "watch the running gateway: routes, upstreams, clients",
      specs: async () => [(await import("./top.ts")).topCommand],
    },
  ],
  [
    "bans",
    {
      run: changeBans,
      summary: "list, add and lift bans of the running gateway",
      specs: async () => [(await import("./bans.ts")).bansCommand],
    },
  ],
  [
    "agents",
    {
      run: showAgents,
      summary: "list the agents that sign their requests, and check a key directory",
      specs: async () => {
        const { agentsListCommand, agentsCheckCommand } = await import("./agents.ts");
        return [agentsListCommand, agentsCheckCommand];
      },
    },
  ],
  [
    "nodes",
    {
      run: listNodes,
      summary: "list the gateways of the fleet",
      specs: async () => [(await import("./nodes.ts")).nodesCommand],
    },
  ],
  [
    "logs",
    {
      run: showLogs,
      summary: "show the log for people, filtered by status, route, event and time",
      specs: async () => [(await import("./logs.ts")).logsCommand],
    },
  ],
  [
    "replay",
    {
      run: replayLog,
      summary: "send a log's requests again, and show what differs",
      specs: async () => [(await import("./replay.ts")).replayCommand],
    },
  ],
  [
    "purge",
    {
      run: purgeCache,
      summary: "take stored responses out of a running gateway's cache",
      specs: async () => [(await import("./purge.ts")).purgeCommand],
    },
  ],
  [
    "grafana",
    {
      run: printDashboard,
      summary: "print a dashboard for Grafana",
      specs: async () => [(await import("./monitoring.ts")).grafanaCommand],
    },
  ],
  [
    "alerts",
    {
      run: printAlerts,
      summary: "print rules for alerts of Prometheus",
      specs: async () => [(await import("./monitoring.ts")).alertsCommand],
    },
  ],
  [
    "loadgen",
    {
      run: loadTest,
      summary: "load a gateway with requests and attacks, and judge it",
      specs: async () => [(await import("./loadgen.ts")).loadgenCommand],
    },
  ],
  [
    "completion",
    {
      run: printCompletion,
      summary: "print the completion script for bash, zsh or fish",
      specs: async () => [(await import("./completion.ts")).completionCommand],
    },
  ],
  [
    "man",
    {
      run: printManual,
      summary: "print the manual page, or that of config.yaml or routes.yaml",
      specs: async () => [(await import("./man.ts")).manCommand],
    },
  ],
  [
    "version",
    {
      run: version,
      summary: "print the version, and the newest release",
      specs: async () => [(await import("./update/version.ts")).versionCommand],
    },
  ],
  [
    "update",
    {
      run: update,
      summary: "replace this program by the newest signed release, with zero downtime",
      specs: async () => [(await import("./update/update.ts")).updateCommand],
    },
  ],
  [
    "help",
    {
      run: showHelp,
      summary: "print this text, explain a command, a name or a page, or search for words",
      specs: async () => [await helpSpec()],
    },
  ],
]);

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

async function serve(args: readonly string[], io: CommandIo, signals: HeldSignals): Promise<number> {
  const early = new EarlyThread();
  const { runServe } = await import("./serve.ts");
  return runServe(args, io, { signals, early });
}

async function serveFolder(args: readonly string[], io: CommandIo, signals: HeldSignals): Promise<number> {
  const early = new EarlyThread();
  const { runFileServer } = await import("./quick/file-server.ts");
  return runFileServer(args, io, { signals, early });
}

async function forward(args: readonly string[], io: CommandIo, signals: HeldSignals): Promise<number> {
  const early = new EarlyThread();
  const { runReverseProxy } = await import("./quick/reverse-proxy.ts");
  return runReverseProxy(args, io, { signals, early });
}

async function respond(args: readonly string[], io: CommandIo, signals: HeldSignals): Promise<number> {
  const early = new EarlyThread();
  const { runRespond } = await import("./quick/respond.ts");
  return runRespond(args, io, { signals, early });
}

async function formatFiles(args: readonly string[], io: CommandIo): Promise<number> {
  const { runFmt } = await import("./fmt.ts");
  return runFmt(args, io);
}

async function initialize(args: readonly string[], io: CommandIo): Promise<number> {
  const { runInit } = await import("./init.ts");
  return runInit(args, io);
}

async function convert(args: readonly string[], io: CommandIo): Promise<number> {
  const { runConvert } = await import("./convert.ts");
  return runConvert(args, io);
}

async function checkWithRules(args: readonly string[], io: CommandIo): Promise<number> {
  const { runCheck } = await import("./check.ts");
  const { RULE_NAMES } = await import("../features/waf/rule-table.ts");
  return runCheck(args, io, {
    cwd: process.cwd(),
    env: process.env,
    knownWafRules: RULE_NAMES,
  });
}

async function writeNew(args: readonly string[], io: CommandIo): Promise<number> {
  const { runNew } = await import("./new-function.ts");
  return runNew(args, io);
}

async function writeTypes(args: readonly string[], io: CommandIo): Promise<number> {
  const { runTypes } = await import("./types.ts");
  return runTypes(args, io);
}

async function develop(args: readonly string[], io: CommandIo, signals: HeldSignals): Promise<number> {
  const { runDev } = await import("./dev.ts");
  return runDev(args, io, signals);
}

async function testFunctions(args: readonly string[], io: CommandIo): Promise<number> {
  const { runFunctionTests } = await import("./function-tests.ts");
  return runFunctionTests(args, io);
}

async function printSchema(args: readonly string[], io: CommandIo): Promise<number> {
  const { runSchema } = await import("./schema.ts");
  return runSchema(args, io);
}

async function printManifests(args: readonly string[], io: CommandIo): Promise<number> {
  const { runKubernetes } = await import("./kubernetes.ts");
  return runKubernetes(args, io);
}

async function explain(args: readonly string[], io: CommandIo): Promise<number> {
  const { runExplain } = await import("./explain.ts");
  return runExplain(args, io);
}

async function explainWaf(args: readonly string[], io: CommandIo): Promise<number> {
  const { runWaf } = await import("./waf.ts");
  return runWaf(args, io);
}

async function attackGateway(args: readonly string[], io: CommandIo): Promise<number> {
  const { runMultihop } = await import("./multihop.ts");
  return runMultihop(args, io);
}

async function trustAuthority(args: readonly string[], io: CommandIo): Promise<number> {
  const { runTrust } = await import("./trust.ts");
  return runTrust(args, io);
}

async function listCerts(args: readonly string[], io: CommandIo): Promise<number> {
  const { runCerts } = await import("./certs.ts");
  return runCerts(args, io);
}

async function makePassword(args: readonly string[], io: CommandIo): Promise<number> {
  const { runPasswd } = await import("./passwd.ts");
  return runPasswd(args, io);
}

async function showStatus(args: readonly string[], io: CommandIo): Promise<number> {
  const { runStatus } = await import("./status.ts");
  return runStatus(args, io);
}

async function reloadGateway(args: readonly string[], io: CommandIo): Promise<number> {
  const { runReload } = await import("./reload.ts");
  return runReload(args, io);
}

async function rollBack(args: readonly string[], io: CommandIo): Promise<number> {
  const { runRollback } = await import("./reload.ts");
  return runRollback(args, io);
}

async function canary(args: readonly string[], io: CommandIo): Promise<number> {
  const { runCanary } = await import("./canary.ts");
  return runCanary(args, io);
}

async function drainTarget(args: readonly string[], io: CommandIo): Promise<number> {
  const { runDrain } = await import("./operate.ts");
  return runDrain(args, io);
}

async function undrainTarget(args: readonly string[], io: CommandIo): Promise<number> {
  const { runUndrain } = await import("./operate.ts");
  return runUndrain(args, io);
}

async function changeRoutes(args: readonly string[], io: CommandIo): Promise<number> {
  const { runRoutes } = await import("./routes.ts");
  return runRoutes(args, io);
}

async function switchMaintenance(args: readonly string[], io: CommandIo): Promise<number> {
  const { runMaintenance } = await import("./operate.ts");
  return runMaintenance(args, io);
}

async function watchGateway(args: readonly string[], io: CommandIo, signals: HeldSignals): Promise<number> {
  const { runTop } = await import("./top.ts");
  return runTop(args, io, signals);
}

async function changeBans(args: readonly string[], io: CommandIo): Promise<number> {
  const { runBans } = await import("./bans.ts");
  return runBans(args, io);
}

async function showAgents(args: readonly string[], io: CommandIo): Promise<number> {
  const { runAgents } = await import("./agents.ts");
  return runAgents(args, io);
}

async function listNodes(args: readonly string[], io: CommandIo): Promise<number> {
  const { runNodes } = await import("./nodes.ts");
  return runNodes(args, io);
}

async function showLogs(args: readonly string[], io: CommandIo): Promise<number> {
  const { runLogs } = await import("./logs.ts");
  return runLogs(args, io);
}

async function replayLog(args: readonly string[], io: CommandIo): Promise<number> {
  const { runReplay } = await import("./replay.ts");
  return runReplay(args, io);
}

async function purgeCache(args: readonly string[], io: CommandIo): Promise<number> {
  const { runPurge } = await import("./purge.ts");
  return runPurge(args, io);
}

async function printDashboard(args: readonly string[], io: CommandIo): Promise<number> {
  const { runGrafana } = await import("./monitoring.ts");
  return runGrafana(args, io);
}

async function printAlerts(args: readonly string[], io: CommandIo): Promise<number> {
  const { runAlerts } = await import("./monitoring.ts");
  return runAlerts(args, io);
}

async function loadTest(args: readonly string[], io: CommandIo): Promise<number> {
  const { runLoadgen } = await import("./loadgen.ts");
  return runLoadgen(args, io);
}

async function printCompletion(args: readonly string[], io: CommandIo): Promise<number> {
  const { runCompletion } = await import("./completion.ts");
  return runCompletion(args, io, listing);
}

async function printManual(args: readonly string[], io: CommandIo): Promise<number> {
  const { runMan } = await import("./man.ts");
  return runMan(args, io, listing);
}

/** All commands with their flags, in the order of help. */
export function listing(): Promise<ListedCommand[]> {
  return Promise.all(
    [...COMMANDS].map(async ([name, { summary, specs }]) => ({ name, summary, specs: await specs() })),
  );
}

async function version(args: readonly string[], io: CommandIo): Promise<number> {
  return (await import("./update/version.ts")).runVersion(args, io);
}

async function update(args: readonly string[], io: CommandIo): Promise<number> {
  return (await import("./update/update.ts")).runUpdate(args, io);
}

async function showHelp(args: readonly string[], io: CommandIo, signals: HeldSignals): Promise<number> {
  const help = await import("./help/run-help.ts");
  return help.runHelp(args, io, {
    list: [...COMMANDS].map(([name, { summary }]) => [name, summary] as const),
    help(name) {
      const command = commandNamed(name);
      return command === undefined ? null : () => command.run(["--help"], io, signals);
    },
  });
}

async function helpSpec(): Promise<ListedSpec> {
  return (await import("./help/run-help.ts")).helpCommand([...COMMANDS.keys()]);
}
