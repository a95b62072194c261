import { ANY_NUMBER, type Form, TEXT } from "../../config/form.ts";
import { describe, type Kind, piece, Wrong } from "../../config/piece.ts";

const PLAIN: Form = { is: "either", forms: [TEXT, ANY_NUMBER, { is: "flag" }] };

/** The value that a claim must have, or several of which one must fit: texts, numbers, true or false. */
export function claimValues(): Kind<readonly string[]> {
  return piece<readonly string[]>(
    (value) => {
      const all: readonly unknown[] = Array.isArray(value) ? value : [value];
      const isPlain = all.every((one) => ["string", "number", "boolean"].includes(typeof one));
      return isPlain && all.length > 0
        ? all.map((one) => String(one).trim())
        : new Wrong(`expected the value that the claim must have, or a list of values, found ${describe(value)}`);
    },
    { is: "list", item: PLAIN, orOne: true },
  );
}
