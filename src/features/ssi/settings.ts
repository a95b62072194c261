import { mediaTypes } from "../../config/media-types.ts";
import { block, type ConfigOf, type Rows } from "../../config/row.ts";
import { flag } from "../../config/scalars.ts";

const rows = {
  enabled: { type: flag(), default: true, doc: "false: edge leaves directives as they are" },
  types: {
    type: mediaTypes(),
    default: ["text/html"],
    doc: "media types of pages with directives; * stands for any part",
  },
} as const satisfies Rows;

/** `ssi`: true, or a section. docs/ssi.md */
export const ssi = block(rows, { isSwitch: true });

/** How a route reads directives in pages. */
export type SsiConfig = ConfigOf<typeof ssi>;
