import { quote } from "../../config/config-fault.ts";
import { headerNameKind, pathPrefix, routeMethod } from "../../config/http-syntax.ts";
import { didYouMean } from "../../config/nearest-name.ts";
import { list, pairs, type Spot } from "../../config/piece.ts";
import { block, type ConfigOf, OFF, orWritten } from "../../config/row.ts";
import { cidr, flag, integer, size, text, textOrNumber, word } from "../../config/scalars.ts";
import { ruleFiles } from "./rule-files.ts";

/** Of bodies that forms, scripts and clients of APIs send. */
const MEDIA_TYPES: string[] = [
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "application/json",
  "*+json",
  "text/plain",
  "application/xml",
  "text/xml",
  "*+xml",
  "application/grpc",
  "*+proto",
];

/** Of programs, settings, logs and backups. */
const EXTENSIONS: string[] = [
  "asa asax ascx backup bak bat cer cfg cmd com config conf cs csproj csr dat db dbf dll dos htr htw ida idc idq inc ini key licx",
  "lnk log mdb old pass pdb pol printer pwd rdb resources resx sql swp sys vb vbs vbproj vsdisco webinfo xsd xsx",
].flatMap((line) => line.split(" "));

const wafProtocol = block(
  {
    enabled: { type: flag(), default: true, doc: "false: edge does not use the lists" },
    methods: {
      type: list(routeMethod(), "methods"),
      default: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
      doc: "methods that you accept, others score; an empty list allows all",
    },
    content_types: {
      type: list(text("a media type"), "media types"),
      default: MEDIA_TYPES,
      doc: "types of request bodies that you accept; *+json is any with that suffix; an empty list allows all",
    },
    restricted_files: {
      type: list(text("a file or folder"), "names"),
      example: ["phpinfo.php"],
      doc: "names in paths that score, beside those of FILES-001",
    },
    restricted_extensions: {
      type: list(text("an extension"), "extensions"),
      default: EXTENSIONS,
      doc: "file extensions that edge refuses",
    },
    headers: {
      type: list(headerNameKind(), "names of header fields"),
      default: ["Proxy", "Lock-Token", "Content-Range", "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"],
      doc: "fields that no client may send",
    },
  },
  { absent: OFF },
);

const jsonRule = word("detect", "refuse");
const wafJson = block({
  duplicate_keys: { type: jsonRule, default: "detect", doc: "JSON-001: two members of one name in an object" },
  invalid_utf8: {
    type: jsonRule,
    default: "detect",
    doc: "JSON-002: other bytes than UTF-8, or a byte order mark",
  },
  lone_surrogates: { type: jsonRule, default: "detect", doc: "JSON-003: half of a surrogate pair" },
  numbers: {
    type: jsonRule,
    default: "detect",
    doc: "JSON-004: numbers that doubles do not hold, -0, NaN, other spellings",
  },
  trailing_data: {
    type: jsonRule,
    default: "detect",
    doc: "JSON-005: data behind the value, comments, commas too many and the like",
  },
  depth: { type: jsonRule, default: "detect", doc: "JSON-006: more than 64 levels" },
});

/** docs/waf.md */
export const waf = block(
  {
    enabled: { type: flag(), default: true, doc: "false: edge inspects nothing" },
    mode: {
      type: word("enforce", "detection"),
      default: "enforce",
      guard: ["enforce"],
      doc: "enforce blocks with 403; detection only logs",
    },
    level: { type: integer(1, 2), default: 1, doc: "2 adds rules that find more and block more ordinary requests" },
    profile: {
      type: list(word("php", "java", "node", "python", "ruby", "sql", "mongo", "ldap", "files"), "words"),
      example: ["php"],
      doc: "technologies of your applications: level 1 gets their rules of level 2",
    },
    anomaly_threshold: { type: integer(1, 1_000_000), default: 5, doc: "edge blocks requests with this score or more" },
    max_inspect_body_size: {
      type: size(0, 16_777_216),
      default: "64KiB",
      field: "maxInspectBodyBytes",
      doc: "how many bytes of a body edge inspects, after decompression; 0: none",
    },
    over_limit: {
      type: word("inspect", "reject"),
      default: "inspect",
      doc: "larger bodies: inspect looks at the beginning, reject answers 413",
    },
    disabled_rules: {
      type: list(textOrNumber("a rule name"), "rule names"),
      example: ["SCANNER-001"],
      doc: 'rules that are off, by the names in waf_block lines and in "edge waf test"',
    },
    reveal_rules: {
      type: flag(),
      default: true,
      doc: "false: the 403 says neither score nor rules; the log does",
    },
    fields: {
      type: pairs(word("text"), "post.body: text"),
      example: { "post.body": "text" },
      doc: "parameters that hold code or rich text: edge does not inspect their content",
    },
    json: { type: wafJson, doc: "JSON that parsers read differently: detect logs it, refuse answers 403" },
    protocol: {
      type: wafProtocol,
      doc: "methods, types, files and fields that your applications accept; off without this section",
    },
    responses: {
      type: word("off", "detection", "enforce"),
      default: "off",
      guard: ["enforce"],
      doc: "leaks of origins, such as stack traces and SQL errors: detection logs them, enforce sends 502 instead",
    },
    rules: {
      type: ruleFiles(),
      example: ["./custom.conf"],
      doc: "files with your own ModSecurity rules, which run first",
    },
    allowed_ips: { type: list(cidr(), "networks"), example: ["192.0.2.9"], doc: "clients that skip the firewall" },
    exclusions: {
      doc: "rules that you switch off in places",
      type: list(
        block({
          rule: {
            type: textOrNumber("a rule name"),
            required: "the name of the rule to switch off here, such as SQLI-001",
            example: "SQLI-001",
            doc: "a rule, a family such as SQLI-*, or a number of the Core Rule Set; you may leave out path or param",
          },
          path: {
            type: pathPrefix(),
            absent: "",
            example: "/search",
            doc: "the rule is off at this path and all below it",
          },
          param: {
            type: text("a parameter name"),
            absent: "",
            example: "q",
            doc: "the rule is off for this parameter, header field or JSON member",
          },
        }),
        "exclusions",
      ),
    },
  },
  { absent: OFF },
);

