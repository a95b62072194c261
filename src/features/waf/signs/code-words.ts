import { WordSet } from "../match/word-set.ts";

/** What has to be seen around a word of a program before it counts. */
export const enum CodeWord {
  /** A function of PHP that runs programs or files. */
  Php = 1,
  /** A setting of PHP that opens the door. */
  PhpSetting,
  /** A name of Java that counts within an expression. */
  Java,
  /** One that counts anywhere. */
  JavaAlways,
  ClassLoader,
  /** The first part of a package whose classes unpack into attacks. */
  Gadget,
  /** __import__( */
  Import,
  /** An object of a template engine that leads out of it. */
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

/** The words of programs that attacks bring to a server. */
export const CODE_WORDS: WordSet = new WordSet([
  [CodeWord.Php, "system passthru shell_exec exec popen proc_open pcntl_exec assert eval create_function call_user_func"],
  [CodeWord.Php, "file_put_contents file_get_contents fopen readfile show_source highlight_file base64_decode gzinflate"],
  [CodeWord.Php, "str_rot13 phpinfo include include_once require_once var_dump print_r die extract parse_str preg_replace"],
  [CodeWord.Php, "move_uploaded_file unserialize array_map usort scandir glob"],
  [CodeWord.PhpSetting, "allow_url_include auto_prepend_file auto_append_file disable_functions open_basedir"],
  [CodeWord.Java, "getruntime processbuilder scriptenginemanager forname getclass classloader jdbcrowsetimpl freemarker"],
  [CodeWord.Java, "getmethod getdeclaredmethod urlclassloader unsafe methodutil execute_ jndi ognlutil struts2 springframework"],
  [CodeWord.JavaAlways, "_memberaccess ognlcontext memberaccess_ xwork redirectaction_"],
  [CodeWord.ClassLoader, "classloader_ module"],
  [CodeWord.Gadget, "com org java javax sun"],
  [CodeWord.Import, "__import__"],
  [CodeWord.Template, "lipsum cycler joiner config _self url_for get_flashed_messages namespace _context_"],
  [CodeWord.System, "popen check_output"],
  [CodeWord.Require, "require"],
  [CodeWord.Main, "child_process mainmodule"],
  [CodeWord.Prototype, "__proto__ prototype"],
  [CodeWord.Magic, "ro0ab aced0005 aaeaaad///// _$$nd_func$$_ gasv"],
]);

/** Packages and classes of known attacks on unpacking, as far as their dots allow to tell them. */
export const GADGETS: WordSet = new WordSet([
  [1, "com.sun.rowset com.sun.org javax.script javax.naming org.apache.commons.collections org.apache.xalan"],
  [1, "org.springframework.context com.mchange.v2 org.codehaus.groovy java.lang.runtime java.lang.processbuilder"],
  [1, "org.apache.tomcat.dbcp org.apache.ibatis java.net.inet4address java.net.urlclassloader javax.swing"],
]);
