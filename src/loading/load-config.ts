import { dirname } from "node:path";
import { type ConfigFault, type KeyPath, sortFaults } from "../config/config-fault.ts";
import {
  endsDocument,
  type FoundFile,
  findConfig,
  findRoutes,
  readConfigText,
  SYSTEM_CONFIG,
} from "../config/config-file.ts";
import { ConfiguredFiles, NoFiles, noFile } from "../config/configured-file.ts";
import { deepFreeze } from "../config/deep-freeze.ts";
import { FaultLog } from "../config/fault-log.ts";
import { unknownKey } from "../config/piece.ts";
import { NO_SECRET_FILES, SecretFiles } from "../config/secret-file.ts";
import { SharedParts } from "../config/shared-parts.ts";
import type { Environment } from "../config/variable-expansion.ts";
import { readYaml, type YamlSource } from "../config/yaml-source.ts";
import { isBelow } from "../core/folder-path.ts";
import { series } from "../core/number-text.ts";
import { isObject } from "../core/value-kind.ts";
import { checkAutoDomains } from "../features/acme/orders.ts";
import { noteListFaults } from "../features/lists/list-notes.ts";
import { readMapList } from "../features/maps/map-list.ts";
import { type MapConfig, resolveMaps, routeMaps } from "../features/maps/settings.ts";
import { checkWafRules } from "../features/waf/settings.ts";
import { hasTargets, type RouteConfig } from "../routes/route-config.ts";
import { ROUTE_FORMAT } from "../routes/route-format.ts";
import { RouteSchemas } from "../routes/route-schema.ts";
import type { RouteSource } from "../routes/route-source.ts";
import { type RouteTest, routeTests } from "../routes/route-tests.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { StreamConfig } from "../routes/streams/stream-config.ts";
import { configFile as configBlock } from "../settings/config-settings.ts";
import { checkLimits } from "../settings/limit-check.ts";
import type { Sections } from "../settings/sections.ts";
import { noteLeftBySidecar } from "../settings/sidecar-check.ts";
import { type BesideRoutes, besideRoutes, type LeftFile, type RouteMemory } from "./beside-routes.ts";
import { noteClearSignIn, noteEmptyPlaceholders, type WrittenPlace } from "./empty-placeholders.ts";
import { noteGuests } from "./guest-routes.ts";
import { type JoinedRoutes, joinedRoutes, type RoutePart, type ShadowedRoute } from "./joined-routes.ts";
import { checkClientAuth, checkListeners, checkShortForm, checkStreamListeners } from "./listener-check.ts";
import { noteUnknownMaps } from "./map-placeholders.ts";
import { type ReadingGround, RenewedReading } from "./renewed-reading.ts";
import { type RouteFile, type RouteFolder, routeFolder } from "./route-folder.ts";
import { resolveRoutes } from "./route-resolution.ts";
import { asItIs, type SourceListener, withSourceListeners } from "./source-listeners.ts";
import type { PlacedEntries } from "./stream-resolution.ts";

/** What `loadConfig` needs to know; it looks at nothing else but the files themselves. */
export interface ConfigRequest {
  /** `--config`, or null for the usual places. */
  readonly configPath: string | null;
  /** `--routes`, or null for `routes.yaml` beside the configuration. */
  readonly routesPath: string | null;
  readonly cwd: string;
  /** The file that edge reads if `cwd` has no configuration; SYSTEM_CONFIG by default. */
  readonly systemConfig?: string;
  /** For `${NAME}`; `process.env` fits. */
  readonly env: Environment;
  /** Rule names for `disabled_rules` and `exclusions`; without them, or with none, that check is left out. */
  readonly knownWafRules?: readonly string[];
  /** Looks at a configuration that is in order by itself, as the gateway that serves it would see it; without it that is left out. */
  readonly judge?: RouteJudge;
  /** Texts in place of the files at the paths. */
  readonly given?: GivenFiles;
  /** The values of `${file:NAME}` so far; absent: none. */
  readonly secrets?: SecretFiles;
  /** Absolute paths of files that have ended with `...` before: without it, they are cut off. */
  readonly endedFiles?: ReadonlySet<string>;
  /** Lists of routes of other sources than files, in their order. */
  readonly routeFiles?: readonly RouteFile[];
  /** Listeners of sources, beside those of config.yaml. */
  readonly listeners?: readonly SourceListener[];
  /** The lists beside routes.yaml at the last load, and whether unchanged ones need no reading. */
  readonly memory?: RouteMemory;
  readonly isPartial?: boolean;
  /** Most faults in the result, 100 by default; a last one says how many follow. */
  readonly maxFaults?: number;
}

