import { type Document, isScalar, type LineCounter, type ParsedNode, parseDocument, visit, YAMLParseError } from "yaml";

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
  const document = looseYaml(text, lines);
  visit(document, {
    Map(_, { items }) {
      const known = new Set<unknown>();
      for (const { key } of items) {
        const value: unknown = isScalar(key) ? key.value : key;
        if (known.has(value)) document.errors.push(repeated(key as ParsedNode));
        known.add(value);
      }
    },
  });
  return document;
}

function repeated({ range: [from, to] }: ParsedNode): YAMLParseError {
  return new YAMLParseError([from, to], "DUPLICATE_KEY", "Map keys must be unique");
}
