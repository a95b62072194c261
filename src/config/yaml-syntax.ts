/**
 * Says in plain words what the YAML parser found wrong, and the cure. Takes the parser's error code and its own
 * message, which stays as it is where it already helps.
 */
export function explainSyntaxError(code: string, message: string): string {
  if (/end with a [\]}]/.test(message)) return 'a "[" or "{" is opened above and not closed before this line';
  const known = EXPLANATIONS.get(code);
  if (known !== undefined) return known;
  if (/^Missing closing ["']quote/.test(message)) return "a quote is opened above and not closed";
  // What the parser quotes may be a secret; the place says where it is.
  const own = withoutQuoted(message).replace(/\s+/g, " ").trim();
  return `not valid YAML: ${own.charAt(0).toLowerCase()}${own.slice(1)}`;
}

/** Without the text in quotes that it ends with, and the colon before that. */
function withoutQuoted(message: string): string {
  if (!message.endsWith('"')) return message;
  let quote = message.length - 1;
  do quote = message.lastIndexOf('"', quote - 1);
  while (quote > 0 && isEscaped(message, quote));
  return message.slice(0, Math.max(quote, 0)).trimEnd().replace(/:$/, "");
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}

const EXPLANATIONS = new Map([
  ["TAB_AS_INDENT", "a tab in the indentation: YAML indents with spaces only"],
  ["MULTIPLE_DOCS", 'a second document begins here: remove the "---" line, one file holds one document'],
  ["BAD_INDENT", "the indentation does not fit: lines of one section begin in the same column"],
  ["BLOCK_AS_IMPLICIT_KEY", 'a second "key: value" on one line: give it a line of its own, or put the value in quotes'],
  ["MULTILINE_IMPLICIT_KEY", 'this key is not followed by a colon: write "key: value" on one line'],
  ["BAD_DQ_ESCAPE", 'an unknown "\\" escape in double quotes: write "\\\\" for a backslash, or use single quotes'],
  ["BAD_SCALAR_START", 'a value cannot begin with "@" or "`": put it in quotes'],
  ["TAG_RESOLVE_FAILED", 'tags such as "!name" are not supported: remove the tag, or put the value in quotes'],
  ["BAD_ALIAS", '"*" or "&" begins an alias or an anchor in YAML: put the value in quotes if it is text'],
  ["RESOURCE_EXHAUSTION", "nested too deep to read"],
]);
