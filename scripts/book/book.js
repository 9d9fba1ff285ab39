"use strict";
// The search is over the sections of all pages; every word has to be there, titles count more.
const field = document.getElementById("search");
const found = document.getElementById("found");
const root = document.body.dataset.root;

function search(words) {
  const scored = [];
  for (const page of window.PAGES) {
    const title = page.t.toLowerCase();
    const text = page.x.toLowerCase();
    let score = 0;
    for (const word of words) {
      const inTitle = title.includes(word);
      const times = text.split(word).length - 1;
      if (!inTitle && times === 0) { score = -1; break; }
      score += (inTitle ? 50 : 0) + Math.min(times, 10);
    }
    if (score > 0) scored.push([score, page]);
  }
  return scored.sort((a, b) => b[0] - a[0]).slice(0, 12).map((pair) => pair[1]);
}

field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.replaceChildren();
  found.hidden = words.length === 0;
  if (found.hidden) return;
  const pages = search(words);
  for (const page of pages) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = root + page.u;
    link.textContent = page.t;
    const around = document.createElement("span");
    const at = Math.max(0, page.x.toLowerCase().indexOf(words[0]) - 60);
    around.textContent = page.x.slice(at, at + 160);
    item.append(link, around);
    found.append(item);
  }
  if (pages.length === 0) {
    const item = document.createElement("li");
    item.textContent = "Nothing was found.";
    found.append(item);
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape") {
    field.value = "";
    found.hidden = true;
  }
});

const menu = document.getElementById("menu");
menu.addEventListener("click", () => {
  const open = document.getElementById("contents").classList.toggle("open");
  menu.setAttribute("aria-expanded", String(open));
});

// Commands are copied by a click: blocks of code, and commands in tables.
for (const block of document.querySelectorAll("pre, td > code:only-child")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "copy";
  const text = block.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  });
  if (block.tagName === "PRE") block.append(button);
  else block.after(button);
}
