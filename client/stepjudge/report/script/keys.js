// Keys do what links and buttons do, without a mouse.

function cellsShown() {
  return [...document.querySelectorAll("#grid tbody tr:not([hidden]) .cell:not(.off)")];
}

function move(cell, by) {
  const cells = cellsShown();
  const at = cells.indexOf(cell);
  cells[at < 0 ? 0 : Math.min(Math.max(at + by, 0), cells.length - 1)]?.focus();
}

/** The cell of the same pass in the next row, or the nearest there is. */
function moveRow(cell, by) {
  const rows = [...document.querySelectorAll("#grid tbody tr:not([hidden])")];
  const column = cell.closest("td").cellIndex;
  for (let at = rows.indexOf(cell.closest("tr")) + by; rows[at]; at += by) {
    const cells = [...rows[at].querySelectorAll(".cell:not(.off)")];
    const near = cells.sort((a, b) => Math.abs(a.closest("td").cellIndex - column) - Math.abs(b.closest("td").cellIndex - column))[0];
    if (near) return near.focus();
  }
}

function moveStep(by) {
  const shown = openTrial.cards.filter(({ element }) => !element.hidden);
  const at = shown.findIndex(({ element }) => element.classList.contains("current"));
  const next = shown[at < 0 ? 0 : Math.min(Math.max(at + by, 0), shown.length - 1)];
  if (next) chooseStep(next.step.n);
}

function moveTrial(by) {
  const to = openTrial.number + by;
  if (index.trials[to]) location.hash = trialHref(to);
}

function nextFlag() {
  const flags = ["", ...Object.keys(index.flags)];
  state.flag = flags[(flags.indexOf(state.flag) + 1) % flags.length];
  applyFilter();
}

function escape() {
  const search = document.getElementById("search");
  if (document.activeElement === search || state.query || state.flag) {
    search.value = state.query = state.flag = "";
    search.blur();
    applyFilter();
  } else if (openTrial) location.hash = "#overview";
}

const KEYS = {
  j: () => (openTrial ? moveStep(1) : move(document.activeElement, 1)),
  k: () => (openTrial ? moveStep(-1) : move(document.activeElement, -1)),
  f: nextFlag,
  t: () => switchTheme(),
  "/": () => document.getElementById("search").focus(),
  "?": () => document.getElementById("help").showModal(),
  Escape: escape,
};

/** Arrows move between trials; where something scrolls or takes text, they are left to it. */
const ARROWS = {
  ArrowLeft: (cell) => (openTrial ? moveTrial(-1) : cell && move(cell, -1)),
  ArrowRight: (cell) => (openTrial ? moveTrial(1) : cell && move(cell, 1)),
  ArrowUp: (cell) => cell && moveRow(cell, -1),
  ArrowDown: (cell) => cell && moveRow(cell, 1),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("help").open) return;
  const typing = event.target.matches("input, textarea");
  if (typing && event.key !== "Escape") return;
  const cell = event.target.closest(".cell");
  const action = KEYS[event.key] ?? (event.target.matches(".scroll, .passage") ? undefined : ARROWS[event.key]);
  if (!action || (event.key.startsWith("Arrow") && !openTrial && !cell)) return;
  if (openTrial && (event.key === "ArrowUp" || event.key === "ArrowDown")) return;
  event.preventDefault();
  action(cell);
});
