/** What is in the address of the page, so that a reload shows the same: each has a default, which is not written. */
const DEFAULTS = { window: "5", sort: "rate", route: "", status: "", text: "", slow: "", paused: "" };

/** The name of one. */
type PageSetting = keyof typeof DEFAULTS;

/** What the address says. */
export function read(name: PageSetting): string {
  return new URLSearchParams(location.search).get(name) ?? DEFAULTS[name];
}

/** Writes it into the address, in place of what it said. */
export function write(name: PageSetting, value: string): void {
  const params = new URLSearchParams(location.search);
  if (value === DEFAULTS[name]) params.delete(name);
  else params.set(name, value);
  const query = params.toString();
  history.replaceState(null, "", `${location.pathname}${query === "" ? "" : `?${query}`}${location.hash}`);
}
