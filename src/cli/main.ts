import { VERSION } from "../shared/version.ts";
import { runCheck } from "./check.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { runInit } from "./init.ts";
import { runServe } from "./serve.ts";
import { writeAll } from "./write-all.ts";

type Command = (args: readonly string[], io: CommandIo) => number | Promise<number>;

const IO: CommandIo = {
  out: (text) => writeAll(1, text),
  err: (text) => writeAll(2, text),
};

const COMMANDS: ReadonlyMap<string, { readonly run: Command; readonly summary: string }> = new Map([
  ["serve", { run: runServe, summary: "run the gateway" }],
  ["check", { run: checkWithRules, summary: "read config.yaml and routes.yaml and say where they are wrong" }],
  ["validate", { run: checkWithRules, summary: "the same as check" }],
  ["init", { run: (args, io) => runInit(args, io), summary: "write a commented config.yaml and routes.yaml" }],
  ["waf", { run: explainWaf, summary: "waf test 'METHOD TARGET' says what the firewall thinks of a request, and why" }],
  [
    "multihop",
    { run: attackGateway, summary: "attack a gateway with framing vectors and look at the origins behind it" },
  ],
  ["certs", { run: listCerts, summary: "list the certificates that ACME has obtained, their expiry and next renewal" }],
  ["loadgen", { run: loadTest, summary: "load a gateway with benign and hostile requests and judge it" }],
  ["version", { run: runVersion, summary: "print the version" }],
  ["help", { run: runHelp, summary: "print this text, or with a command's name that command's help" }],
]);

/** `edge`: finds the command, runs it, leaves with its exit code. Decisions, "Commands". */
export async function main(args: readonly string[]): Promise<void> {
  const [name = "help", ...rest] = args;
  const command = COMMANDS.get(ALIASES.get(name) ?? name);
  if (command === undefined) {
    IO.err(`edge: no command "${name}"; the commands are ${[...COMMANDS.keys()].join(", ")}.\n`);
    process.exit(ExitCode.Usage);
  }
  process.exit(await command.run(rest, IO));
}

const ALIASES: ReadonlyMap<string, string> = new Map([
  ["--help", "help"],
  ["-help", "help"],
  ["-h", "help"],
  ["--version", "version"],
  ["-version", "version"],
  ["-v", "version"],
]);

async function checkWithRules(args: readonly string[], io: CommandIo): Promise<number> {
  const { WAF_RULES } = await import("../features/waf/rule-table.ts");
  return runCheck(args, io, {
    cwd: process.cwd(),
    env: process.env,
    knownWafRules: WAF_RULES.map((rule) => rule.id),
  });
}

async function explainWaf(args: readonly string[], io: CommandIo): Promise<number> {
  const { runWaf } = await import("./waf.ts");
  return runWaf(args, io);
}

async function attackGateway(args: readonly string[], io: CommandIo): Promise<number> {
  const { runMultihop } = await import("./multihop.ts");
  return runMultihop(args, io);
}

async function listCerts(args: readonly string[], io: CommandIo): Promise<number> {
  const { runCerts } = await import("./certs.ts");
  return runCerts(args, io);
}

async function loadTest(args: readonly string[], io: CommandIo): Promise<number> {
  const { runLoadgen } = await import("./loadgen.ts");
  return runLoadgen(args, io);
}

function runVersion(_args: readonly string[], io: CommandIo): number {
  io.out(`edge ${VERSION}\n`);
  return ExitCode.Done;
}

async function runHelp(args: readonly string[], io: CommandIo): Promise<number> {
  const [name] = args;
  if (name === undefined || name === "help") {
    const width = Math.max(...[...COMMANDS.keys()].map((one) => one.length));
    const lines = [...COMMANDS].map(([one, { summary }]) => `  ${one.padEnd(width)}  ${summary}`);
    io.out(
      `edge ${VERSION}, an HTTP edge gateway.\n\nUsage: edge COMMAND [flags]\n\n${lines.join("\n")}\n\n` +
        "edge help config and edge help routes show every key of the two files, edge help log what the log says.\n",
    );
    return ExitCode.Done;
  }
  if (name === "log") {
    const { logReference } = await import("./log-reference.ts");
    io.out(logReference());
    return ExitCode.Done;
  }
  if (name === "config" || name === "routes") {
    const { CONFIG_REFERENCE, ROUTES_REFERENCE } = await import("./settings-reference.ts");
    io.out(name === "config" ? CONFIG_REFERENCE : ROUTES_REFERENCE);
    return ExitCode.Done;
  }
  const command = COMMANDS.get(name);
  if (command === undefined) {
    io.err(`edge: no command "${name}"; "edge help" lists them\n`);
    return ExitCode.Usage;
  }
  return command.run === runVersion ? runVersion([], io) : command.run(["--help"], io);
}
