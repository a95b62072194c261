/**
 * A small single-page application. It looks at itself as a browser's user would, and says what it saw by asking for
 * `/app/report/<what>`, which the gateway's access log shows.
 */
export const BROWSER_SITE: Readonly<Record<string, string>> = {
  "site/index.html": `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>app</title><base href="/app/"><link rel="stylesheet" href="assets/app.css"></head>
<body><main id="view"></main><video id="film" muted></video><script type="module" src="assets/app.mjs"></script></body>
</html>
`,
  "site/assets/app.css": "#view { color: rgb(1, 2, 3); }\n",
  "site/assets/view.mjs":
    'export const show = (path) => { document.querySelector("#view").textContent = `view of ${path}`; };\n',
  "site/assets/app.mjs": `import { show } from "./view.mjs";
const report = (what) => fetch("report/" + what);
show(location.pathname);
const view = document.querySelector("#view");
await report("view-" + view.textContent.replaceAll(/[^a-z0-9]/g, "-"));
await report("style-" + getComputedStyle(view).color.replaceAll(/[^0-9]+/g, "-"));
await report("missing-" + (await fetch("assets/missing.mjs")).status);
await report("data-" + (await (await fetch("data.json")).json()).answer);
const film = document.querySelector("#film");
film.addEventListener("error", () => report("film-error"));
film.addEventListener("loadedmetadata", () => { film.currentTime = film.duration * 0.9; }, { once: true });
film.addEventListener("seeked", () => report("film-" + Math.round(film.currentTime)), { once: true });
film.src = "film.wav";
`,
  "site/data.json": '{"answer":42}\n',
};

/** Seconds of sound in the file that the page plays from its end: a browser gets there by asking for ranges. */
export const FILM_SECONDS = 100;

/** Silence as a WAV file of some 9 MB: 44.1 kHz, 16 bits, one channel. */
export function silentFilm(): Buffer {
  const rate = 44_100;
  const dataBytes = FILM_SECONDS * rate * 2;
  const file = Buffer.alloc(44 + dataBytes);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(36 + dataBytes, 4);
  file.write("WAVEfmt ", 8, "latin1");
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(rate * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36, "latin1");
  file.writeUInt32LE(dataBytes, 40);
  return file;
}
