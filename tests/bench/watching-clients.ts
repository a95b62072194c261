// Watchers of the live stream in a process of their own: `on` opens so many streams, `off` ends them; each is confirmed by a line.
const [url = "", count = "0"] = process.argv.slice(2);
let ending = new AbortController();

/** Opens a stream, waits for its first event, and goes on reading. */
async function watch(): Promise<void> {
  const response = await fetch(url, { signal: ending.signal });
  if (response.status !== 200) throw new Error(`${url} gave ${response.status}`);
  const reader = response.body!.getReader();
  await reader.read();
  void (async () => {
    while (!(await reader.read()).done);
  })().catch(() => {});
}

for await (const line of console) {
  if (line === "on") await Promise.all(Array.from({ length: Number(count) }, watch));
  else {
    ending.abort();
    ending = new AbortController();
  }
  process.stdout.write(`${line}\n`);
}

export {};
