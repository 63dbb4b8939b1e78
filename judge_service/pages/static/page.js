// Keys do what links and buttons do. `data-key="x"` on an element: the key x clicks it. `data-item`: j and k move between.
"use strict";

const search = document.getElementById("search");
const help = document.getElementById("help");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("stepjudge-theme", theme);
  } catch {
    // Not remembered then
  }
  document.dispatchEvent(new Event("theme"));
}

function move(by) {
  const items = [...document.querySelectorAll("[data-item]")].filter((each) => each.checkVisibility());
  if (!items.length) return;
  const at = items.indexOf(document.activeElement.closest("[data-item]"));
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + by, 0), items.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

/** What a screen reader is told, and nobody else. */
function say(text) {
  document.getElementById("said").textContent = text;
}

document.getElementById("theme").addEventListener("click", switchTheme);
document.getElementById("help-button").addEventListener("click", () => help.showModal());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || help.open) return;
  const typing = event.target.matches("input:not([type=checkbox], [type=radio]), textarea, select");
  if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const key = CSS.escape(event.key);
  const target = [...document.querySelectorAll(`[data-key~="${key}"]`)].find((each) => each.checkVisibility());
  if (event.key === "/" && search) search.focus();
  else if (target) target.click();
  else if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
  else return;
  event.preventDefault();
});

// Bring what is current into view within its own list; scrollIntoView would move the page too
for (const list of document.querySelectorAll("[data-scroll]")) {
  const current = list.querySelector("[aria-current]");
  if (!current) continue;
  list.scrollTop = current.offsetTop - list.clientHeight / 2;
  const row = list.querySelector("ol");
  if (row) row.scrollLeft = current.offsetLeft - row.clientWidth / 2;
}
