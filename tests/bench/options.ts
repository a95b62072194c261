// The command line of the benchmarks.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";

/** What the command line asked for. */
export interface Options {
  readonly section: string;
  readonly edge: string;
  /** An older binary of the gateway to take turns with; null for none. */
  readonly before: string | null;
  readonly only: readonly string[];
  readonly peers: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly workers: number;
  readonly idleConnections: number;
  readonly minutes: number;
  readonly most: number;
  readonly json: string | null;
  readonly markdown: string | null;
}

/** The parts that can be run by name. */
export const SECTIONS = [
  "all",
  "peers",
  "idle",
  "start",
  "workers",
  "attack",
  "matrix",
  "growth",
  "limits",
  "functions",
  "function-peers",
  "function-trouble",
  "watched",
  "tcp",
  "soak",
  "micro",
];

const USAGE = `usage: scripts/bench [${SECTIONS.join("|")}] [flags]

  all       (default) peers, idle, start, workers, attack, function-peers; written to tests/bench/results.md
  peers     CPU time per request beside nginx, HAProxy, Caddy and Varnish
  idle      resident memory of idle keep-alive connections
  start     time from spawn to the first answer
  workers   throughput with two workers
  attack    latency of the others while half of the requests are malformed, and the cost of a refused one
  matrix    CPU time per request plain, with everything on, with two workers, young, and beside busy neighbours
  growth    CPU time, memory and start against the number of routes, hosts, fields, certificates, rules, targets, cache entries, connections
  limits    CPU time of limits at 10,000 requests a second: a gateway's own, and a fleet's on Redis
  functions CPU time of a function and of a hook at 20,000 requests a second, beside Bun.serve behind the same route; hooks a second of one thread
  function-peers    CPU time and latency of a function beside nginx with njs and Lua, and beside Bun.serve and workerd behind a proxy
  function-trouble  latency of other routes beside a function in an endless loop, one that leaks, one that crashes
  watched   CPU time of a worker while three clients watch the dashboard, beside none: 20 pairs of phases a round
  tcp       CPU time of forwarded TCP, a GiB and a connection, beside HAProxy and nginx's stream module
  soak      mixed load with vanishing clients: errors, and the slope of the memory
  micro     nanoseconds per operation of the parts

  --edge PATH        the gateway's binary                        (./edge)
  --before PATH      an older binary that takes turns with it in peers
  --only A,B         scenarios of peers and matrix, curves of growth, or name parts of micro  (all)
  --most N           the largest number of things in growth      (1000000)
  --peers A,B        nginx,haproxy,caddy,varnish                 (those installed)
  --rounds N         rounds, of which the median counts          (3)
  --seconds N        length of one measurement, whole seconds    (3)
  --conns N          connections of a load                       (64)
  --workers N        workers of each server in peers             (1)
  --idle-conns N     connections of idle                         (10000)
  --minutes N        length of soak, fractions allowed           (10)
  --json FILE        the figures as JSON
  --md FILE          the tables as Markdown
`;

const FLAGS = {
  edge: { type: "string", default: "edge" },
  before: { type: "string" },
  only: { type: "string", default: "" },
  peers: { type: "string", default: "nginx,haproxy,caddy,varnish" },
  rounds: { type: "string", default: "3" },
  seconds: { type: "string", default: "3" },
  conns: { type: "string", default: "64" },
  workers: { type: "string", default: "1" },
  "idle-conns": { type: "string", default: "10000" },
  minutes: { type: "string", default: "10" },
  most: { type: "string", default: "1000000" },
  json: { type: "string" },
  md: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** Reads the flags; a wrong one ends the process with 2, `--help` with 0. */
export function readOptions(args: string[]): Options {
  try {
    const { values, positionals } = parseArgs({ args, options: FLAGS, allowPositionals: true });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    const [section = "all", ...rest] = positionals;
    if (!SECTIONS.includes(section) || rest.length > 0) throw new Error(`no such part: ${positionals.join(" ")}`);
    return {
      section,
      edge: binary(values.edge, section),
      before: values.before ? binary(values.before, section) : null,
      only: list(values.only),
      peers: list(values.peers),
      rounds: count("rounds", values.rounds),
      seconds: count("seconds", values.seconds),
      connections: count("conns", values.conns),
      workers: count("workers", values.workers),
      idleConnections: count("idle-conns", values["idle-conns"]),
      minutes: positive("minutes", values.minutes),
      most: count("most", values.most),
      json: values.json ? resolve(values.json) : null,
      markdown: values.md ? resolve(values.md) : null,
    };
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return process.exit(2);
  }
}

function binary(path: string, section: string): string {
  const full = resolve(path);
  if (section !== "micro" && !existsSync(full)) throw new Error(`no gateway at ${path} (scripts/build makes it)`);
  return full;
}

function list(text: string): string[] {
  return text.split(",").filter((part) => part !== "");
}

function count(name: string, text: string): number {
  const value = positive(name, text);
  if (!Number.isInteger(value)) throw new Error(`--${name} takes a whole number`);
  return value;
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} takes a number above 0`);
  return value;
}
