import type { KeywordGroup } from "../match/keyword-automaton.ts";
import { CODE_WORD_GROUPS, CodeWord } from "../signs/code-words.ts";
import { EVENT_STEMS } from "../signs/event-names.ts";
import { SCRIPT_FUNCTIONS, SCRIPT_OBJECTS } from "../signs/script-context.ts";
import { SQL_NAMES } from "../signs/sql-phrases.ts";
import { SQL_FUNCTIONS } from "../signs/sql-words.ts";
import { Family } from "./family.ts";
import { SCANNER_NAMES } from "./scanners.ts";

/**
 * What must be in a value before a family's analyser looks at it: a superset of what the analyser can find, so that
 * most values are done with after one cheap scan. `spellingsOf` says how keywords are written.
 */
export const KEYWORD_GROUPS: readonly KeywordGroup[] = [
  { bit: Family.Sql, keywords: sqlKeywords() },
  { bit: Family.Mongo, keywords: ["[$", "'$", "{$", "{ $", ",$", ", $", "^$", "$where", "$function", "$accumulator"] },
  { bit: Family.Script, keywords: scriptKeywords() },
  { bit: Family.Shell, keywords: shellKeywords() },
  { bit: Family.Code, keywords: codeKeywords() },
  { bit: Family.File, keywords: fileKeywords() },
  { bit: Family.Url, keywords: urlKeywords() },
  { bit: Family.Lookup, keywords: ["${"] },
  { bit: Family.Scanner, keywords: SCANNER_NAMES },
  { bit: Family.Break, keywords: ["\n"] },
  { bit: Family.Nul, keywords: ["\0"] },
  { bit: Family.Escape, keywords: words("%0 %a %b %c %d %e %f %u \\u \\x") },
];

function sqlKeywords(): string[] {
  const logic = words("or and xor || &&");
  const clauses = words("having where like rlike regexp ilike glob sounds similar between div mod union except intersect");
  const behindQuote = [...logic, ...clauses, ...words("minus order group limit offset procedure in is")];
  const statements = words("drop delete insert update create alter truncate exec declare set waitfor select shutdown merge");
  return [
    ...words("') '; '- '# '/ '= '< '> '! '| '& '+ '* '% '^ '~").flatMap((mark) => [mark, mark.replace("'", "' ")]),
    "'  ",
    ...behindQuote.flatMap((word) => [`'${word}`, `' ${word}`]),
    // A condition behind a number or a bracket, and between literals wherever.
    ...logic.flatMap((word) => ["0", ")", "."].flatMap((before) => [`${before}${word}`, `${before} ${word}`])),
    ...logic.flatMap((word) => [`^${word} `, `^${word}(`, `^ ${word}`, `^${word}/`, `^${word}'`, `^${word}!`]),
    ...words("0= 0< 0> 0! )= )< )> )! e= l= e< l< e> l>").flatMap((mark) => [mark, `${mark[0]} ${mark[1]}`]),
    ...words("0 )").flatMap((before) => words("like rlike regexp in is between glob").map((word) => `${before} ${word}`)),
    ...words("0  )  0/* )/* 0 /* 0-- )-- 0# )# ^) ^; ^true ^null ^false ^-- ^/* ^# 0x"),
    "0  ",
    ")  ",
    ...["0 --", ") --", "0 #", ") #", "0 /*", ") /*"],
    ...["case w", "case  ", "case/", "exists(", "exists (", "order by", "group by", "order  ", "group  ", "order/"],
    ...["limit 0", "limit  ", "limit(", "union", "analyse(", "@@", "exp(~"],
    ...words("select( select* select/ select+ select- select@ select' select! select~ select` select. select% select\\"),
    "select ",
    ...[...statements, "replace"].flatMap((word) => [`;${word}`, `; ${word}`]),
    ...[";  ", ";/*", "; /*", "copy (", "copy("],
    ...words(SQL_FUNCTIONS).map((name) => `${name}(`),
    ...words(SQL_NAMES),
    ...["chr(0", "char(0", "nchar(0", "concat(0", "_ws(0"],
  ];
}

