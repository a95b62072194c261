import { nearestName } from "./nearest-name.ts";
import { describe, type Kind, piece, Wrong } from "./piece.ts";

/** A country as ISO 3166-1 has it, in two letters; resolved, capital ones. */
export function country(): Kind<string> {
  return piece<string>(
    (value) => {
      const found = typeof value === "string" ? value.trim().toUpperCase() : "";
      if (CODES.has(found)) return found;
      return new Wrong(
        `expected a country's two letters (ISO 3166-1), such as DE, found ${describe(value)}${meant(found)}`,
      );
    },
    { is: "text", pattern: /^[A-Za-z]{2}$/ },
  );
}

/** The number of an autonomous system, such as 64500 or AS64500. */
export function autonomousSystem(): Kind<number> {
  return piece<number>(
    (value) => {
      const digits = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : "";
      const number = Number(/^(?:AS)?(\d{1,10})$/i.exec(digits)?.[1] ?? 0);
      return number >= 1 && number <= MAX_ASN
        ? number
        : new Wrong(
            `expected the number of an autonomous system from 1 to ${MAX_ASN}, such as 64500, found ${describe(value)}`,
          );
    },
    {
      is: "either",
      forms: [
        { is: "integer", min: 1, max: MAX_ASN },
        { is: "text", pattern: /^[Aa][Ss]\d{1,10}$/ },
      ],
    },
  );
}

/** ` (did you mean …?)` for codes that are not ISO's, and for names. */
function meant(found: string): string {
  const code = OTHER_CODES.get(found) ?? codeOfName(found);
  return code === "" ? "" : ` (did you mean ${code}?)`;
}

function codeOfName(name: string): string {
  if (name.length < 4) return "";
  const names = new Intl.DisplayNames(["en"], { type: "region" });
  const byName = new Map([...CODES].map((code) => [(names.of(code) ?? code).toUpperCase(), code]));
  return byName.get(nearestName(name, [...byName.keys()])) ?? "";
}

/** ISO 3166-1 alpha-2, with Kosovo as the databases have it. */
const CODES: ReadonlySet<string> = new Set(
  (
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG " +
    "CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL " +
    "GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA " +
    "LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP " +
    "NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV " +
    "SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW"
  ).split(" "),
);

/** Codes that people write for a country, and short names of some. */
const OTHER_CODES: ReadonlyMap<string, string> = new Map([
  ["UK", "GB"],
  ["EL", "GR"],
  ["USA", "US"],
  ["UAE", "AE"],
]);

const MAX_ASN = 4_294_967_295;