const routeWafBlock = block({
  mode: {
    type: word("enforce", "detection", "off"),
    absent: null,
    example: "detection",
    doc: "as the server by default",
  },
  level: { type: waf.rows.level.type, absent: null, example: 2, doc: "in place of server.waf.level" },
  profile: { type: waf.rows.profile.type, absent: null, example: ["php"], doc: "in place of server.waf.profile" },
  anomaly_threshold: {
    type: waf.rows.anomaly_threshold.type,
    absent: null,
    example: 10,
    doc: "in place of server.waf.anomaly_threshold",
  },
  disabled_rules: {
    type: waf.rows.disabled_rules.type,
    absent: null,
    example: ["XSS-001"],
    doc: "beside server.waf.disabled_rules",
  },
  fields: {
    type: waf.rows.fields.type,
    absent: null,
    example: { "post.body": "text" },
    doc: "in place of server.waf.fields",
  },
  json: {
    type: waf.rows.json.type,
    absent: null,
    example: Object.fromEntries(Object.keys(wafJson.rows).map((key) => [key, "refuse"])),
    doc: "in place of server.waf.json",
  },
  responses: {
    type: waf.rows.responses.type,
    absent: null,
    example: "enforce",
    doc: "in place of server.waf.responses",
  },
  rules: { type: waf.rows.rules.type, absent: null, example: ["./shop.conf"], doc: "in place of server.waf.rules" },
  exclusions: {
    type: waf.rows.exclusions.type,
    absent: null,
    example: [{ rule: "SQLI-001", param: "q" }],
    doc: "beside server.waf.exclusions",
  },
});

/** `waf` of a route: missing keys are the server's; a bare word is the mode. docs/waf.md#at-a-route */
export const routeWaf: typeof routeWafBlock = orWritten(
  routeWafBlock,
  word("enforce", "detection", "off").form,
  (value) => (typeof value === "string" ? { mode: value } : value === false ? { mode: "off" } : value),
);

/** Notes rules that do not exist. An empty list of known ones leaves the check out. */
export function checkWafRules(
  config: Pick<WafConfig, "disabledRules" | "exclusions" | "rules">,
  ownRules: readonly string[],
  { path, log }: Pick<Spot, "path" | "log">,
): void {
  const written = config.rules.entries.flatMap((entry) => ("id" in entry ? [String(entry.id)] : []));
  const knownRules = ownRules.length === 0 ? ownRules : [...ownRules, ...written];
  const check = (rule: string, ...at: (string | number)[]): void => {
    const isPart = knownRules.includes(`~${rule}`);
    if (knownRules.length === 0 || knownRules.includes(rule) || (isPart && at[0] === "exclusions")) return;
    const names = knownRules.filter((name) => !name.startsWith("~"));
    const message = isPart
      ? `${rule} finds a part of what rules here find, and switches none of them off: name one of those, or write an exclusion`
      : `expected the name of a WAF rule, found ${quote(rule)}${didYouMean(rule, names)}`;
    log.fault([...path, ...at], message);
  };
  for (const [i, rule] of config.disabledRules.entries()) check(rule, "disabled_rules", i);
  for (const [i, { rule }] of config.exclusions.entries()) {
    const isFamily = rule.endsWith("-*") && knownRules.some((known) => known.startsWith(rule.slice(0, -1)));
    if (!isFamily) check(rule, "exclusions", i, "rule");
  }
}

export type WafConfig = ConfigOf<typeof waf>;