function scriptKeywords(): string[] {
  const functions = SCRIPT_FUNCTIONS.flatMap(words);
  return [
    ..."abcdefghijklmnopqrstuvwxyz/!?".split("").map((letter) => `<${letter}`),
    ...words(EVENT_STEMS).map((stem) => `on${stem}`),
    ...functions.flatMap((name) => [`${name}(`, `${name}\``, `${name} (`, `${name} \``, `${name}  `]),
    ...words(SCRIPT_OBJECTS[0]).flatMap((name) => [`${name}.`, `${name}=`, `${name}[`]),
    ...words(SCRIPT_OBJECTS[1]).map((name) => `${name}[`),
    ...words("fromcharcode( fromcodepoint( script: data:t data:a data:i ^java ^'java ^vbs ^data: {{ [][ javascript:"),
    "^ java",
  ];
}

function shellKeywords(): string[] {
  return [
    ...words("; | & ` $( <( >( ,/ ,- ,. /tcp/ /udp/ ${ifs $ifs ?? cmd/ cmd.exe powershell pwsh iex( mkfifo"),
    "\n",
    ...["downloadstring(", "downloadfile(", "downloaddata(", "iex (", "cmd /", "cmd  ", "command /", "sh -", "sh  "],
    ...words("nc ncat netcat python python2 python3 perl ruby php lua node").flatMap((name) => [`${name} -`, `${name}  `]),
  ];
}

function codeKeywords(): string[] {
  const group = (kind: CodeWord): string[] =>
    CODE_WORD_GROUPS.flatMap(([one, text]) => (one === kind ? words(text) : []));
  return [
    ...words("<? <% ${ #{ %{ *{ @{ {{ {% ^() o:0: o:00: o:000: o:+0 __proto__ [prototype .prototype"),
    ...[CodeWord.Php, CodeWord.PhpFile, CodeWord.Import, CodeWord.Require].flatMap(group).flatMap((name) => [`${name}(`, `${name} (`]),
    ...[CodeWord.PhpSetting, CodeWord.Ognl, CodeWord.ClassLoader, CodeWord.Dunder, CodeWord.Main].flatMap(group),
    ...group(CodeWord.Package).flatMap((name) => [`^${name}.`, `!${name}.`, `'${name}.`, `(${name}.`, `:${name}.`, `@${name}.`]),
    ...group(CodeWord.Magic).map((name) => `^${name}`),
  ];
}

function fileKeywords(): string[] {
  return [
    ...words("../ ..\\ ..; etc/ etc\\ proc/ proc\\ windows winnt systemroot windir system32 inetpub"),
    ...words("var usr home root opt boot sys dev mnt srv users").flatMap((name) => [`/${name}/`, `\\${name}\\`, `/${name}\\`]),
    ...words(".env .htaccess .htpasswd .git .svn .ssh .aws .bash_history wp-config.php web.config web-inf meta-inf id_rsa"),
    ...words("id_dsa boot.ini win.ini config.inc.php .npmrc .dockerenv .pgpass .my.cnf .netrc authorized_keys php.ini shadow"),
    ...words("passwd php:// phar:// expect:// zip:// zlib:// bzip2:// glob:// ogg:// rar:// ssh2. file://"),
  ];
}

function urlKeywords(): string[] {
  return [
    ...words("//0 //[ @0 @[ //localhost @localhost localdomain //ip6-localhost //metadata @metadata .internal intranet .corp"),
    ...words(".lan .local consul \\\\ :\\ nip.io sslip.io xip.io localtest.me lvh.me vcap.me oastify.com burpcollaborator.net"),
    ...words("interact.sh oast.fun oast.pro oast.live oast.site oast.online oast.me dnslog.cn ceye.io bxss.me rbndr.us"),
    ...words("gopher: dict: ldap: ldaps: tftp: sftp: netdoc: smb: rmi: dns: telnet: jndi: unix: redis: memcached: jar: url:"),
    "\0",
    ...words(".php .asp .jsp .cgi .cfm .txt .inc .phtml .pl .py .sh .exe .dll .htaccess ftp: ftps:"),
  ];
}

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}
