// Fills in where this page came from and what the gateway says about itself.

for (const place of document.querySelectorAll("[data-origin]")) place.textContent = location.origin;

async function showStatus() {
  const note = document.getElementById("note");
  try {
    const answer = await fetch("/api/status", { cache: "no-store" });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const status = await answer.json();
    for (const field of document.querySelectorAll("[data-field]")) {
      field.textContent = status[field.dataset.field] ?? "unknown";
    }
    note.textContent = "";
  } catch {
    note.textContent = "The gateway does not answer at the moment.";
  }
}

/** The documentation is there where scripts/serve has built it. */
async function showDocs() {
  const answer = await fetch("/docs/", { method: "HEAD" });
  document.getElementById("docs").hidden = !answer.ok;
}

showDocs();
showStatus();
setInterval(showStatus, 5000);