/** Configuration and routes from elsewhere; `path` says from which folder paths in them count. */
export interface GivenFiles {
  /** Null for the embedded defaults. */
  readonly config: FoundFile | null;
  /** Null if there are none. */
  readonly routes: FoundFile | null;
}

/** Notes faults that several routes have together. */
type RouteJudge = (config: RuntimeConfig, notes: RouteNotes) => void;

/** Takes faults and warnings about a key of a route, by the route's place in `config.routes`. */
export interface RouteNotes {
  fault(route: number, key: string, message: string): void;
  warn(route: number, key: string, message: string): void;
}

/** The files that a configuration came from, absolute; "" if none was. */
export interface ConfigSources {
  readonly config: string;
  readonly routes: string;
  /** The same as they were named or found, for the next time; null if none was. */
  readonly names: { readonly config: string | null; readonly routes: string | null };
  /** Those of them that end with `...`, absolute. */
  readonly ended: readonly string[];
  /** Their texts; null for a missing file. */
  readonly texts: { readonly config: string | null; readonly routes: string | null };
}

/** The lists of routes beside routes.yaml, after reading. */
export interface BesideFiles {
  readonly left: readonly LeftFile[];
  readonly shadowed: readonly ShadowedRoute[];
  /** Folders that have them. */
  readonly folders: readonly string[];
  /** Tells them as they were read from as they are. */
  readonly stamp: string;
}

export type ConfigResult =
  | {
      readonly ok: true;
      readonly config: RuntimeConfig;
      readonly sources: ConfigSources;
      /** No configuration file was there: the embedded defaults serve. */
      readonly usingDefaults: boolean;
      readonly warnings: readonly ConfigFault[];
      /** What routes.yaml says under `tests`; `edge check` runs them. */
      readonly tests: readonly RouteTest[];
      readonly beside: BesideFiles;
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[]; readonly warnings: readonly ConfigFault[] };

/**
 * Finds, reads and checks `config.yaml` and `routes.yaml`. Gives the resolved, frozen configuration, or every fault of
 * both files at once, in reading order. Paths inside a file count from that file's folder. docs/configuration.md#files
 */
export function loadConfig(request: ConfigRequest): ConfigResult {
  return renewedResult(request) ?? wholeResult(request);
}

