import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type ParsedNode,
  parseAllDocuments,
  parseDocument,
  YAMLParseError,
} from "yaml";

type YamlDocument = Document.Parsed<ParsedNode>;

/**
 * A text as the YAML library reads it; keys that occur twice in a map are for the caller to find. The library would compare each key with all
 * before it: a map of sixty thousand keys would hold the thread for minutes.
 */
export function looseYaml(text: string, lines?: LineCounter): YamlDocument {
  const counted = lines === undefined ? {} : { lineCounter: lines };
  return parseDocument(text, { ...counted, prettyErrors: false, uniqueKeys: false });
}

/** The same; a key that occurs twice in a map is one of the `errors`. */
export function strictYaml(text: string, lines?: LineCounter): YamlDocument {
  return withoutRepeats(looseYaml(text, lines));
}

/** All documents of a text, read in the same way. */
export function strictYamls(text: string, lines: LineCounter): readonly YamlDocument[] {
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  return Array.isArray(documents) ? documents.map(withoutRepeats) : [];
}

/** The library's own walk copies the path for each node: a text of brackets in brackets would take the square of its length. */
function withoutRepeats(document: YamlDocument): YamlDocument {
  const left: unknown[] = [document.contents];
  while (left.length > 0) {
    const node = left.pop();
    if (isSeq(node)) for (let i = node.items.length - 1; i >= 0; i--) left.push(node.items[i]);
    if (!isMap(node)) continue;
    const known = new Set<unknown>();
    for (const { key } of node.items) {
      const value: unknown = isScalar(key) ? key.value : key;
      if (known.has(value)) document.errors.push(repeated(key as ParsedNode));
      known.add(value);
    }
    for (let i = node.items.length - 1; i >= 0; i--) left.push(node.items[i]!.value, node.items[i]!.key);
  }
  return document;
}

function repeated({ range: [from, to] }: ParsedNode): YAMLParseError {
  return new YAMLParseError([from, to], "DUPLICATE_KEY", "Map keys must be unique");
}
