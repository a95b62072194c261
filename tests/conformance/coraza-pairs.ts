import { TRANSFORMATION_OF } from "../../src/features/waf/seclang/transformations.ts";
import type { RuledRequest } from "./coraza.ts";

/** A request for a text of rules; what is not said is a plain GET. */
function asked(rules: string, request: Partial<Omit<RuledRequest, "rules">> = {}): RuledRequest {
  return {
    ...{ rules, method: "GET", target: "/", headers: [], body: "", client: "203.0.113.9", status: 0, fields: [] },
    ...request,
  };
}

function query(value: string): Partial<RuledRequest> {
  return { target: `/a/b.php?v=${encodeURIComponent(value)}&w=2` };
}

const VALUES = [
  "",
  "a",
  "A",
  "abc",
  "ABC def",
  "10",
  "-3",
  "007",
  "é",
  "a b  c",
  "select",
  "xselectx",
  "a,b",
  "/x/../y",
  "1a",
];

function operatorPairs(): RuledRequest[] {
  const operators = [
    ...["@rx ^a", "@rx (?i)^ABC", "@rx c$", "@rx ^$", "!@rx a", "a.c", "@rx \\d+", "@rx [^a-z]", "@rx (?:b|e)"],
    ...["@pm abc select", "!@pm abc", "@within a,abc,10", "@streq abc", "!@streq abc", "@beginsWith a", "@endsWith c"],
    ...[
      "@contains b",
      "@contains %{ARGS.w}",
      "@eq 10",
      "@eq 7",
      "@ge 0",
      "@gt 9",
      "@le 10",
      "@lt 0",
      "!@eq 10",
      "@eq %{ARGS.w}",
    ],
    ...[
      "@validateByteRange 32-126",
      "@validateByteRange 48-57",
      "@unconditionalMatch",
      "@noMatch",
      "@validateUtf8Encoding",
    ],
  ];
  return operators.flatMap((operator) =>
    VALUES.map((value) => asked(`SecRule ARGS:v "${operator}" "id:1,phase:2,deny"`, query(value))),
  );
}

/** What this gateway makes of a value, which must be what Coraza makes of it. */
function transformationPairs(): RuledRequest[] {
  const values = [
    ...[
      "Abc",
      "a b\tc\n",
      "%41+%2b%u0041",
      "%u ff%zz%4",
      "&lt;b&gt;&#65;&#x42;&amp",
      "\\x41\\u0042\\103\\n\\z",
      "\\41 \\000042g",
    ],
    ...[
      "YWJj",
      "YWJjZA==",
      "YWJj!ZGVm",
      "6162",
      "616",
      "a/*b*/c/*d",
      "a--b",
      "a#b",
      "a<!--b-->c",
      "/a/./b/../c//d/",
      "../a",
      "\\a\\..\\b",
    ],
    ...["  x  ", "a\0b", "日", 'c^md "/c" , ;dir', "", "a/*", "*/", "%", "x\\", "&", "&#;", ".", "a/.."],
  ];
  const names = Object.keys(TRANSFORMATION_OF).filter((name) => !NOT_OF_CORAZA.has(name));
  return names.flatMap((name) =>
    values.map((value) => {
      const made = TRANSFORMATION_OF[name]!(Buffer.from(value, "utf8").toString("latin1"));
      const hex = Buffer.from(made, "latin1").toString("hex");
      return asked(
        `SecRule REQUEST_HEADERS:v|ARGS:v "@rx ^${hex}$" "id:1,phase:2,deny,t:none,t:${name},t:hexEncode"`,
        query(value),
      );
    }),
  );
}

const NOT_OF_CORAZA: ReadonlySet<string> = new Set([]);

const FORM_REQUEST: Partial<RuledRequest> = {
  method: "POST",
  target: "/Dir%20x/file.php?a=1&B=two%20x&c=&a=3",
  headers: [
    ["Host", "shop.test:8080"],
    ["User-Agent", "probe/1"],
    ["Cookie", "sid=abc; theme=dark; bare"],
    ["X-One", "1"],
    ["X-Two", "2"],
    ["Content-Type", "application/x-www-form-urlencoded"],
    ["Content-Length", "17"],
  ],
  body: "p=x%26y&q=&r=3+4&",
  status: 404,
  fields: [
    ["Content-Type", "text/html"],
    ["X-Back", "yes"],
  ],
};

