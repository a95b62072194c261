import { zstdDecompressSync } from "node:zlib";
import { docBundle } from "./doc-bundle.ts" with { type: "macro" };
import { docSections } from "./search/sections.ts";

const PACKED = docBundle();

/** The pages of the documentation, which are in the binary: by name without `.md`, as Markdown. */
export class DocPages {
  private readonly texts: ReadonlyMap<string, string>;

  /** @param texts by name without `.md`; those of the binary by default */
  constructor(texts: Readonly<Record<string, string>> = unpacked()) {
    this.texts = new Map(Object.entries(texts));
  }

  get names(): readonly string[] {
    return [...this.texts.keys()];
  }

  /** The whole text of a page; "" if there is none of that name. */
  text(name: string): string {
    return this.texts.get(name) ?? "";
  }

  /**
   * A page, or the section of a page with its subsections.
   * @param place as links name it: `tls`, `tls.md`, `docs/tls.md#redirect`
   * @returns null if it is not there
   */
  find(place: string): string | null {
    const [, name = "", anchor = ""] = PLACE.exec(place) ?? [];
    const text = this.texts.get(name === "" ? place : name);
    if (text === undefined || anchor === "") return text ?? null;
    return section(text, anchor);
  }

  /** The groups of pages in docs/README.md, each page with its line there. */
  groups(): readonly { readonly title: string; readonly pages: readonly (readonly [name: string, about: string])[] }[] {
    return this.texts
      .get("README")!
      .split(/^## /m)
      .slice(1)
      .map((part) => ({
        title: part.slice(0, part.indexOf("\n")),
        pages: [...part.matchAll(PAGE_ROW)].map(([, name, about]) => [name!, about!.replaceAll("`", "")] as const),
      }))
      .filter(({ pages }) => pages.length > 0);
  }
}

function unpacked(): Readonly<Record<string, string>> {
  return JSON.parse(zstdDecompressSync(Buffer.from(PACKED, "base64")).toString("utf8"));
}

function section(text: string, anchor: string): string | null {
  const sections = docSections(text);
  const from = sections.findIndex((one) => one.anchor === anchor);
  if (from < 0) return null;
  const { level, line } = sections[from]!;
  const end = sections.slice(from + 1).find((one) => one.level <= level);
  const lines = text.split("\n");
  return end === undefined ? lines.slice(line).join("\n") : `${lines.slice(line, end.line).join("\n").trimEnd()}\n`;
}

const PLACE = /^(?:docs\/)?([\w-]+)(?:\.md)?(?:#([\p{L}\p{N}_-]+))?$/u;
const PAGE_ROW = /^\| \[([\w-]+)\.md\]\([^()\n]*\) \| (.*) \|$/gm;
