import { WordSet } from "../match/word-set.ts";

/** What a folder or a file says by its name alone. */
export const enum FileWord {
  /** A folder at the root, as the start of a path or the end of a climb. */
  Root = 1,
  /** A folder that a climb may end in, and that absolute paths may begin with when a file of the system follows. */
  Folder,
  /** A file or folder that holds secrets wherever it is. */
  Secret,
}

/** Names of folders and files that attacks ask for. */
export const FILE_WORDS: WordSet = new WordSet([
  [FileWord.Root, "etc proc windows winnt %systemroot% %windir%"],
  [FileWord.Folder, "var usr home root opt boot system32 inetpub sys dev mnt srv users run"],
  [
    FileWord.Secret,
    ".env .htaccess .htpasswd .git .svn .ssh .aws .bash_history wp-config.php web.config web-inf meta-inf",
  ],
  [FileWord.Secret, "id_rsa id_dsa boot.ini win.ini config.inc.php .npmrc .dockerenv .pgpass .my.cnf .netrc"],
  [
    FileWord.Secret,
    "authorized_keys .git-credentials php.ini httpd.conf serviceaccount id_ed25519 id_ecdsa known_hosts",
  ],
  [FileWord.Secret, "database.yml secrets.yml wp-config env.php my.ini ntuser.dat unattend.xml tomcat-users.xml"],
  [
    FileWord.Secret,
    ".ds_store .bashrc .mysql_history .psql_history .env.local .env.production .env.bak .env.old .env.dev .vscode .idea pearcmd pearcmd.php",
  ],
]);

/** What stands within the folders of the system. */
export const SYSTEM_FILES: WordSet = new WordSet([
  [
    1,
    "passwd shadow group gshadow hosts hostname issue fstab sudoers crontab resolv.conf mtab motd profile os-release",
  ],
  [1, "ssh nginx apache2 httpd mysql php ssl network environment passwd- shadow- security master.passwd exports"],
  [1, "self version cpuinfo cmdline mounts net sched_debug meminfo 1 log lib spool mail system32 win.ini system.ini"],
  [1, "repair php.ini panther debug .bash_history .ssh .mysql_history .profile .bashrc grub secrets logs"],
]);

/** Extensions of programs and settings: what a climb is after. */
export const SOURCES: WordSet = new WordSet([
  [1, "php php5 asp aspx jsp ini conf cnf env bak sql sqlite htpasswd pem key cfg inc cgi properties"],
]);

/** Schemes that read files: 1 in every case, 2 for a local file, where a file or a URL is due. */
export const WRAPPERS: WordSet = new WordSet([
  [1, "php phar expect zip compress.zlib compress.bzip2 glob ogg rar ssh2.exec ssh2.shell zlib data"],
  [2, "file"],
]);