function wholeResult(request: ConfigRequest): ConfigResult {
  const { config: configFile, routes: routesFile } = request.given ?? foundFiles(request);
  const texts: FileTexts = new Map();
  const config = configFile === null ? EMBEDDED_DEFAULTS : read(configFile, request, texts);
  const routes = routesFile === null ? null : read(routesFile, request, texts);
  const configLog = new FaultLog(config);
  const routesLog = routes === null ? null : new FaultLog(routes);
  const baseDir = configFile === null ? request.cwd : dirname(configFile.path);
  const written = readConfig(config, configLog, baseDir, request.knownWafRules ?? []);
  const { main, left: closed } = withSourceListeners(written, request.listeners ?? [], baseDir);
  const shared = request.memory?.partsFor(request.isPartial === true) ?? new SharedParts();
  const own =
    routes === null
      ? NO_ROUTES
      : readRoutes(routes, routesLog!, routesFile!, main, request, { parts: shared, maps: [] });
  const { entries, base, maps, tests } = own;
  if (config.readable && routesLog !== null) checkStreamListeners(main, entries.streams, base, routesLog);
  noteForgottenWords(config.value, main.server.cache.enabled, configLog);
  checkShortForm(config.value, main, configLog);
  noteLeftBySidecar(config.value, main, configLog);
  const { beside, folder, away } = readBeside(main, config.readable, configLog, request, { parts: shared, maps });
  const first = routesLog === null ? [] : [{ origin: fileOrigin(routesFile), ...own, log: routesLog }];
  const { joined, parts, left, streams } = judgedRoutes(first, beside, (all, some) => {
    noteGuests(all, beside, main.server.routeOrder !== "path_first");
    notePublished(all.routes, configFile, configLog);
    if (config.readable) noteUnserved(main, all.routes, configFile, routes !== null, configLog);
    if ([configLog, ...some.map(({ log }) => log)].some((log) => log.faults.length > 0)) return;
    const known = { ...main, routes: all.routes, streams: streamsIn(some), maps };
    const files = writtenIn(config, configLog, routes, routesLog, base);
    noteEmptyPlaceholders(known, entries.routes, files);
    noteClearSignIn(known, entries.routes, files);
    noteUnknownMaps(maps, [files.server, files.routes]);
    request.judge?.(known, notesOf(all));
  });
  const whole = { ...main, routes: joined.routes, streams, maps };
  const textOf = (file: FoundFile | null): string | null => (file === null ? null : (texts.get(file.path) ?? ""));
  const logs = [configLog, ...parts.map(({ log }) => log)];
  const faults = notedIn(logs, "faults", request.maxFaults);
  const warnings = notedIn(logs, "warnings");
  if (faults.length > 0) return { ok: false, faults, warnings };
  const result: GoodResult = {
    ok: true,
    config: deepFreeze(whole),
    sources: {
      config: configFile?.path ?? "",
      routes: routesFile?.path ?? "",
      names: { config: configFile?.name ?? null, routes: routesFile?.name ?? null },
      ended: [...texts].flatMap(([path, text]) => (endsDocument(text) ? [path] : [])),
      texts: { config: textOf(configFile), routes: textOf(routesFile) },
    },
    usingDefaults: configFile === null,
    warnings,
    tests,
    beside: { left: [...closed, ...away, ...left], shadowed: joined.shadowed, ...placesOf(folder) },
  };
  noteReading(request, result, main, { beside, joined, shares: { parts: shared, maps } });
  return result;
}

/** Remembers a reading that the next one can continue: files of a folder may have changed by then. */
function noteReading(
  request: ConfigRequest,
  result: GoodResult,
  main: Sections,
  { beside, joined, shares }: { beside: readonly BesideRoutes[]; joined: JoinedRoutes; shares: ListShares },
): void {
  const { memory, isPartial } = request;
  if (memory === undefined || isPartial !== true || main.providers.directory.path !== "") return;
  const reading = new RenewedReading({
    ...{ ground: groundOf(request), config: result.config, beside, joined },
    read: (file, text) => partOf(file, text, main, request, shares),
    judge: (known, some) => request.judge?.({ ...known, routes: some.routes }, notesOf(some)),
  });
  lastReadings.set(memory, { reading, result });
}

/** The result of the last reading with the lists that have changed since; null if all is to be read. */
function renewedResult(request: ConfigRequest): ConfigResult | null {
  const { memory, isPartial, routeFiles = [] } = request;
  if (memory !== undefined && isPartial !== true) lastReadings.delete(memory);
  const last = memory === undefined ? undefined : lastReadings.get(memory);
  if (last === undefined) return null;
  const note = (path: string, text: string, part: RoutePart): void => memory!.note(path, text, "", part);
  const config = last.reading.next(groundOf(request), routeFiles, note);
  if (config === null) lastReadings.delete(memory!);
  return config === null ? null : { ...last.result, config };
}

