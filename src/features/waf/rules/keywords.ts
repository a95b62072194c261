import type { KeywordGroup } from "../match/keyword-automaton.ts";
import { CODE_WORD_GROUPS, CodeWord, GADGET_CLASSES } from "../signs/code-words.ts";
import { EVENT_STEMS } from "../signs/event-names.ts";
import { LOOKUP_NAMES } from "../signs/lookup-expressions.ts";
import { SCRIPT_FUNCTIONS, SCRIPT_OBJECTS } from "../signs/script-words.ts";
import { SHELL_COMMANDS } from "../signs/shell-words.ts";
import { SQL_NAMES } from "../signs/sql-phrases.ts";
import { SQL_FUNCTIONS } from "../signs/sql-words.ts";
import { Family } from "./family.ts";
import { SCANNER_NAMES } from "./scanners.ts";

/** The number that a value begins with, and any. */
const NUMBERS: readonly string[] = words("^0 ^00 ^000 ^0000 ^00000 ^-0 ^-00 ^-000 ^0.0 ^0.");

/**
 * What must be in a value before a family's analyser looks at it: of all that the analyser can find a part that hardly
 * any other text has, so that most values are done with after one cheap scan. `spellingsOf` says how keywords are
 * written.
 */
export const KEYWORD_GROUPS: readonly KeywordGroup[] = [
  { bit: Family.Sql, keywords: sqlKeywords() },
  { bit: Family.Mongo, keywords: ["[$", "'$", "{$", "{ $", ",$", ", $", "^$", "$where", "$function", "$accumulator"] },
  { bit: Family.Script, keywords: scriptKeywords() },
  { bit: Family.Shell, keywords: shellKeywords() },
  { bit: Family.Code, keywords: codeKeywords() },
  { bit: Family.File, keywords: fileKeywords() },
  { bit: Family.Url, keywords: urlKeywords() },
  // A lookup that becomes jndi begins with its first letter, or with a lookup.
  { bit: Family.Lookup, keywords: ["${j", "${${", ...words(LOOKUP_NAMES).map((name) => `\${${name}:`), "${::-"] },
  { bit: Family.Scanner, keywords: SCANNER_NAMES },
  {
    bit: Family.Break,
    keywords: [
      "\n",
      ...words("set-cookie: location: content-type: content-length: http/").map((field) => `\u0080${field}`),
    ],
  },
  { bit: Family.Nul, keywords: ["\0"] },
  { bit: Family.Backslash, keywords: words("\\") },
  // Escapes of bytes beyond ASCII begin with a letter. The last is the class Fold.
  { bit: Family.Escape, keywords: words("%0 %u \\u \\x \xef") },
  { bit: Family.Reference, keywords: words("&lt;s &lt;i &lt;b &lt;/ &#00 &#x0 &#000") },
];

function sqlKeywords(): string[] {
  const logic = words("or and xor || &&");
  const clauses = words("having where order group limit union except intersect minus procedure offset");
  const comparisons = words("like rlike regexp ilike glob sounds similar between div mod in is");
  const cuts = words("-- # /* ;");
  const statements = words(
    "drop delete insert update create alter truncate exec declare set waitfor select shutdown merge",
  );
  return [
    // Behind a quote, and behind a bracket that a quote closes.
    ...[...logic, ...clauses, ...comparisons, ...words("= + - * / % ^ | & <> != >= <="), ...cuts].flatMap((word) => [
      `'${word}`,
      `' ${word}`,
    ]),
    ...[...logic, ...clauses, ...cuts, "="].flatMap((word) => [`')${word}`, `') ${word}`, `'))${word}`, `')) ${word}`]),
    ...["return", "while"].flatMap((word) => [`';${word}`, `'; ${word}`]),
    "'  ",
    "' )",
    "')  ",
    // Behind a number that begins the value, and behind a bracket.
    ...NUMBERS.flatMap((number) =>
      [...logic, "having", "/*"].flatMap((word) => [`${number}${word}`, `${number} ${word}`]),
    ),
    ...[...logic, "/*"].flatMap((word) => [`0)${word}`, `0) ${word}`, `^)${word}`, `^) ${word}`]),
    // Comparisons of literals, wherever.
    ...words("0= 0< 0> 0! )= )< )> )!").flatMap((mark) => [mark, `${mark[0]} ${mark[1]}`]),
    ...words("true null false").flatMap((word) => [`${word}=`, `${word} =`, `^${word} `]),
    ...words("like glob rlike regexp").flatMap((word) => [`${word} '`, `${word} 0`, `${word}(`, `${word} (`]),
    ...["0 between 0", "0 is n", "0 is t", "0 is f", "order by 0", "group by 0", "order/", "group/"],
    ...[
      "union se",
      "union al",
      "union di",
      "union /",
      "union/",
      "union  ",
      "union-",
      "union -",
      "union#",
      "union #",
      "union va",
    ],
    ...["0 in (", "0 in(", "case w", "case  ", "case/", "exists(", "exists (", "order by (", "group by ("],
    ...["limit 0,", "analyse(", "@@", "exp(~", "union(", "union (", "union'", "union{", "union`"],
    ...words(
      "select( select* select/ select+ select- select@ select' select! select~ select` select. select% select\\",
    ),
    "select ",
    "(select",
    ...[...statements, "replace"].flatMap((word) => [`;${word}`, `; ${word}`]),
    ...[";  ", ";/*", "; /*", "copy (", "copy("],
    ...words(SQL_FUNCTIONS).map((name) => `${name}(`),
    ...words(SQL_NAMES),
    ...["sleep(", "sleep (", "sleep/", "benchmark(", "benchmark (", "benchmark/", "waitfor d", "waitfor t", "waitfor/"],
    ...["chr(0", "char(0", "nchar(0", "concat(0", "_ws(0"],
  ];
}