const VARIABLE_RULES: readonly string[] = [
  ...[
    "ARGS:a|@streq 1",
    "ARGS:a|@streq 3",
    "ARGS:A|@streq 1",
    "ARGS|@streq x&y",
    "ARGS_GET:p|@rx .",
    "ARGS_POST:a|@rx .",
  ],
  ...[
    "ARGS_NAMES|@streq B",
    "ARGS_GET_NAMES|@streq p",
    "ARGS_POST_NAMES|@streq p",
    "&ARGS|@eq 7",
    "&ARGS:a|@eq 2",
    "&ARGS:nope|@eq 0",
  ],
  ...[
    "ARGS:/^[a-c]$/|@streq two x",
    "ARGS,!ARGS:B|@contains two",
    "ARGS,!ARGS:/^b/|@contains two",
    "ARGS:b|@rx ^two x$",
  ],
  ...[
    "REQUEST_URI|@streq /Dir%20x/file.php?a=1&B=two%20x&c=&a=3",
    "REQUEST_URI_RAW|@beginsWith /Dir%20x",
    "QUERY_STRING|@contains %20",
  ],
  ...["REQUEST_FILENAME|@streq /Dir x/file.php", "REQUEST_BASENAME|@streq file.php", "REQUEST_METHOD|@streq POST"],
  ...["REQUEST_LINE|@rx ^POST /Dir%20x.* HTTP/1", "REQUEST_PROTOCOL|@streq HTTP/2.0", "REQUEST_HEADERS:x-one|@streq 1"],
  ...[
    "&REQUEST_HEADERS:/^X-/|@eq 2",
    "REQUEST_HEADERS_NAMES|@rx (?i)^x-two$",
    "REQUEST_COOKIES:sid|@streq abc",
    "REQUEST_COOKIES_NAMES|@streq theme",
  ],
  ...[
    "&REQUEST_COOKIES|@ge 2",
    "REQUEST_BODY|@contains x%26y",
    "REQUEST_BODY_LENGTH|@eq 17",
    "REMOTE_ADDR|@ipMatch 203.0.113.0/24",
  ],
  ...[
    "REMOTE_ADDR|@ipMatch 203.0.113.9,::1",
    "REMOTE_ADDR|@ipMatch 10.0.0.0/8",
    "ARGS_COMBINED_SIZE|@gt 5",
    "REQBODY_PROCESSOR|@streq URLENCODED",
  ],
  ...["REQBODY_ERROR|@eq 0", "FILES|@rx .", "&FILES|@eq 0", "MATCHED_VAR|@rx .", "TX:none|@rx .", "&TX:none|@eq 0"],
];

function variablePairs(): RuledRequest[] {
  const all = VARIABLE_RULES.map((text) => {
    const [variables = "", operator = ""] = text.split("|@");
    return asked(`SecRule ${variables.replaceAll(",", "|")} "@${operator}" "id:1,phase:2,deny"`, FORM_REQUEST);
  });
  const late = [
    "RESPONSE_STATUS|@eq 404",
    "RESPONSE_HEADERS:x-back|@streq yes",
    "RESPONSE_HEADERS_NAMES|@rx (?i)back",
    "RESPONSE_CONTENT_TYPE|@contains html",
  ];
  return [
    ...all,
    ...late.map((text) => {
      const [variables, operator] = text.split("|@");
      return asked(`SecRule ${variables} "@${operator}" "id:1,phase:3,deny,status:502"`, FORM_REQUEST);
    }),
  ];
}

