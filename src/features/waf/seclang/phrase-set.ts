/** Phrases that are searched for together, without regard to the case of letters of ASCII; one character a byte. */
export class PhraseSet {
  private readonly root: Node = { next: new Map(), ends: false };
  /** Characters that were compared in the last search, beside one for each of the text. */
  steps = 0;

  constructor(phrases: readonly string[]) {
    for (const phrase of phrases) {
      let node = this.root;
      for (const byte of Buffer.from(phrase, "latin1")) {
        const code = lower(byte);
        let next = node.next.get(code);
        if (next === undefined) {
          next = { next: new Map(), ends: false };
          node.next.set(code, next);
        }
        node = next;
      }
      node.ends = true;
    }
  }

  /**
   * The first phrase in a text, as it is written there; null if there is none.
   * @param limit of `steps` @returns undefined if it took more: nothing is known then
   */
  find(text: string, limit: number): string | null | undefined {
    this.steps = 0;
    for (let from = 0; from < text.length; from++) {
      let node: Node | undefined = this.root;
      for (let at = from; at < text.length; at++) {
        node = node.next.get(lower(text.charCodeAt(at)));
        if (node === undefined) break;
        if (node.ends) return text.slice(from, at + 1);
        if (++this.steps > limit) return undefined;
      }
    }
    return null;
  }
}

interface Node {
  readonly next: Map<number, Node>;
  ends: boolean;
}

function lower(code: number): number {
  return code >= 65 && code <= 90 ? code + 32 : code;
}