type GoodResult = Extract<ConfigResult, { readonly ok: true }>;

/** The last reading of all lists for a gateway, if the next one can continue it. */
const lastReadings: WeakMap<RouteMemory, { readonly reading: RenewedReading; readonly result: GoodResult }> =
  new WeakMap();

function groundOf({ given, listeners = [] }: ConfigRequest): ReadingGround {
  const files = given === undefined ? [] : [given.config, given.routes];
  const texts = files.map((file) => (file === null ? null : `${file.path}\n${readConfigText(file)}`));
  return { texts, listeners };
}

function placesOf({ folders, stamp }: RouteFolder): Pick<BesideFiles, "folders" | "stamp"> {
  return { folders, stamp };
}

function fileOrigin(file: FoundFile | null): RoutePart["origin"] {
  return { source: "file", name: file?.name ?? "" };
}

function notedIn(logs: readonly FaultLog[], kind: "faults" | "warnings", most: number = MAX_FAULTS): ConfigFault[] {
  return sortFaults(
    logs.flatMap((log) => log[kind]),
    most,
  );
}

/** The lists beside routes.yaml. */
function readBeside(
  main: Sections,
  isReadable: boolean,
  log: FaultLog,
  request: ConfigRequest,
  shares: ListShares,
): {
  readonly beside: readonly BesideRoutes[];
  readonly folder: RouteFolder;
  /** The folder, if it cannot be read and its last good files serve. */
  readonly away: readonly LeftFile[];
} {
  const { directory } = main.providers;
  const folder = routeFolder(directory);
  const at = ["providers", "directory"];
  for (const name of folder.unbound)
    log.warn([...at, "hosts", name], "no file and no folder of this name is in the folder: it bounds none");
  const kept = directory.watch && folder.fault !== "" ? (request.memory?.folderOf(directory.path) ?? null) : null;
  if (folder.fault === "") request.memory?.noteFolder(directory.path, folder.files);
  else if (kept === null) log.fault([...at, "path"], folder.fault);
  const files = isReadable ? [...(kept ?? folder.files), ...(request.routeFiles ?? [])] : [];
  const beside = besideRoutes(files, request.memory ?? null, request.isPartial === true, (file, text) =>
    partOf(file, text, main, request, shares),
  );
  if (kept === null) return { beside, folder, away: [] };
  const fault = { file: directory.path, line: 0, col: 0, path: "", message: folder.fault };
  return { beside, folder, away: [{ source: "directory", name: directory.path, faults: [fault], isKept: true }] };
}

/** Joins and judges all lists. A list whose faults show only beside all others is left out as well, if it may be. */
function judgedRoutes(
  first: readonly RoutePart[],
  beside: readonly BesideRoutes[],
  judge: (joined: JoinedRoutes, parts: readonly RoutePart[]) => void,
): {
  readonly joined: JoinedRoutes;
  readonly parts: readonly RoutePart[];
  readonly left: readonly LeftFile[];
  readonly streams: readonly StreamConfig[];
} {
  const left = beside.flatMap((one) => one.left ?? []);
  const all = [...first, ...beside.flatMap(({ part }) => part ?? [])];
  const joined = joinedRoutes(all);
  judge(joined, all);
  const spoiled = beside.flatMap(({ file, part }) =>
    file.isLeftOut && (part?.log.faults.length ?? 0) > 0 ? part! : [],
  );
  if (spoiled.length === 0) return { joined, parts: all, left, streams: streamsIn(all) };
  const parts = all.filter((part) => !spoiled.includes(part));
  const without = joinedRoutes(parts);
  judge(without, parts);
  const also = spoiled.map(({ origin, log }) => ({ ...origin, faults: [...log.faults], isKept: false }));
  return { joined: without, parts, left: [...left, ...also], streams: streamsIn(parts) };
}