function scriptKeywords(): string[] {
  return [
    ...words("<script :script <iframe <frame <object <embed <applet <meta <portal <fencedframe <import <xml <base"),
    ...words("<!doctype <!entity srcdoc expression behavior -moz-b &# &colon &tab &newline &lpar"),
    ...words("data:text data:application data:image/svg ^javas ^'javas ^vbs ^data: [][ ^data:t"),
    ...["^ javas", "^java s", "constructor", "$eval", "(alert)(", "(prompt)(", "(confirm)("],
    // Of the names of events the beginning, with what may stand before it.
    ...words(EVENT_STEMS).flatMap((stem) => ["^", " ", "'", "/"].map((before) => `${before}on${stem.slice(0, 2)}`)),
    ...SCRIPT_FUNCTIONS.flatMap(words).flatMap((name) => [`${name}(`, `${name}\``, `${name} (`]),
    ...words(SCRIPT_OBJECTS[0]).flatMap((name) => [`${name}.`, `${name}=`, `${name}[`]),
    ...words(SCRIPT_OBJECTS[1]).map((name) => `${name}[`),
    ...words("fromcharcode( fromcodepoint( script: ipt:"),
  ];
}

function shellKeywords(): string[] {
  const separators = [";", "; ", "|", "| ", "&", "& ", "\n", "\n ", "`", "$(", "$( ", "<(", ">(", "{"];
  return [
    // Of commands the beginning tells enough.
    ...separators.flatMap((before) => words(SHELL_COMMANDS).map((command) => before + command.slice(0, 3))),
    // A command with quotes or backslashes in it, or behind more blanks.
    ...[...words("; | &"), "\n"].flatMap((mark) => [
      `${mark}  `,
      `${mark}(`,
      `${mark} (`,
      `${mark}'`,
      `${mark}\\`,
      `${mark}$`,
      `${mark} $`,
      `${mark}/`,
      `${mark} /`,
    ]),
    ...[...words("; | & `"), "\n"].flatMap((mark) =>
      [..."abcdefghijklmnopqrstuvwxyz"].flatMap((one) => [`${mark}${one}'`, `${mark}${one}\\`]),
    ),
    ...words("; |").flatMap((mark) =>
      [..."abcdefghijklmnopqrstuvwxyz"].flatMap((one) => [`${mark} ${one}'`, `${mark} ${one}\\`]),
    ),
    ...words("$@ ${ifs $ifs iex( downloadstring( downloadfile( downloaddata("),
    ...words("/tcp/ /udp/ ?? bin/ cmd.exe cmd/"),
    ...[
      "iex (",
      "sh -i",
      "sh -c",
      "cmd /",
      "cmd|'",
      "command /",
      "mkfifo /",
      "nc -",
      "cat -",
      "shell -",
      "pwsh -",
      ".exe -",
    ],
    // What the parameters of planted programs are tried with.
    ...words("^whoami ^uname ^ifconfig ^ipconfig ^netstat ^systeminfo ^/bin/ ^/usr/bin/"),
    ...["^cat /", "^ls -", "^ls /", "^id -", "^net u", "^type c", "^dir c", "^wget h", "^curl h", "^ping -", "^nc -"],
    ...words("python python2 python3 perl ruby php lua node").map((name) => `${name} -`),
  ];
}

