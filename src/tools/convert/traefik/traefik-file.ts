import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type YAMLMap,
} from "yaml";
import { ConvertFault, MAX_DEPTH, MAX_STATEMENTS, type Place, Statement } from "../statement.ts";

/**
 * Reads a file of Traefik's file provider, YAML or TOML: a key is a directive, its section a block, its values the words. Each entry of
 * a list of sections is a directive `-`. docs/migrate-traefik.md
 * @throws ConvertFault if the file is neither
 */
export function readTraefik(file: string, text: string): Statement[] {
  const isToml = file.endsWith(".toml") || (!/\.ya?ml$/.test(file) && /^[ \t]*\[+[\w."-]+\]+[ \t]*$/m.test(text));
  return isToml ? fromToml(file, text) : fromYaml(file, text);
}

function fromYaml(file: string, text: string): Statement[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false });
  if (!Array.isArray(documents)) return [];
  const made: Statement[] = [];
  for (const document of documents) {
    const [fault] = document.errors;
    if (fault !== undefined) throw new ConvertFault({ file, line: lines.linePos(fault.pos[0]).line }, reasonOf(fault));
    const reader = new YamlReader(file, lines);
    if (isMap(document.contents)) made.push(...reader.pairs(pairsOf(document.contents), null, 0));
  }
  return made;
}

/** The first line of an error's message. */
function reasonOf(error: Error): string {
  // What the parsers say of a text with thousands of brackets in each other.
  if (error.message.startsWith("Maximum call stack size exceeded")) return "nested too deep";
  return error.message.split("\n")[0]!;
}

type YamlPair = Pair<Node, Node | null>;

function pairsOf(map: YAMLMap): readonly YamlPair[] {
  return map.items as unknown as readonly YamlPair[];
}

/** Makes directives of a document: aliases are what their anchors name, `<<` is what it merges. */
class YamlReader {
  private readonly file: string;
  private readonly lines: LineCounter;
  private readonly anchors: Map<string, Node> = new Map();
  private count = 0;

  constructor(file: string, lines: LineCounter) {
    this.file = file;
    this.lines = lines;
  }

  pairs(pairs: readonly YamlPair[], parent: Statement | null, depth: number): Statement[] {
    const [first] = pairs;
    if (depth > MAX_DEPTH && first !== undefined) throw new ConvertFault(this.place(first.key), "nested too deep");
    return this.merged(pairs).map(({ key, value }) => {
      const place = this.place(key);
      const name = keyName(isScalar(key) ? String(key.value) : String(key), parent);
      const meant = this.meant(value, key);
      if (isMap(meant)) {
        const statement = new Statement(place, [name], parent, true);
        statement.block!.push(...this.pairs(pairsOf(meant), statement, depth + 1));
        return statement;
      }
      const items = isSeq(meant) ? meant.items.map((one) => this.meant(one as Node, key)) : [];
      if (items.some((one) => isMap(one))) {
        const statement = new Statement(place, [name], parent, true);
        for (const item of items) {
          const entry = new Statement(item === null ? place : this.place(item), ["-"], statement, true);
          if (isMap(item)) entry.block!.push(...this.pairs(pairsOf(item), entry, depth + 2));
          statement.block!.push(entry);
        }
        return statement;
      }
      const words = isSeq(meant) ? items : meant === null ? [] : [meant];
      return new Statement(place, [name, ...words.map(wordOf)], parent, false);
    });
  }

  /** What a map says itself, then what it merges: the earlier one counts. */
  private merged(pairs: readonly YamlPair[]): readonly YamlPair[] {
    const isMerge = ({ key }: YamlPair): boolean => isScalar(key) && key.value === "<<" && key.type === "PLAIN";
    if (!pairs.some(isMerge)) return pairs;
    const all = new Map<string, YamlPair>();
    const add = (list: readonly YamlPair[]): void => {
      for (const pair of list) if (!all.has(wordOf(pair.key))) all.set(wordOf(pair.key), pair);
    };
    add(pairs.filter((pair) => !isMerge(pair)));
    for (const { key, value } of pairs.filter(isMerge)) {
      const meant = this.meant(value, key);
      const parts = isSeq(meant) ? meant.items.map((one) => this.meant(one as Node, key)) : [meant];
      for (const part of parts) {
        if (!isMap(part)) throw new ConvertFault(this.place(key), "<< merges sections alone");
        add(this.merged(pairsOf(part)));
      }
    }
    return [...all.values()];
  }

  /** The value itself, or that of its anchor. @param key the key that it is at */
  private meant(value: Node | null, key: Node): Node | null {
    if (++this.count > MAX_STATEMENTS) throw new ConvertFault(this.place(key), "too many values");
    if (!isAlias(value)) {
      if (value !== null && "anchor" in value && value.anchor !== undefined) this.anchors.set(value.anchor, value);
      return value;
    }
    const found = this.anchors.get(value.source);
    if (found === undefined)
      throw new ConvertFault(this.place(value), `no anchor ${value.source} is before this alias`);
    return found;
  }

  private place(node: Node): Place {
    return { file: this.file, line: this.lines.linePos(node.range?.[0] ?? 0).line };
  }
}

function wordOf(node: unknown): string {
  return isScalar(node) ? String(node.value ?? "") : String(node ?? "");
}

function fromToml(file: string, text: string): Statement[] {
  let value: object;
  try {
    value = Bun.TOML.parse(text);
  } catch (error) {
    // The parser of the runtime does not say where.
    throw new ConvertFault({ file, line: 0 }, error instanceof Error ? reasonOf(error) : "no TOML");
  }
  const finder = new TomlLines(text);
  return tableOf(value as Record<string, unknown>, null, [], { file, finder });
}

/** The same for sections and values that stand in no file, such as labels. @param file their name in messages */
export function sectionStatements(value: Readonly<Record<string, unknown>>, file: string): Statement[] {
  return tableOf(value, null, [], { file, finder: NO_LINES });
}

const NO_LINES = { lineOf: () => 0 };

function tableOf(
  table: Readonly<Record<string, unknown>>,
  parent: Statement | null,
  path: readonly string[],
  at: { readonly file: string; readonly finder: Pick<TomlLines, "lineOf"> },
): Statement[] {
  if (path.length > MAX_DEPTH)
    throw new ConvertFault({ file: at.file, line: at.finder.lineOf(path) }, "nested too deep");
  return Object.entries(table).map(([written, value]) => {
    const own = [...path, written];
    const name = keyName(written, parent);
    const place = { file: at.file, line: at.finder.lineOf(own) };
    const isTable = (one: unknown): one is Record<string, unknown> =>
      typeof one === "object" && one !== null && !Array.isArray(one) && !(one instanceof Date);
    if (isTable(value)) {
      const statement = new Statement(place, [name], parent, true);
      statement.block!.push(...tableOf(value, statement, own, at));
      return statement;
    }
    if (Array.isArray(value) && value.some(isTable)) {
      const statement = new Statement(place, [name], parent, true);
      for (const item of value.filter(isTable)) {
        const entry = new Statement(place, ["-"], statement, true);
        entry.block!.push(...tableOf(item, entry, own, at));
        statement.block!.push(entry);
      }
      return statement;
    }
    return new Statement(place, [name, ...(Array.isArray(value) ? value : [value]).map(String)], parent, false);
  });
}

/** Of longer names the lines are not looked for. */
const MAX_NAME = 1000;

/** Finds the line of a key, or of what it is in. The parser of the runtime tells no lines. */
class TomlLines {
  /** By the whole name of a table or key. */
  private readonly lines: Map<string, number> = new Map();

  constructor(text: string) {
    let table = "";
    for (const [i, line] of text.split("\n").entries()) {
      const header = /^\s*\[+([^[\]][^\]]*)\]/.exec(line)?.[1];
      if (header !== undefined) table = plainName(header);
      const [before = "", ...value] = header === undefined ? line.split("=", 2) : [];
      const key = value.length > 0 && !before.includes("#") ? before : undefined;
      const name = key === undefined ? table : [table, plainName(key)].filter((part) => part !== "").join(".");
      if (name.length > MAX_NAME) continue;
      // What a name is within begins there, too, if no line says it itself.
      for (let end = name.length; end > 0 && !this.lines.has(name.slice(0, end)); end = name.lastIndexOf(".", end - 1))
        this.lines.set(name.slice(0, end), i + 1);
    }
  }

  lineOf(path: readonly string[]): number {
    for (let length = path.length; length > 0; length--) {
      const line = this.lines.get(plainName(path.slice(0, length).join(".")));
      if (line !== undefined) return line;
    }
    return 1;
  }
}

