/** Conversions of strftime; an unknown one stays as it is. */
const CONVERSIONS: Readonly<
  Record<string, (parts: (options: Intl.DateTimeFormatOptions) => string, date: Date) => string>
> = {
  Y: (part) => part({ year: "numeric" }),
  y: (part) => part({ year: "2-digit" }),
  m: (part) => part({ month: "2-digit" }),
  d: (part) => part({ day: "2-digit" }),
  H: (part) => part({ hour: "2-digit", hourCycle: "h23" }).padStart(2, "0"),
  M: (part) => part({ minute: "2-digit" }).padStart(2, "0"),
  S: (part) => part({ second: "2-digit" }).padStart(2, "0"),
  A: (part) => part({ weekday: "long" }),
  a: (part) => part({ weekday: "short" }),
  B: (part) => part({ month: "long" }),
  b: (part) => part({ month: "short" }),
  s: (_, date) => String(Math.floor(date.getTime() / 1000)),
  Z: (part) => part({ timeZoneName: "short" }).split(" ").at(-1)!,
  "%": () => "%",
};

/** The time as `timefmt` of a page has it. */
export function pageTime(format: string, isGmt: boolean): string {
  const date = new Date();
  const zone = isGmt ? { timeZone: "GMT" } : {};
  const part = (options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat("en-US", { ...options, ...zone }).format(date);
  let out = "";
  for (let i = 0; i < format.length; i++) {
    const convert = format[i] === "%" ? CONVERSIONS[format[i + 1] ?? ""] : undefined;
    out += convert === undefined ? format[i] : convert(part, date);
    if (convert !== undefined) i++;
  }
  return out;
}