function codeKeywords(): string[] {
  const group = (kind: CodeWord): string[] =>
    CODE_WORD_GROUPS.flatMap(([one, text]) => (one === kind ? words(text) : []));
  const opens = words("{{ ${ #{ %{ *{ @{ <% <%=");
  return [
    ...words(
      "{php} !!python/ !ruby/ ${# %{# ${(# %{(# ${script: ${dns: ${url: @java. ^prototype call_user_func( array_map(' |filter('s |map('s |sort('s <?p <?= ^() $_ o:0: o:00: o:000: o:+0 t(java ${@ {${ <!--#",
    ),
    ...["config", "self", "request", "settings", "dump"].flatMap((name) => [`^{{${name}`, `^{{ ${name}`]),
    ...["<%eval", "<% eval", "<%execute", "<% execute", "'.execute()", "<?p", "<?="],
    // An expression that multiplies.
    ...opens.flatMap((open) => ["0", " 0", "'", " '", "(", " (", "=0", "= 0"].map((inside) => `${open}${inside}`)),
    ...[CodeWord.Php, CodeWord.Import, CodeWord.Require, CodeWord.System]
      .flatMap(group)
      .flatMap((name) => [`${name}(`, `${name} (`]),
    ...[CodeWord.PhpSetting, CodeWord.Ognl, CodeWord.Java, CodeWord.Template, CodeWord.Dunder].flatMap(group),
    ...words(GADGET_CLASSES),
    ...words("__proto__ [prototype .prototype .classloader .child_process .mainmodule"),
    ...group(CodeWord.Magic).map((name) => `^${name}`),
  ];
}

function fileKeywords(): string[] {
  return [
    ...words(
      "../ ..\\ ..; etc/ etc\\ proc/ proc\\ windows/ windows\\ winnt/ winnt\\ systemroot windir system32 inetpub",
    ),
    ...words("/var/l /var/m /var/s /var/w /root/. /boot/g /home/. /users/."),
    ...words(
      ".env .htaccess .htpasswd .git .svn .ssh .aws .bash_history wp-config.php web.config web-inf meta-inf id_rsa",
    ),
    ...words(
      "id_dsa boot.ini win.ini config.inc.php .npmrc .dockerenv .pgpass .my.cnf .netrc authorized_keys php.ini httpd.conf serviceaccount",
    ),
    ...words(
      "id_ed25519 id_ecdsa known_hosts database.yml secrets.yml wp-config env.php my.ini ntuser.dat unattend.xml",
    ),
    ...words("tomcat-users .vscode .idea .ds_store .bashrc _history pearcmd /run/sec ^data:; ^data:text"),
    // A climb whose separator is spelt so that only lenient decoders see it.
    "..\u0080",
    "..\u00ef",
    ...words("php:// phar:// expect:// zip:// zlib:// bzip2:// data:// glob:// ogg:// rar:// ssh2. file://"),
  ];
}

function urlKeywords(): string[] {
  return [
    ...words(
      "//0 //[ @0 @[ //local @localhost localdomain //ip6-localhost //metadata @metadata //instance-data .svc .internal //intranet",
    ),
    ...words("//internal //corp //lan //consul"),
    ...words(
      "//loopback .intranet .corp .lan .local .consul \\\\ :\\\\ nip.io sslip.io xip.io localtest.me lvh.me vcap.me",
    ),
    ...words("oastify.com burpcollaborator.net interact.sh oast.fun oast.pro oast.live oast.site oast.online oast.me"),
    ...words(
      "dnslog.cn ceye.io bxss.me rbndr.us gopher: dict: ldap: ldaps: ldapi: rmi: imap: imaps: pop3: pop3s: smtp: telnet: smb: tftp: sftp: netdoc: jar: url: ftp:/",
    ),
    ...words(".php .asp .jsp .cgi .cfm .txt .inc .phtml \\\\"),
    "\0",
    ...words(
      "//kubernetes //rancher-metadata requestrepo.com http:0 https:0 http:/0 https:/0 http:/\\ http:\\ //\u0080 //\u00ef ///0 ///local .tpl",
    ),
  ];
}

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}