function plainName(text: string): string {
  return text.replace(/["'\s]/g, "");
}

/** Sections of which the keys are names that the user has chosen, by the section that they are in. */
const OF_NAMES: ReadonlySet<string> = new Set([
  "http routers",
  "http services",
  "http middlewares",
  "http serverstransports",
  "tcp routers",
  "tcp services",
  "tcp middlewares",
  "tcp serverstransports",
  "udp routers",
  "udp services",
  "tls options",
  "tls stores",
  " entrypoints",
  " certificatesresolvers",
]);
const OF_FIELDS = /^(customrequestheaders|customresponseheaders|sslproxyheaders|headers|plugin|defaultgeneratedcert)$/;

/** A key as docs of Traefik write it: it takes keys in any letter case, but for names that the user has chosen. */
function keyName(name: string, parent: Statement | null): string {
  const within = parent?.name.toLowerCase() ?? "";
  const outer = parent?.parent?.name.toLowerCase() ?? "";
  const isTop = parent !== null && (parent.parent === null || parent.parent.parent === null);
  if (parent !== null && isTop && OF_NAMES.has(`${outer} ${within}`)) return name;
  // The section `headers` of a middleware has keys of its own; that of a health check has fields.
  const isOfFields =
    OF_FIELDS.test(within) && !(within === "headers" && parent?.parent?.parent?.name === "middlewares");
  return isOfFields ? name : (KEYS.get(name.toLowerCase()) ?? name);
}

/** THE keys that decide something here, by their lower case. */
const KEYS: ReadonlyMap<string, string> = new Map(
  `http tcp udp tls routers services middlewares serversTransports entryPoints rule service priority options stores certificates
certResolver certFile keyFile clientAuth clientAuthType passthrough loadBalancer weighted mirroring failover mirrors fallback servers
url address weight passHostHeader healthCheck sticky cookie name percent path interval timeout status hostname port scheme
responseForwarding serversTransport insecureSkipVerify serverName rootCAs forwardingTimeouts dialTimeout responseHeaderTimeout
secure httpOnly sameSite chain headers basicAuth digestAuth forwardAuth ipAllowList ipWhiteList rateLimit compress buffering retry
grpcWeb contentType stripPrefix stripPrefixRegex addPrefix replacePath replacePathRegex redirectScheme redirectRegex inFlightReq
circuitBreaker errors passTLSClientCert plugin sourceRange ipStrategy depth excludedIPs users usersFile realm removeHeader headerField
trustForwardHeader authRequestHeaders authResponseHeaders prefixes prefix forceSlash regex replacement permanent average period burst
sourceCriterion minResponseBodyBytes encodings maxRequestBodyBytes attempts customRequestHeaders customResponseHeaders allowedHosts
frameDeny customFrameOptionsValue contentTypeNosniff browserXssFilter referrerPolicy contentSecurityPolicy permissionsPolicy stsSeconds
stsIncludeSubdomains stsPreload sslRedirect proxyProtocol version forwardedHeaders trustedIPs insecure`
    .split(/\s+/)
    .map((name) => [name.toLowerCase(), name]),
);
