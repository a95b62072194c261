// Who may import whom: ARCHITECTURE.md's picture of the folders, as a table.
import { dirname } from "node:path";
import type { Import, SourceModule } from "./source-module.ts";

/** The engines, what they stand on, the features and what is made of them. */
const FLOORS = [
  ...["core", "message", "proto", "config", "memory", "net", "edge", "upstream", "streams"],
  ...["features", "features/*/control", "settings", "routes"],
];

type Module = Pick<SourceModule, "path" | "imports" | "namesBun">;

/**
 * What each folder of src, and bin, may import beside itself. The control half of a feature (`features/<x>/control/`) has a line of its own: it runs beside
 * the data plane, in the control thread or in one that this starts.
 */
export const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  core: [],
  message: ["core"],
  proto: ["core", "message"],
  config: ["core", "message", "proto"],
  memory: ["core"],
  net: ["core"],
  edge: ["core", "message", "proto", "net"],
  upstream: ["core", "message", "proto", "net", "memory"],
  streams: ["core", "message", "proto", "memory", "net", "edge", "upstream"],
  features: ["core", "message", "proto", "memory", "config"],
  settings: ["core", "message", "proto", "config", "features"],
  routes: ["core", "message", "proto", "config", "features", "settings"],
  loading: ["core", "message", "proto", "config", "features", "settings", "routes"],
  "features/*/control": [
    ...["core", "message", "config", "proto", "memory", "net", "upstream", "settings", "routes", "loading"],
  ],
  facts: ["core", "message", "memory", "features"],
  worker: [...FLOORS, "facts"],
  help: ["core", "facts", "features"],
  control: [...FLOORS, "facts", "loading", "worker", "help"],
  explain: [...FLOORS, "facts", "loading", "worker"],
  tools: ["core", "message", "proto", "net"],
  demo: [],
  cli: [...FLOORS, "facts", "loading", "control", "worker", "explain", "help", "tools", "demo"],
  bin: ["control", "worker", "features/*/control", "net", "tools", "cli"],
};

/** The half of a feature that runs beside the data plane. */
const CONTROL_HALF = /^src\/features\/[^/]+\/control\//;

/** Imports that the table above does not allow, each with its reason. A test holds their number. */
export const ALSO_ALLOWED: readonly { from: RegExp; to: RegExp; why: string }[] = [
  {
    from: /^src\/(tools\/watch\/|cli\/top\.ts$)/,
    to: /^src\/features\/dashboard\/(live-state|verdict)\.ts$/,
    why: "what the stream says, and how bad that is",
  },
  {
    from: /^src\/features\//,
    to: /^src\/net\/outbound-request\.ts$/,
    why: "the one way to ask another service",
  },
  {
    from: /^src\/tools\/multihop\//,
    to: /^src\/control\//,
    why: "multihop --standalone runs a gateway",
  },
  {
    from: CONTROL_HALF,
    to: /^src\/features\/telemetry\/log-level\.ts$/,
    why: "every feature names levels in the same words",
  },
  { from: /^src\/core\/version\.ts$/, to: /^package\.json$/, why: "the version" },
];

const SANS_IO = ["core", "message", "proto"];
const IO_MODULES = /^(bun(:.*)?|node:(fs|net|tls|dgram|dns|https?|http2|quic|child_process|worker_threads)(\/.*)?)$/;

/** What is wrong with the imports of one file; `packages` are those that ship with the gateway. */
export function importFaults(module: Module, packages: readonly string[]): string[] {
  const from = folderOf(module.path);
  if (from === null) return [`${module.path}: belongs to no folder of the import law`];
  const faults = module.imports.flatMap((each) => {
    const fault = each.isOurs ? ownFault(module.path, from, each) : foreignFault(from, each.target, packages);
    return fault === null ? [] : [`${module.path}:${each.line}: ${fault}`];
  });
  if (SANS_IO.includes(from) && module.namesBun) faults.push(`${module.path}: ${from} does no I/O, but names Bun`);
  return faults;
}

/** Files that import each other in a circle, as one text a circle. Imports of types are erased and close no circle. */
export function importCircles(modules: readonly Module[]): string[] {
  const targets = new Map(modules.map((m) => [m.path, m.imports.filter((i) => i.isOurs && !i.isTypeOnly)]));
  const done = new Set<string>();
  const circles: string[] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) circles.push([...trail.slice(start), path].join(" → "));
    if (start >= 0 || done.has(path)) return;
    for (const next of targets.get(path) ?? []) walk(next.target, [...trail, path]);
    done.add(path);
  };
  for (const path of targets.keys()) walk(path, []);
  return circles;
}

/** Files that name each other in a circle, types included, as groups: within one each file leads to each other one. */
export function typeCircles(modules: readonly Pick<Module, "path" | "imports">[]): string[][] {
  const targets = new Map(modules.map((m) => [m.path, m.imports.filter((i) => i.isOurs).map((i) => i.target)]));
  const reached = new Map([...targets.keys()].map((path) => [path, reachable(path, targets)]));
  const groups = new Map<string, string[]>();
  for (const [path, others] of reached) {
    if (!others.has(path)) continue;
    const group = [...others].filter((other) => reached.get(other)?.has(path)).toSorted();
    groups.set(group[0]!, group);
  }
  return [...groups.values()];
}

function reachable(path: string, targets: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...(targets.get(path) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    waiting.push(...(targets.get(next) ?? []));
  }
  return found;
}

// The line of the law that a file falls under: `core`, `bin`, `features/*/control`; null for a file that lies in none.
function folderOf(path: string): string | null {
  const [top, folder, rest] = path.split("/");
  if (CONTROL_HALF.test(path)) return "features/*/control";
  const name = top === "src" && rest !== undefined ? folder! : top!;
  return name in ALLOWED ? name : null;
}

function ownFault(path: string, from: string, { target }: Import): string | null {
  if (ALSO_ALLOWED.some((rule) => rule.from.test(path) && rule.to.test(target))) {
    return null;
  }
  const to = folderOf(target);
  if (to === null || target.startsWith("tests/")) return `imports ${target}, which is not part of the gateway`;
  if (isOfFeature(from) && isOfFeature(to)) return featureFault(path, target);
  return to === from || ALLOWED[from]!.includes(to) ? null : `${from} may not import ${to} (${target})`;
}

function isOfFeature(folder: string): boolean {
  return folder === "features" || folder === "features/*/control";
}

function featureFault(path: string, target: string): string | null {
  if (featureOf(path) !== featureOf(target)) return `a feature imports the feature ${featureOf(target)}`;
  return CONTROL_HALF.test(target) && !CONTROL_HALF.test(path)
    ? `the data plane imports the control half ${target}`
    : null;
}

function foreignFault(from: string, target: string, packages: readonly string[]): string | null {
  if (from === "core") return `core imports nothing, but ${target}`;
  if (SANS_IO.includes(from) && IO_MODULES.test(target)) return `${from} does no I/O, but imports ${target}`;
  if (/^(node|bun)(:|$)/.test(target)) return null;
  const name = target.split("/", target.startsWith("@") ? 2 : 1).join("/");
  return packages.includes(name) ? null : `${target} is no dependency of the gateway`;
}

function featureOf(path: string): string {
  return dirname(path).split("/")[2] ?? "(none)";
}
