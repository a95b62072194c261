import { list } from "./piece.ts";
import { textLike } from "./scalars.ts";

/** A list of media types, of which `*` stands for any part: `text/html`, `text/*`, `application/*+json`. */
export function mediaTypes(): ReturnType<typeof list<string, string>> {
  return list(
    textLike(
      /^[a-z0-9!#$&^_.+-]+\/([a-z0-9!#$&^_.+-]+|\*|\*\+[a-z0-9]+)$/i,
      "a media type such as text/html or text/*",
    ),
    "media types",
  );
}
