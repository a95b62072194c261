/** How Chromium is run. No sandbox, since containers and root cannot have one; the pages are our own. */
export const BROWSER_FLAGS: readonly string[] = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--remote-debugging-port=0",
];
