// Search, without a server: the index is loaded when it is first asked for. It ranks as `edge help WORDS` does.
import { SearchIndex } from "../../src/cli/help/search/search-index.ts";

const box = document.getElementById("search");
const list = document.getElementById("found");
const MAX_FOUND = 12;
let loading = null;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "search-index.js";
    script.onload = () => {
      const { entries, subjects } = globalThis.SEARCH_INDEX;
      resolve(new SearchIndex(entries, subjects));
    };
    script.onerror = reject;
    document.head.append(script);
  });
  return loading;
}

function around(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
  return `${at > 0 ? "… " : ""}${text.slice(at, at + 120)}…`;
}

function item({ title, heading, place, text }, words) {
  const link = document.createElement("a");
  link.href = place;
  const name = document.createElement("b");
  name.textContent = title === heading ? title : `${title}: ${heading}`;
  const part = document.createElement("small");
  part.textContent = around(text, words[0]);
  link.append(name, part);
  const row = document.createElement("li");
  row.append(link);
  return row;
}

async function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length === 0 ? [] : (await load()).find(box.value, MAX_FOUND);
  const rows = found.map(({ entry }) => item(entry, words));
  if (rows.length === 0 && words.length > 0) {
    const none = document.createElement("li");
    none.textContent = "Nothing found.";
    rows.push(none);
  }
  list.replaceChildren(...rows);
  list.hidden = words.length === 0;
}

box.hidden = false;
box.addEventListener("input", search);
box.form.addEventListener("submit", (event) => {
  event.preventDefault();
  list.querySelector("a")?.click();
});
document.addEventListener("keydown", (event) => {
  const isTyping = /^(input|textarea|select)$/i.test(event.target.tagName ?? "");
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    box.focus();
  } else if (event.key === "Escape") {
    list.hidden = true;
    box.blur();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !list.hidden) {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    (links[at] ?? box).focus();
    event.preventDefault();
  }
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("header")) list.hidden = true;
});

// A site of several versions has their list beside the folder of each.
const { version } = document.documentElement.dataset;
if (version !== undefined) {
  const script = document.createElement("script");
  script.src = "../versions.js";
  script.onload = () => offerVersions(globalThis.SITE_VERSIONS);
  document.head.append(script);
}

function offerVersions(versions) {
  const choice = document.getElementById("versions");
  const page = location.pathname.split("/").pop() || "index.html";
  const linkTo = (folder, { pages }) => `../${folder}/${pages.includes(page) ? page : "index.html"}`;
  choice.append(...versions.map(({ name }) => new Option(name, name, false, name === version)));
  choice.addEventListener("change", () => {
    location.href = linkTo(choice.value, versions[choice.selectedIndex]);
  });
  choice.hidden = versions.length < 2;
  document.querySelector(".mark small").hidden = !choice.hidden;
  const [newest] = versions;
  if (newest.name === version) return;
  const note = document.createElement("p");
  note.className = "older";
  const link = document.createElement("a");
  link.href = linkTo("latest", newest);
  link.textContent = `Read it for ${newest.name}`;
  note.append(`This page is about edge ${version}. `, link, ".");
  document.getElementById("page").prepend(note);
}

// Wide screens have the list of pages beside the page; narrow ones open it.
const menu = document.getElementById("menu");
const wide = matchMedia("(min-width: 60rem)");
const fit = () => {
  menu.open = wide.matches;
};
wide.addEventListener("change", fit);
fit();
menu.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
scrollTo(0, location.hash === "" ? 0 : scrollY);

for (const block of document.querySelectorAll("main pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const lines = block.querySelector("code").textContent.split("\n");
    const commands = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
    await navigator.clipboard.writeText(commands.length > 0 ? commands.join("\n") : lines.join("\n"));
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  });
  const frame = document.createElement("div");
  frame.className = "block";
  block.replaceWith(frame);
  frame.append(block, button);
}