function streamsIn(parts: readonly RoutePart[]): readonly StreamConfig[] {
  return parts.flatMap(({ entries }) => entries.streams.filter((stream) => stream !== null));
}

/** Takes a note about a route to the list that has it. */
function notesOf({ places }: Pick<JoinedRoutes, "places">): RouteNotes {
  const pathOf = (route: number, key: string): KeyPath => [...places[route]!.part.base, places[route]!.index, key];
  return {
    fault: (route, key, message) => places[route]!.part.log.fault(pathOf(route, key), message),
    warn: (route, key, message) => places[route]!.part.log.warn(pathOf(route, key), message),
  };
}

/** The sections of config.yaml as far as they can be read, with defaults in place of faulty keys; null if the file is no YAML. routes.yaml is not read. */
export function readableSections(
  request: ConfigRequest,
): { readonly sections: Sections; readonly isFaulty: boolean } | null {
  const { config: configFile } = foundFiles(request);
  const config = configFile === null ? EMBEDDED_DEFAULTS : read(configFile, request, new Map());
  if (!config.readable) return null;
  const log = new FaultLog(config);
  const sections = readConfig(config, log, configFile === null ? request.cwd : dirname(configFile.path), []);
  return { sections, isFaulty: log.faults.length > 0 };
}

/** A digest of both files as they are, faulty or not: it tells whether they were changed. */
export function filesDigest(request: ConfigRequest): string {
  const { config, routes } = foundFiles(request);
  const hash = new Bun.CryptoHasher("sha256");
  for (const file of [config, routes]) hash.update(JSON.stringify(file === null ? null : readConfigText(file)));
  return hash.digest("hex");
}

function foundFiles({ configPath, routesPath, cwd, systemConfig = SYSTEM_CONFIG }: ConfigRequest) {
  const config = findConfig(configPath, cwd, systemConfig);
  return { config, routes: findRoutes(routesPath, config, cwd) };
}

/** The texts of both files, for checks that need all of them. */
function writtenIn(
  config: YamlSource,
  configLog: FaultLog,
  routes: YamlSource | null,
  routesLog: FaultLog | null,
  base: KeyPath,
): { readonly server: WrittenPlace; readonly routes: WrittenPlace | null } {
  const { server = null } = (config.value ?? {}) as { readonly server?: unknown };
  const root: unknown = routes === null ? null : routes.value;
  const list = base.length === 0 ? root : ((root ?? {}) as { readonly routes?: unknown }).routes;
  return {
    server: { value: server, path: ["server"], log: configLog },
    routes: routesLog === null ? null : { value: list, path: base, log: routesLog },
  };
}

/** The texts of the files, by their absolute paths. */
type FileTexts = Map<string, string>;

function read(file: FoundFile, request: ConfigRequest, texts: FileTexts): YamlSource {
  const text = readConfigText(file);
  if (typeof text !== "string") return unreadable(text);
  texts.set(file.path, text);
  if (!endsDocument(text) && request.endedFiles?.has(file.path)) {
    const message = 'truncated: the file ended with "..." before, and does not now';
    return unreadable({ file: file.name, line: text.split("\n").length, col: 1, path: "", message });
  }
  return sourceOf(file, text, request);
}

interface SourceRequest extends Pick<ConfigRequest, "env"> {
  /** Null allows none. */
  readonly secrets?: SecretFiles | null;
  /** Whether it is one of many files. */
  readonly isPlainFirst?: boolean;
}

function sourceOf(
  file: FoundFile,
  text: string,
  { env, secrets = new SecretFiles(), isPlainFirst }: SourceRequest,
): YamlSource {
  const reader = secrets === null ? NO_SECRET_FILES : secrets.reader(dirname(file.path), env.CREDENTIALS_DIRECTORY);
  const source = readYaml(file.name, text, env, reader, isPlainFirst);
  if (!source.readable || source.value !== null) return source;
  return unreadable({ file: file.name, line: 1, col: 1, path: "", message: EMPTY_FILE });
}

