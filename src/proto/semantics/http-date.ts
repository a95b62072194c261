const IMF_FIXDATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d\d) (\w{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$/;
const RFC_850 = /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\d\d)-(\w{3})-(\d\d) (\d\d):(\d\d):(\d\d) GMT$/;
const ASCTIME = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\w{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})$/;
const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

/**
 * Reads an HTTP date. RFC 9110 §5.6.7: IMF-fixdate and the two obsolete forms; anything else is not a date.
 * @param text the field value
 * @param nowMs milliseconds since the epoch, for years of two digits
 * @returns seconds since the epoch, or NaN
 */
export function parseHttpDate(text: string, nowMs: number): number {
  let m = IMF_FIXDATE.exec(text);
  if (m !== null) return seconds(Number(m[3]), m[2]!, m[1]!, m[4]!, m[5]!, m[6]!);
  m = RFC_850.exec(text);
  if (m !== null) return seconds(fullYear(Number(m[3]), nowMs), m[2]!, m[1]!, m[4]!, m[5]!, m[6]!);
  m = ASCTIME.exec(text);
  if (m !== null) return seconds(Number(m[6]), m[1]!, m[2]!, m[3]!, m[4]!, m[5]!);
  return Number.NaN;
}

/**
 * Writes an IMF-fixdate.
 * @param epochSeconds whole seconds since the epoch
 */
export function httpDateText(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toUTCString();
}

/** RFC 9110 §5.6.7: a two-digit year more than 50 years ahead is the most recent past year with those digits. */
function fullYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}

function seconds(year: number, month: string, day: string, hour: string, minute: string, second: string): number {
  const at = MONTHS.indexOf(month);
  if (at < 0 || at % 3 !== 0) return Number.NaN;
  const date = new Date(0);
  date.setUTCFullYear(year, at / 3, Number(day));
  if (date.getUTCDate() !== Number(day)) return Number.NaN;
  // A second of 60 is a leap second; it counts as the first of the next minute.
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return Number.NaN;
  return date.getTime() / 1000 + Number(hour) * 3600 + Number(minute) * 60 + Number(second);
}