function actionPairs(): RuledRequest[] {
  const matching = query("abc");
  const rules = [
    'SecAction "id:1,phase:1,deny,status:401"',
    'SecAction "id:1,phase:1,drop"',
    'SecAction "id:1,phase:1,redirect:https://example.com/x"',
    'SecAction "id:1,phase:1,redirect:https://example.com/x,status:307"',
    'SecAction "id:1,phase:1,pass"',
    'SecAction "id:1,phase:1,allow"\nSecAction "id:2,phase:1,deny"',
    'SecAction "id:1,phase:1,allow:phase"\nSecAction "id:2,phase:1,deny"',
    'SecAction "id:1,phase:1,allow:phase"\nSecAction "id:2,phase:2,deny"',
    'SecAction "id:1,phase:1,allow:request"\nSecAction "id:2,phase:2,deny"',
    'SecAction "id:1,phase:1,block"',
    'SecDefaultAction "phase:1,log,deny,status:406"\nSecAction "id:1,phase:1,block"',
    'SecDefaultAction "phase:1,log,deny,status:406"\nSecRule ARGS:v "abc" "id:1,phase:1"',
    'SecDefaultAction "phase:1,log,deny,status:406"\nSecRule ARGS:v "abc" "id:1,phase:1,pass"',
    'SecRule ARGS:v "abc" "id:1,phase:1,deny,chain"\nSecRule ARGS:w "@eq 2"',
    'SecRule ARGS:v "abc" "id:1,phase:1,deny,chain"\nSecRule ARGS:w "@eq 3"',
    'SecRule ARGS:v "abc" "id:1,phase:1,deny,chain,setvar:tx.a=1"\nSecRule ARGS:w "@eq 3"\nSecRule TX:a "@eq 1" "id:2,phase:1,deny"',
    'SecRule ARGS "@rx ." "id:1,phase:1,pass,setvar:tx.n=+1"\nSecRule TX:n "@eq 2" "id:2,phase:1,deny"',
    'SecAction "id:1,phase:1,pass,setvar:tx.a=5,setvar:tx.a=+3,setvar:tx.a=-1"\nSecRule TX:a "@eq 7" "id:2,phase:1,deny"',
    'SecAction "id:1,phase:1,pass,setvar:tx.x_%{ARGS.v}=%{ARGS.w}"\nSecRule TX:x_abc "@eq 2" "id:2,phase:1,deny"',
    'SecRule ARGS:v "@rx (a)(b)c" "id:1,phase:1,pass,capture"\nSecRule TX:2 "@streq b" "id:2,phase:1,deny"',
    'SecRule ARGS:v "@rx ^a" "id:1,phase:1,chain,deny"\nSecRule MATCHED_VAR "@streq abc"',
    'SecRule ARGS "@rx ." "id:1,phase:1,chain,deny"\nSecRule &MATCHED_VARS "@eq 2"',
    'SecRule ARGS "@rx ." "id:1,phase:1,chain,deny"\nSecRule MATCHED_VARS_NAMES "@streq ARGS:w"',
    'SecRule ARGS:v "@rx ^a" "id:1,phase:1,chain,deny"\nSecRule MATCHED_VAR_NAME "@streq ARGS:v"',
    'SecAction "id:1,phase:1,pass,skip:1"\nSecAction "id:2,phase:1,deny"\nSecAction "id:3,phase:1,deny,status:404"',
    'SecAction "id:1,phase:1,pass,skipAfter:END"\nSecAction "id:2,phase:1,deny"\nSecMarker END\nSecAction "id:3,phase:1,deny,status:404"',
    'SecAction "id:1,phase:1,pass,skipAfter:END"\nSecAction "id:2,phase:1,deny"\nSecMarker END',
    'SecAction "id:1,phase:1,pass,ctl:ruleRemoveById=2"\nSecAction "id:2,phase:1,deny"',
    'SecAction "id:1,phase:1,pass,ctl:ruleRemoveById=2-4"\nSecAction "id:3,phase:2,deny"\nSecAction "id:5,phase:2,deny"',
    'SecAction "id:1,phase:1,pass,ctl:ruleRemoveByTag=x"\nSecAction "id:2,phase:1,deny,tag:x"\nSecAction "id:3,phase:1,deny,tag:xy"',
    'SecAction "id:1,phase:1,pass,ctl:ruleRemoveTargetById=2;ARGS:v"\nSecRule ARGS "abc" "id:2,phase:1,deny"',
    'SecAction "id:1,phase:1,pass,ctl:ruleRemoveTargetById=2;ARGS:w"\nSecRule ARGS "abc" "id:2,phase:1,deny"',
    'SecAction "id:1,phase:1,pass,ctl:ruleRemoveTargetByTag=x;ARGS:/^v/"\nSecRule ARGS "abc" "id:2,phase:1,deny,tag:x"',
    'SecAction "id:1,phase:1,pass,ctl:ruleEngine=Off"\nSecAction "id:2,phase:1,deny"',
    'SecAction "id:1,phase:1,pass,ctl:ruleEngine=DetectionOnly"\nSecAction "id:2,phase:1,deny"',
    'SecRuleEngine DetectionOnly\nSecAction "id:2,phase:1,deny"',
    'SecRuleEngine Off\nSecAction "id:2,phase:1,deny"',
    'SecAction "id:2,phase:1,deny"\nSecRuleRemoveById 2',
    'SecAction "id:2,phase:1,deny"\nSecRuleRemoveById 1-5',
    'SecAction "id:2,phase:1,deny,tag:x"\nSecRuleRemoveByTag x',
    'SecRule ARGS "abc" "id:2,phase:1,deny"\nSecRuleUpdateTargetById 2 "!ARGS:v"',
    'SecRule ARGS:w "abc" "id:2,phase:1,deny"\nSecRuleUpdateTargetById 2 "ARGS:v"',
    'SecRule ARGS:v "@streq 900150983cd24fb0d6963f7d28e17f72" "id:2,phase:1,deny,t:md5,t:hexEncode"',
    'SecRule ARGS:v "@streq abc" "id:2,phase:1,deny,multiMatch,t:md5,t:hexEncode"',
    'SecRule ARGS:v "@streq 3" "id:2,phase:1,deny,t:length"',
  ];
  return rules.map((text) => asked(`${text.startsWith("SecRuleEngine") ? "" : "SecRuleEngine On\n"}${text}`, matching));
}