function unreadable(fault: ConfigFault): YamlSource {
  const { file, line, col } = fault;
  const position = { file, line, col };
  return {
    file,
    value: null,
    readable: false,
    faults: [fault],
    warnings: [],
    hide: (message) => message,
    position: () => position,
    within: () => position,
  };
}

function readConfig(source: YamlSource, log: FaultLog, baseDir: string, knownWafRules: readonly string[]): Sections {
  const values = log.read(configBlock, withoutExtensions(source.value), [], 3);
  const config = configBlock.resolve(values, { path: [], log, files: new ConfiguredFiles(log, baseDir) });
  checkWafRules(config.server.waf, knownWafRules, { path: ["server", "waf"], log });
  checkListeners(config, log);
  checkLimits(config, log);
  return config;
}

/** What routes.yaml holds. */
interface RoutesFile {
  readonly entries: PlacedEntries;
  /** The path of the list in the file. */
  readonly base: KeyPath;
  readonly tests: readonly RouteTest[];
  readonly maps: readonly MapConfig[];
}

/** Facts that all lists have in common. */
interface ListShares {
  /** What would let the list name files; absent or "" if it may. */
  readonly fileCure?: string;
  readonly parts: SharedParts;
  /** The maps of routes.yaml. */
  readonly maps: readonly MapConfig[];
}

const NO_ENTRIES: PlacedEntries = { routes: [], streams: [] };
const NO_ROUTES: RoutesFile = { entries: NO_ENTRIES, base: [], tests: [], maps: [] };

/** routes.yaml is a list, or a section with `routes:` and `tests:`. docs/configuration.md#files */
function readRoutes(
  source: YamlSource,
  log: FaultLog,
  file: FoundFile,
  { server, proxy, cluster }: Pick<Sections, "server" | "proxy" | "cluster">,
  { knownWafRules = [] }: ConfigRequest,
  shares: ListShares,
): RoutesFile {
  if (!source.readable) return NO_ROUTES;
  const around = {
    server,
    proxy,
    cluster,
    log,
    files:
      (shares.fileCure ?? "") === ""
        ? new ConfiguredFiles(log, dirname(file.path))
        : new NoFiles(log, dirname(file.path), shares.fileCure!),
    parts: shares.parts,
    knownWafRules,
    maps: shares.maps,
  };
  const root = withoutExtensions(source.value);
  if (root === null) return NO_ROUTES;
  if (Array.isArray(root)) return { ...NO_ROUTES, entries: resolveRoutes(root, { ...around, path: [] }) };
  if (typeof root !== "object") {
    log.fault([], 'expected a list of routes, each beginning with "- type:"');
    return NO_ROUTES;
  }
  const { routes = null, tests: entries = null, maps: written = null, ...others } = root as Record<string, unknown>;
  const odd = Object.keys(others);
  const { keys } = RouteSchemas.shared;
  const isRoute = odd.some((key) => keys.includes(key));
  if (isRoute)
    log.fault([odd[0]!], `a route begins with a dash: write "- ${odd[0]}: …" and indent the lines below`, true);
  else for (const key of odd) log.fault([key], unknownKey(key, ["routes", "tests", "maps"]), true);
  const tests = routeTests.resolve!(log.read(routeTests, entries, ["tests"], 1), { ...around, path: ["tests"] });
  const at = { ...around, path: ["maps"] };
  const maps = resolveMaps(log.read(routeMaps, written, at.path, 2), at);
  for (const { name, file, fileName } of maps)
    if (file !== "" && !log.isFaulty(["maps", name]))
      noteListFaults("map", { file, name: fileName }, readMapList, { log, path: ["maps", name, "file"] });
  const base = ["routes"];
  if (routes === null) return { entries: NO_ENTRIES, base, tests, maps };
  if (Array.isArray(routes))
    return { entries: resolveRoutes(routes, { ...around, maps, path: base }), base, tests, maps };
  log.fault(["routes"], 'expected a list of routes, each beginning with "- type:"');
  return { entries: NO_ENTRIES, base, tests, maps };
}

