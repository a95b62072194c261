/**
 * The names of one kind in node's text for a certificate's alternative names, such as `DNS:a.test, URI:"spiffe://x"`. A name
 * that holds a comma or a quote is there as a JSON string, so that no name can pass for two.
 * @param text `subjectAltName` of node's X509Certificate; "" if there are none
 */
export function alternativeNames(text: string, kind: "DNS" | "URI"): string[] {
  const names: string[] = [];
  for (const [, found, quoted, plain] of text.matchAll(NAME)) {
    if (found === kind) names.push(quoted === undefined ? plain! : (JSON.parse(quoted) as string));
  }
  return names;
}

const NAME = /(?:^|, )([A-Za-z ]+):(?:("(?:[^"\\]|\\.)*")|([^,]*))(?=, |$)/g;
