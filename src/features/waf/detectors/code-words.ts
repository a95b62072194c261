import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, ERROR_SCORE, each, type WafRule, words } from "../rule.ts";

/** What has to be seen around a word of a program before it counts. */
export const enum CodeWord {
  /** A function of PHP that runs programs. */
  Php = 1,
  /** One that reaches files, or unpacks a program. */
  PhpFile,
  /** A setting of PHP that opens the door. */
  PhpSetting,
  /** A name of Java that counts within an expression. */
  Java,
  /** One that counts anywhere. */
  Ognl,
  ClassLoader,
  /** The first part of a package whose classes unpack into attacks. */
  Package,
  /** Runs the text before it. */
  Groovy,
  /** __import__( */
  Import,
  /** An attribute of Python that leads out of a template. */
  Dunder,
  /** An object of a template engine that does. */
  Template,
  /** Runs programs, in several languages. */
  System,
  Require,
  /** process.mainModule, child_process */
  Main,
  Prototype,
  /** How a packed object begins: not a word, but told in the same way. */
  Magic,
}

/** Words of programs, by what has to be seen around them; separated by blanks. */
const NAMES: Readonly<Record<CodeWord, string>> = {
  [CodeWord.Php]: "system passthru shell_exec exec proc_open pcntl_exec assert eval create_function phpinfo",
  [CodeWord.PhpFile]: [
    "call_user_func file_put_contents file_get_contents fopen readfile show_source highlight_file include",
    "base64_decode gzinflate str_rot13 include_once require_once var_dump print_r die extract parse_str",
    "preg_replace move_uploaded_file unserialize array_map usort scandir glob call_user_func_array",
    "array_filter array_walk uasort uksort register_shutdown_function compile",
  ].join(" "),
  [CodeWord.PhpSetting]: "allow_url_include auto_prepend_file auto_append_file disable_functions open_basedir",
  [CodeWord.Java]: [
    "getruntime processbuilder scriptenginemanager forname getclass jdbcrowsetimpl freemarker ognlutil pagecontext",
    "facescontext getmethod getdeclaredmethod urlclassloader unsafe methodutil",
  ].join(" "),
  [CodeWord.Ognl]: "_memberaccess ognlcontext xwork",
  [CodeWord.ClassLoader]: "classloader",
  [CodeWord.Package]: "com org java javax",
  [CodeWord.Groovy]: "execute",
  [CodeWord.Import]: "__import__",
  [CodeWord.Dunder]: [
    "__class__ __mro__ __base__ __bases__ __subclasses__ __globals__ __builtins__ __getitem__",
    "__getattribute__ __reduce__ __code__",
  ].join(" "),
  [CodeWord.Template]: "lipsum cycler joiner _self get_flashed_messages",
  [CodeWord.System]: "popen check_output registerundefinedfiltercallback binding",
  [CodeWord.Require]: "require",
  [CodeWord.Main]: "child_process mainmodule",
  [CodeWord.Prototype]: "__proto__ prototype",
  [CodeWord.Magic]: [
    "ro0ab aced0005 aaeaaad///// _$$nd_func$$_",
    // O:8:"Name and O:11:"Name in base64.
    "tzoxoij tzoyoij tzozoij tzo0oij tzo1oij tzo2oij tzo3oij tzo4oij tzo5oij",
    "tzoxmdoi tzoxmtoi tzoxmjoi tzoxmzoi tzoxndoi tzoxntoi tzoxnjoi tzoxnzoi tzoxodoi tzoxotoi",
    "tzoymdoi tzoymtoi tzoymjoi tzoymzoi tzoyndoi tzoyntoi tzoynjoi tzoynzoi tzoyodoi tzoyotoi",
  ].join(" "),
};