/** The routes of a list beside routes.yaml. */
function partOf(
  { source, file, hosts, isConfined = false }: RouteFile,
  text: string | ConfigFault,
  main: Sections,
  request: ConfigRequest,
  shares: ListShares,
): RoutePart {
  const origin = { source, name: file.name };
  const known = isConfined ? { ...request, env: {}, secrets: null } : request;
  const read =
    typeof text !== "string"
      ? unreadable(text)
      : source === "kubernetes"
        ? asItIs(file.name, JSON.parse(text))
        : sourceOf(file, text, { ...known, isPlainFirst: true });
  const yaml = source === "api" || (source === "etcd" && isOneRoute(read.value)) ? listOfOne(read) : read;
  const log = new FaultLog(yaml);
  const fileCure = isConfined ? (source === "api" ? API_FILES : `which takes providers.${source}.trusted`) : "";
  const { entries, base, tests, maps } = readRoutes(yaml, log, file, main, request, { ...shares, fileCure });
  if (isConfined) checkSockets(entries, base, log, fileCure);
  if (maps.length > 0) log.fault(["maps"], "stand in routes.yaml alone, for the routes of all files");
  if (tests.length > 0) log.warn(["tests"], "stand in routes.yaml alone: edge check runs none of this file");
  entries.streams.forEach((stream, i) => {
    if (stream !== null && source !== "kubernetes")
      log.fault([...base, i], `a stream (${stream.type}) stands in routes.yaml alone`);
  });
  if (hosts !== null) checkBounds(entries, hosts, base, { log, source });
  const routes = entries.routes.map((route) => (route === null ? null : { ...route, source }));
  return { origin, entries: { ...entries, routes }, base, log };
}

/** A UNIX socket is a file. */
function checkSockets({ routes }: PlacedEntries, base: KeyPath, log: FaultLog, cure: string): void {
  for (const [i, route] of routes.entries())
    if (route !== null && hasTargets(route) && route.targets.some(({ socketPath }) => socketPath !== ""))
      log.fault([...base, i], noFile(cure));
}

const API_FILES =
  "which takes an operator with internal_api.token, a user of internal_api.auth, or internal_api.socket";

/** Whether a text is a route by itself, not a list of them. */
function isOneRoute(value: unknown): boolean {
  return isObject(value) && !("routes" in value);
}

/** A text with one route as a list. */
function listOfOne(yaml: YamlSource): YamlSource {
  if (!yaml.readable) return yaml;
  if (Array.isArray(yaml.value)) {
    const { length } = yaml.value;
    if (length === 1) return yaml;
    const message = `expected one route, found ${length}`;
    return unreadable({ ...yaml.position([], false), path: "", message });
  }
  return {
    file: yaml.file,
    value: [withoutExtensions(yaml.value)],
    readable: true,
    faults: yaml.faults,
    warnings: yaml.warnings,
    hide: (message) => yaml.hide(message),
    position: (path, onKey) => yaml.position(path.slice(1), onKey),
    within: (path, offset) => yaml.within(path.slice(1), offset),
  };
}

/** A file that is bounded to hosts takes no other. docs/providers.md#one-file-for-each-team */
function checkBounds(
  { routes }: PlacedEntries,
  bounds: readonly string[],
  base: KeyPath,
  { log, source }: { readonly log: FaultLog; readonly source: RouteSource },
): void {
  const allowed = `${source === "directory" ? "this file" : "it"} may have routes for ${series(bounds)} alone (providers.${source}.hosts)`;
  for (const [i, route] of routes.entries()) {
    if (route === null) continue;
    if (route.hosts.length === 0) log.fault([...base, i], `${allowed}: add host`);
    for (const host of route.hosts)
      if (!bounds.some((bound) => isWithinHost(host, bound))) log.fault([...base, i, "host"], `${host}: ${allowed}`);
  }
}

