/** What a variable holds. */
export const enum VariableKind {
  /** One text. */
  Single = 0,
  /** Texts with names, of which a selector chooses. */
  Map,
}

/** The variables that rules may look at. */
export const VARIABLES: ReadonlyMap<string, VariableKind> = new Map([
  ...named(
    VariableKind.Map,
    "ARGS ARGS_GET ARGS_POST ARGS_NAMES ARGS_GET_NAMES ARGS_POST_NAMES REQUEST_HEADERS REQUEST_HEADERS_NAMES REQUEST_COOKIES",
    "REQUEST_COOKIES_NAMES FILES FILES_NAMES FILES_SIZES TX MATCHED_VARS MATCHED_VARS_NAMES RESPONSE_HEADERS RESPONSE_HEADERS_NAMES XML",
  ),
  ...named(
    VariableKind.Single,
    "REQUEST_URI REQUEST_URI_RAW REQUEST_FILENAME REQUEST_BASENAME REQUEST_LINE REQUEST_METHOD REQUEST_PROTOCOL REQUEST_BODY",
    "REQUEST_BODY_LENGTH QUERY_STRING REMOTE_ADDR TLS_JA4 TLS_GROUP HTTP2_FINGERPRINT SERVER_NAME MATCHED_VAR MATCHED_VAR_NAME RESPONSE_STATUS RESPONSE_PROTOCOL",
    "RESPONSE_CONTENT_TYPE RESPONSE_CONTENT_LENGTH REQBODY_PROCESSOR REQBODY_ERROR REQBODY_ERROR_MSG ARGS_COMBINED_SIZE",
    "FILES_COMBINED_SIZE UNIQUE_ID",
  ),
]);

/** How an operator's argument is read. */
export const enum ArgumentKind {
  None = 0,
  /** A text with macros. */
  Text,
  /** A number, or macros. */
  Number,
  Expression,
  /** Words with blanks between them. */
  Phrases,
  /** Names of files with a phrase a line. */
  PhraseFiles,
  Networks,
  /** Names of files with a network a line. */
  NetworkFiles,
  /** Numbers and ranges of bytes. */
  Bytes,
}

export const OPERATORS: ReadonlyMap<string, ArgumentKind> = new Map([
  ...named(
    ArgumentKind.None,
    "unconditionalMatch noMatch detectSQLi detectXSS validateUrlEncoding validateUtf8Encoding",
  ),
  ...named(ArgumentKind.Text, "beginsWith endsWith contains containsWord streq strmatch within"),
  ...named(ArgumentKind.Number, "eq ge gt le lt"),
  ["rx", ArgumentKind.Expression],
  ["pm", ArgumentKind.Phrases],
  ...named(ArgumentKind.PhraseFiles, "pmFromFile pmf"),
  ["ipMatch", ArgumentKind.Networks],
  ...named(ArgumentKind.NetworkFiles, "ipMatchFromFile ipMatchF"),
  ["validateByteRange", ArgumentKind.Bytes],
]);

export const TRANSFORMATIONS: ReadonlySet<string> = new Set(
  [
    "none lowercase uppercase urlDecode urlDecodeUni htmlEntityDecode jsDecode cssDecode base64Decode base64DecodeExt hexDecode",
    "hexEncode compressWhitespace removeWhitespace removeNulls replaceNulls replaceComments removeComments removeCommentsChar",
    "normalizePath normalisePath normalizePathWin normalisePathWin trim trimLeft trimRight length sha1 md5 cmdLine escapeSeqDecode",
    "utf8toUnicode",
  ].flatMap((line) => line.split(" ")),
);