/** Packages and classes of known attacks on unpacking, as far as their dots allow to tell them; separated by blanks. */
const GADGET_CLASSES: string = [
  "com.sun.rowset com.sun.org javax.script javax.naming org.apache.commons.collections org.apache.xalan",
  "org.springframework.context com.mchange.v2 org.codehaus.groovy java.lang.runtime java.lang.processbuilder",
  "org.apache.tomcat.dbcp org.apache.ibatis java.net.inet4address java.net.urlclassloader javax.swing",
  "system.windows.data.objectdataprovider system.diagnostics.process system.configuration.install.assemblyinstaller",
  "system.workflow.componentmodel system.management.automation system.web.ui.losformatter",
].join(" ");

export const PHP_CODE: WafRule = {
  id: "RCE-005",
  category: "rce",
  score: CRITICAL_SCORE,
  description: "PHP code execution, or a PHP setting that enables it",
  keywords: [
    ...words("{php} call_user_func( array_map(' |filter('s |map('s |sort('s $_ ${@ {${"),
    ...words(NAMES[CodeWord.PhpSetting]),
    ...each(NAMES[CodeWord.Php], called),
  ],
};
export const PHP_TAG: WafRule = {
  id: "RCE-006",
  category: "rce",
  score: ERROR_SCORE,
  description: "PHP open tag",
  keywords: ["<?p", "<?="],
};
export const JAVA_CODE: WafRule = {
  id: "RCE-007",
  category: "rce",
  score: CRITICAL_SCORE,
  description: "Java expression injection or deserialization gadget",
  keywords: [
    ...words("${# %{# ${(# %{(# ${script: ${dns: ${url: @java. t(java .classloader"),
    ...words(`${NAMES[CodeWord.Java]} ${NAMES[CodeWord.Ognl]} ${GADGET_CLASSES}`),
  ],
};
export const SCRIPT_CODE: WafRule = {
  id: "RCE-008",
  category: "rce",
  score: CRITICAL_SCORE,
  description: "Python, Ruby or Node.js code execution, or server-side template injection",
  keywords: [
    ...["<!--#", "<%eval", "<% eval", "<%execute", "<% execute", "'.execute()", ".child_process", ".mainmodule"],
    ...each("config self request settings dump", (name) => [`^{{${name}`, `^{{ ${name}`]),
    // An expression that multiplies.
    ...each("{{ ${ #{ %{ *{ @{ <% <%=", (open) =>
      ["0", " 0", "'", " '", "(", " (", "=0", "= 0"].map((inside) => `${open}${inside}`),
    ),
    ...each(`${NAMES[CodeWord.Import]} ${NAMES[CodeWord.Require]} ${NAMES[CodeWord.System]}`, called),
    ...words(`${NAMES[CodeWord.Template]} ${NAMES[CodeWord.Dunder]}`),
  ],
};
export const SHELLSHOCK: WafRule = {
  id: "RCE-009",
  category: "rce",
  score: CRITICAL_SCORE,
  description: "Shellshock (CVE-2014-6271)",
  keywords: ["^()"],
};
export const SERIALIZED_OBJECT: WafRule = {
  id: "RCE-010",
  category: "rce",
  score: CRITICAL_SCORE,
  description: "serialized object of Java, .NET, PHP, Python, Ruby or Node.js",
  keywords: [...words("!!python/ !ruby/ o:0: o:00: o:000: o:+0"), ...each(NAMES[CodeWord.Magic], (name) => `^${name}`)],
};
export const PROTOTYPE_POLLUTION: WafRule = {
  id: "RCE-011",
  category: "rce",
  score: CRITICAL_SCORE,
  description: "prototype pollution",
  keywords: words("^prototype __proto__ [prototype .prototype"),
};

/** Keywords of the call of a function. */
function called(name: string): string[] {
  return [`${name}(`, `${name} (`];
}

/** The words of programs that attacks bring to a server: see CodeWord. */
export const CODE_WORDS: WordSet = new WordSet(
  Object.entries(NAMES).map(([word, names]) => [Number(word), names] as const),
);

export const GADGETS: WordSet = new WordSet([[1, GADGET_CLASSES]]);

/** Names of members that say of which class an object is to be. */
export const TYPE_NAMES: WordSet = new WordSet([[1, "@type @class class type $type clazz classname"]]);