function bodyPairs(): RuledRequest[] {
  const json = { headers: [["Content-Type", "application/json"] as const, ["Host", "a"] as const], method: "POST" };
  const first =
    'SecRuleEngine On\nSecRule REQUEST_HEADERS:Content-Type "json" "id:9,phase:1,pass,nolog,ctl:requestBodyProcessor=JSON"\n';
  const body = '{"a":{"b":[1,"x",{"c":null}],"d":true},"e":"\\u0041é"}';
  const rules = ["json.a.b.1|x", "json.a.b|3", "json.a.d|true", "json.e|Aé", "json.a|x"];
  const found = rules.map((text) => {
    const [name, value] = text.split("|");
    return asked(`${first}SecRule ARGS_POST:${name} "@streq ${value}" "id:1,phase:2,deny"`, {
      ...json,
      body: Buffer.from(body).toString("latin1"),
    });
  });
  const broken = asked(`${first}SecRule REQBODY_ERROR "!@eq 0" "id:1,phase:2,deny,status:400"`, {
    ...json,
    body: "{no",
  });
  const part = (head: string, content: string) =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`;
  const parts = `${part('name="t"', "text")}${part('name="f"; filename="a.php"', "<?php")}--b--\r\n`;
  const files = [
    "FILES|@streq a.php",
    "FILES_NAMES|@streq f",
    "ARGS_POST:t|@streq text",
    "&FILES|@eq 1",
    "ARGS_POST:f|@rx .",
  ];
  const multipart = {
    method: "POST",
    headers: [["Content-Type", "multipart/form-data; boundary=b"] as const],
    body: parts,
  };
  return [
    ...found,
    broken,
    ...files.map((text) => {
      const [variables, operator] = text.split("|@");
      return asked(`SecRuleEngine On\nSecRule ${variables} "@${operator}" "id:1,phase:2,deny"`, multipart);
    }),
  ];
}

/** Rules with requests: each operator, transformation, variable and action in several ways. */
export function rulePairs(): RuledRequest[] {
  return [...operatorPairs(), ...transformationPairs(), ...variablePairs(), ...actionPairs(), ...bodyPairs()].map(
    (one) => (one.rules.startsWith("SecRuleEngine") ? one : { ...one, rules: `SecRuleEngine On\n${one.rules}` }),
  );
}
