import { WordSet } from "../match/word-set.ts";

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
export const CODE_NAMES: Readonly<Record<CodeWord, string>> = {
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
export const GADGET_CLASSES: string = [
  "com.sun.rowset com.sun.org javax.script javax.naming org.apache.commons.collections org.apache.xalan",
  "org.springframework.context com.mchange.v2 org.codehaus.groovy java.lang.runtime java.lang.processbuilder",
  "org.apache.tomcat.dbcp org.apache.ibatis java.net.inet4address java.net.urlclassloader javax.swing",
  "system.windows.data.objectdataprovider system.diagnostics.process system.configuration.install.assemblyinstaller",
  "system.workflow.componentmodel system.management.automation system.web.ui.losformatter",
].join(" ");

/** The words of programs that attacks bring to a server: see CodeWord. */
export const CODE_WORDS: WordSet = new WordSet(
  Object.entries(CODE_NAMES).map(([word, names]) => [Number(word), names] as const),
);

export const GADGETS: WordSet = new WordSet([[1, GADGET_CLASSES]]);

/** Names of members that say of which class an object is to be. */
export const TYPE_NAMES: WordSet = new WordSet([[1, "@type @class class type $type clazz classname"]]);