/** What other firewalls know and this one does not: the feature, and what to do in its place. */
export const UNSUPPORTED: ReadonlyMap<string, string> = new Map([
  ...feature("response bodies are not looked at: see waf.responses", "RESPONSE_BODY RESPONSE_ARGS RESPONSE_XML"),
  ...feature(
    "collections that outlive a request are not kept: use rate_limit of a route",
    "IP SESSION USER GLOBAL RESOURCE SESSIONID USERID initcol expirevar deprecatevar setsid setuid setrsc",
  ),
  ...feature("places are known to server.geo: use ip_rules.deny_countries", "GEO geoLookup geoLookupFromFile"),
  ...feature("no program and no script is run", "exec inspectFile SecRuleScript SCRIPT_FILENAME ENV setenv"),
  ...feature("no service is asked about a request", "rbl gsbLookup"),
  ...feature(
    "multipart bodies are judged by rule PROTOCOL-005",
    "MULTIPART_STRICT_ERROR MULTIPART_PART_HEADERS MULTIPART_UNMATCHED_BOUNDARY MULTIPART_FILENAME MULTIPART_NAME",
  ),
  ...feature("there is no audit log", "auditEngine auditLogParts sanitiseArg sanitiseMatched sanitiseMatchedBytes"),
  ...feature(
    "the time of day is no part of a request",
    "TIME TIME_DAY TIME_EPOCH TIME_HOUR TIME_MIN TIME_MON TIME_SEC TIME_WDAY TIME_YEAR",
  ),
  ...feature("rules do not wait and do not proxy: use the route's keys", "pause proxy"),
  ...feature(
    "bodies are bounded by server.waf.max_inspect_body_size",
    "requestBodyAccess requestBodyLimit responseBodyAccess responseBodyLimit",
  ),
  ...feature("a status cannot be set without deny or redirect", "SecRuleUpdateActionById"),
]);

/** Directives that are accepted and mean nothing here. */
export const IDLE_DIRECTIVES: ReadonlySet<string> = new Set(["seccomponentsignature"]);

/** Directives of other firewalls, by their names in lower case, with what takes their place. */
export const OTHER_DIRECTIVES: ReadonlyMap<string, string> = new Map([
  ["secrequestbodyaccess", "server.waf.max_inspect_body_size says how much of a body is inspected"],
  ["secrequestbodylimit", "server.max_body_bytes is the limit of bodies"],
  ["secrequestbodynofileslimit", "server.waf.max_inspect_body_size says how much of a body is inspected"],
  ["secrequestbodyinmemorylimit", "server.waf.max_inspect_body_size says how much of a body is inspected"],
  ["secrequestbodylimitaction", "server.waf.over_limit says what becomes of larger bodies"],
  ["secresponsebodyaccess", "response bodies are not looked at: see waf.responses"],
  ["secresponsebodymimetype", "response bodies are not looked at: see waf.responses"],
  ["secresponsebodylimit", "response bodies are not looked at: see waf.responses"],
  ["secresponsebodylimitaction", "response bodies are not looked at: see waf.responses"],
  ["secauditengine", "there is no audit log; matches are events of the log"],
  ["secauditlog", "there is no audit log; matches are events of the log"],
  ["secauditlogparts", "there is no audit log; matches are events of the log"],
  ["secauditlogtype", "there is no audit log; matches are events of the log"],
  ["secauditlogformat", "there is no audit log; matches are events of the log"],
  ["secauditlogrelevantstatus", "there is no audit log; matches are events of the log"],
  ["secdebuglog", "edge waf test says why a request is refused"],
  ["secdebugloglevel", "edge waf test says why a request is refused"],
  ["sectmpdir", "nothing is written to a folder"],
  ["secdatadir", "nothing is written to a folder"],
  ["secuploaddir", "nothing is written to a folder"],
  ["secargumentseparator", "the separator is &"],
  ["secargumentslimit", "the number of parameters is bounded: see docs/waf.md"],
  ["seccookieformat", "cookies are those of RFC 6265"],
  ["secunicodemapfile", "edge reads letters of full width as ASCII"],
  ["seccollectiontimeout", "collections that outlive a request are not kept"],
  ["secruleupdateactionbyid", "write the rule with other actions"],
  ["secrulescript", "no script is run"],
  ["secdataset", "write the phrases to a file, and @pmFromFile"],
  ["secwebappid", "routes have rules of their own: waf.rules"],
  ["secserversignature", "see server.security_headers"],
]);

function named<T>(kind: T, ...lines: string[]): [string, T][] {
  return lines.flatMap((line) => line.split(" ").map((name): [string, T] => [name, kind]));
}

function feature(cure: string, names: string): [string, string][] {
  return names.split(" ").map((name) => [name, cure]);
}
