import { Byte } from "../../../core/bytes.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";

/** Whether a value's name says that a file is asked for. */
export function isFileParameter(value: ValueReading): boolean {
  return isNamed(value, FILE);
}

/** Whether a value's name says that a part of a page is included, which is up to the server alone. */
export function isIncludeParameter(value: ValueReading): boolean {
  return isNamed(value, INCLUDE) || isFolderName(value) || isSuperglobal(value);
}

/** phpbb_root_path, template_dir: in a query the names of settings that end so are those of a program. */
function isFolderName({ name, lastNameFrom, nameLength, location }: ValueReading): boolean {
  if (location !== InputLocation.Query) return false;
  const isPath = nameLength - 4 > lastNameFrom && FOLDERS.valueOf(name, nameLength - 4, nameLength) !== 0;
  return isPath || (nameLength - 3 > lastNameFrom && FOLDERS.valueOf(name, nameLength - 3, nameLength) !== 0);
}

/** _SERVER[DOCUMENT_ROOT], GLOBALS[x]: what a client sends in place of a variable of PHP. */
function isSuperglobal({ name, nameLength }: ValueReading): boolean {
  const open = name.indexOf(Byte.LeftBracket);
  return open > 0 && open < nameLength && SUPERGLOBALS.valueOf(name, 0, open) !== 0;
}

/** Whether a value's name says that the server is to fetch something. */
export function isFetchParameter(value: ValueReading): boolean {
  return isNamed(value, FETCH) || isUrlOf(value);
}

/** image_url, fileUrl, stockApi: what the server fetches to show or to keep it. */
function isUrlOf({ name, lastNameFrom, nameLength }: ValueReading): boolean {
  let to = nameLength - 3;
  if (URL_SUFFIXES.valueOf(name, to, nameLength) === 0) return false;
  if (name[to - 1] === Byte.Underscore || name[to - 1] === Byte.Dash) to--;
  return FETCHED.valueOf(name, lastNameFrom, to) !== 0;
}

/** Whether a value's name says that it is run. */
export function isCommandParameter(value: ValueReading): boolean {
  return isNamed(value, COMMAND);
}

/** Whether a value's name says that the browser goes or came from there: a redirect, a referrer, an analytics page. */
export function isReferralParameter(value: ValueReading): boolean {
  return isNamed(value, REFERRAL);
}

function isNamed(value: ValueReading, names: WordSet): boolean {
  return names.valueOf(value.name, value.lastNameFrom, value.nameLength) !== 0;
}

const FILE: WordSet = new WordSet([
  [
    1,
    "file files path page pg doc document download include inc template tpl filename file_name folder dir f load read",
  ],
  [
    1,
    "view src lang module mod content layout theme root conf config pdf img image attachment resource style filepath",
  ],
]);
const INCLUDE: WordSet = new WordSet([
  [1, "file path inc include template tpl folder dir lang locale module mod layout theme root conf config filename pg"],
  [1, "basepath base_path absolute_path abs_path basedir root_path rootpath skin plugin lib library"],
]);
const FETCH: WordSet = new WordSet([
  [
    1,
    "url uri u link src source href file path img image imageurl image_url img_url feed fetch proxy site host domain",
  ],
  [1, "endpoint api remote server webhook webhook_url hook target_url load download import rss avatar avatar_url icon"],
  [
    1,
    "preview crawl page_url pdf_url template open document data reference html val validate callback_host upload_url",
  ],
  [
    1,
    "get_url remote_url fetch_url proxy_url request request_url addr address ip port_url out view show navigation logo photo picture thumb thumbnail",
  ],
]);
const FOLDERS: WordSet = new WordSet([[1, "path dir root"]]);
const SUPERGLOBALS: WordSet = new WordSet([
  [1, "globals _server _request _get _post _cookie _files _session _env _conf _config"],
]);
const URL_SUFFIXES: WordSet = new WordSet([[1, "url uri api src"]]);
const FETCHED: WordSet = new WordSet([
  [
    1,
    "image img file feed source src xml html pdf stock icon logo photo pic picture thumb thumbnail media video audio",
  ],
  [1, "css script fetch import download remote webhook hook proxy document doc avatar rss data background json"],
]);
const COMMAND: WordSet = new WordSet([[1, "cmd command exec execute shell system cmdline c"]]);
const REFERRAL: WordSet = new WordSet([
  [
    1,
    "redirect_uri redirect_url redirect redirecturl redirecturi return return_to returnto return_url returnurl continue",
  ],
  [
    1,
    "callback callback_url callbackurl next dest origin referrer referer ref dl dr dp post_logout_redirect_uri state",
  ],
  [
    1,
    "success_url cancel_url failure_url error_url wreply relaystate service goto back back_url from location page_location",
  ],
  [
    1,
    "page_referrer document_location documentlocation landing_page home_url site_url base_url baseurl login_url logout_url",
  ],
]);