/** Whether a host, or all hosts of a wildcard, are a bound's. */
function isWithinHost(host: string, bound: string): boolean {
  return host === bound || (bound.startsWith("*.") && host.endsWith(bound.slice(1)));
}

/** Keys that begin with `x-` at the top of a file hold anchors for use elsewhere in it, and nothing else. */
function withoutExtensions(root: unknown): unknown {
  if (typeof root !== "object" || root === null || Array.isArray(root)) return root;
  return Object.fromEntries(Object.entries(root).filter(([key]) => !key.startsWith("x-")));
}

/** Warns where everything is in order and yet next to nothing would be served. */
function noteUnserved(
  main: Sections,
  routes: readonly RouteConfig[],
  configFile: FoundFile | null,
  hasRoutesFile: boolean,
  log: FaultLog,
): void {
  // A sidecar and a transcoder have their routes in config.yaml.
  const { directory, docker, consul, nomad, etcd, kubernetes } = main.providers;
  const hasLive = kubernetes.enabled || [docker, consul, nomad, etcd].some((source) => source !== null);
  const hasLists = hasRoutesFile || directory.path !== "" || hasLive;
  if (configFile !== null && !hasLists && !main.sidecar.enabled && !main.transcoder.enabled) {
    log.warn([], "no routes.yaml beside this file: only the built-in endpoints are served");
  }
  checkClientAuth(main, routes.length, log);
  checkAutoDomains({ ...main, routes }, log);
  if (!main.proxy.enabled && routes.some(hasTargets)) {
    log.warn(["proxy", "enabled"], "is false: upstream routes answer 503");
  }
}

/** Warns of a cache that is described without a word on whether it is on, or that is on without one on cookies. */
function noteForgottenWords(root: unknown, isEnabled: boolean, log: FaultLog): void {
  const cache = (root as { server?: { cache?: unknown } | null } | null)?.server?.cache;
  if (typeof cache !== "object" || cache === null) return;
  if (!("enabled" in cache))
    log.warn(["server", "cache"], "the section is present, but enabled is not set: nothing is cached");
  if (isEnabled && ((cache as { cookies?: unknown }).cookies ?? null) === null)
    log.warn(["server", "cache"], COOKIES_UNSAID);
}

/** Warns if clients can fetch the configuration itself. */
function notePublished(routes: readonly RouteConfig[], configFile: FoundFile | null, log: FaultLog): void {
  if (configFile === null || configFile.bytes !== undefined) return;
  const mount = routes.find((route) => {
    const folder = ROUTE_FORMAT.types[route.type]!.folderOf?.(route) ?? "";
    return folder !== "" && isBelow(folder, configFile.path);
  });
  if (mount !== undefined)
    log.warn([], `this file is in the folder served at ${mount.prefix}, where every client can read it`);
}

/** Safe on any machine: loopback only, the WAF on. docs/configuration.md#files */
const EMBEDDED_DEFAULTS: YamlSource = {
  file: "embedded defaults",
  value: { server: { host: "127.0.0.1", waf: { enabled: true } } },
  readable: true,
  faults: [],
  warnings: [],
  hide: (message) => message,
  position: () => ({ file: "embedded defaults", line: 0, col: 0 }),
  within: () => ({ file: "embedded defaults", line: 0, col: 0 }),
};

const COOKIES_UNSAID =
  "cookies is not set: a response to a request with Cookie is stored for all clients, unless it forbids that itself. " +
  "Write cookies: bypass to store it only if it says public or s-maxage, or cookies: share to keep this";

/** An empty file is more often half-written than meant. */
const EMPTY_FILE = 'the file is empty; for no settings write "{}", for no routes "[]", or remove the file';
const MAX_FAULTS = 100;
