import { Byte } from "../../../core/bytes.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type WafRule } from "../rule.ts";

/** It has no keywords: `pathSigns` calls it, for the path alone. */
export const RESTRICTED_FILE: WafRule = {
  id: "FILES-001",
  category: "files",
  score: CRITICAL_SCORE,
  description: "path of a file that no site means to serve: version control, environment, key, backup",
  crs: [930130, 930140],
};

/**
 * Judges a path that is in the reading as a whole, decoded. Pages of a documentation and of a repository's browser may be called by such
 * names.
 * @returns where the file's name begins; -1 if it is none of them
 */
export function restrictedAt({ bytes, length }: ValueReading): number {
  for (let from = 1; from < length; ) {
    let to = from;
    while (to < length && bytes[to] !== Byte.Slash && bytes[to] !== Byte.Backslash) to++;
    const isLast = to === length;
    // Parameters of a segment are no part of its name.
    let end = from;
    while (end < to && bytes[end] !== Byte.Semicolon && bytes[end] !== Byte.Nul) end++;
    const word = NAMES.valueOf(bytes, from, end);
    if (word === PAGES) return -1;
    if (word === FOLDER ? !isLast : word === FILE) return from;
    if (bytes[from] === Byte.Dot && isEnvironment(bytes, from, end)) return from;
    if (isLast && isBackup(bytes, from, end)) return from;
    from = to + 1;
  }
  return -1;
}

/** .env, .env.local, .env_old; not .env.example. */
function isEnvironment(bytes: Uint8Array, from: number, to: number): boolean {
  if (NAMES.valueOf(bytes, from, from + 4) !== FILE || to - from > MAX_ENVIRONMENT) return false;
  if (from + 4 === to) return true;
  const mark = bytes[from + 4]!;
  const isMark = mark === Byte.Dot || mark === Byte.Underscore || mark === Byte.Dash || mark === TILDE;
  return isMark && SAMPLES.valueOf(bytes, from + 5, to) === 0;
}

/** index.php~, config.yml.bak, dump.sql, dump.sql.gz, backup.zip. */
function isBackup(bytes: Uint8Array, from: number, to: number): boolean {
  if (bytes[to - 1] === TILDE) return dotBefore(bytes, from, to) > from;
  const last = dotBefore(bytes, from, to);
  if (last <= from) return false;
  const kind = EXTENSIONS.valueOf(bytes, last + 1, to);
  if (kind === BACKUP) return true;
  const inner = dotBefore(bytes, from, last);
  if (kind === SECOND) return inner > from && last - inner <= MAX_EXTENSION;
  if (kind !== ARCHIVE) return false;
  if (inner > from && EXTENSIONS.valueOf(bytes, inner + 1, last) === BACKUP) return true;
  const stem = inner > from ? inner : last;
  return DUMPS.valueOf(bytes, from, stem) !== 0;
}

/** The last dot within `[from, to)`, or `from`. */
function dotBefore(bytes: Uint8Array, from: number, to: number): number {
  let at = to - 1;
  while (at > from && bytes[at] !== Byte.Dot) at--;
  return at;
}

/** Below these, such names are those of pages. */
export const PAGE_FOLDERS =
  "wiki doc docs documentation manual help blog blob tree questions tags tag topic topics article articles search";
const PAGES = 1;
/** A folder: its content is no one's business. */
const FOLDER = 2;
const FILE = 3;
const NAMES: WordSet = new WordSet([
  [PAGES, "wiki doc docs documentation manual help blog blob tree questions tags tag topics article articles search"],
  [FOLDER, "web-inf meta-inf"],
  [FILE, ".env .git .svn .hg .bzr .aws .ssh .kube .docker .azure .gnupg .idea .vscode .vs .rovodev .claude .cursor"],
  [FILE, ".htaccess .htpasswd .htdigest .ds_store .npmrc .yarnrc .pypirc .netrc .pgpass .my.cnf .dockerenv"],
  [FILE, ".dockercfg .git-credentials .gitconfig .gitlab-ci.yml .travis.yml .bash_history .zsh_history .bashrc"],
  [FILE, ".profile .bash_profile .mysql_history .psql_history .python_history .sqlite_history .rhosts .passwd"],
  [FILE, ".s3cfg .boto .subversion .cvsignore .xauthority .viminfo .lesshst .terraform .vault-token .msmtprc"],
  [FILE, "wp-config.php wp-config.txt web.config debug.log id_rsa id_dsa id_ecdsa id_ed25519 database.yml"],
  [FILE, "authorized_keys eval-stdin.php"],
  [FILE, "secrets.yml secrets.json credentials.json terraform.tfstate heapdump.hprof"],
]);
const SAMPLES: WordSet = new WordSet([[1, "example sample template dist defaults example.local schema vault"]]);
const BACKUP = 1;
/** After another extension. */
const SECOND = 2;
const ARCHIVE = 3;
const EXTENSIONS: WordSet = new WordSet([
  [BACKUP, "bak sql mdb sqlite sqlite3 swp swo bkp tfstate"],
  [SECOND, "old orig save backup copy tmp"],
  [ARCHIVE, "zip gz tgz tar rar 7z bz2 xz"],
]);
const DUMPS: WordSet = new WordSet([
  [1, "backup backups dump db database mysql wwwroot public_html htdocs site-backup db_backup db-backup"],
]);
const MAX_ENVIRONMENT = 32;
const MAX_EXTENSION = 6;
const TILDE = 0x7e;
