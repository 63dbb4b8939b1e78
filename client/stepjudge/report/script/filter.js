// The filter chooses what is shown: steps with a flag, and what holds the words that are searched for.

const state = { flag: "", query: "" };
const texts = new Map(); // trial → [text of its opening and outcome, text of each step …], in lower case

function wordsOf(value, into) {
  if (typeof value === "string") into.push(value);
  else if (value && typeof value === "object") for (const item of Object.values(value)) wordsOf(item, into);
  return into;
}

function textsOf(number) {
  if (!texts.has(number)) {
    const { steps = [], ...rest } = story(number) ?? {};
    texts.set(number, [rest, ...steps].map((part) => wordsOf(part, []).join("\n").toLowerCase()));
  }
  return texts.get(number);
}

function holds(number, step) {
  return !state.query || (textsOf(number)[step] ?? "").includes(state.query);
}

async function applyFilter() {
  for (const chip of document.querySelectorAll("[data-flag]")) chip.setAttribute("aria-pressed", String(chip.dataset.flag === state.flag));
  if (openTrial) filterSteps();
  else await filterGrid();
  highlight();
}

function filterSteps() {
  let shown = 0;
  openTrial.cards.forEach(({ step, element, link }, at) => {
    const fits = (!state.flag || step.flags?.includes(state.flag)) && holds(openTrial.number, at + 1);
    element.hidden = link.parentElement.hidden = !fits;
    shown += fits ? 1 : 0;
  });
  const none = document.querySelector("#trial .none");
  if (none) none.hidden = shown > 0;
}

let latest = 0;

async function filterGrid() {
  const turn = ++latest;
  const { flag, query } = state;
  let [trials, steps, rested] = [0, 0, performance.now()];
  for (const row of document.querySelectorAll("#grid tbody tr")) {
    const named = !query || row.querySelector("th").textContent.toLowerCase().includes(query);
    let any = false;
    for (const cell of row.querySelectorAll(".cell")) {
      const number = Number(cell.dataset.trial);
      const fits = (!flag || cell.hasAttribute(`data-${flag}`)) &&
        (named || index.trials[number].id.toLowerCase().includes(query) || textsOf(number).some((text) => text.includes(query)));
      cell.classList.toggle("off", !fits);
      any ||= fits;
      trials += fits ? 1 : 0;
      steps += fits && flag ? Number(cell.getAttribute(`data-${flag}`)) : 0;
      // The first search reads every story: let the page breathe, and stop when other words were typed
      if (performance.now() - rested > 40) {
        await new Promise((go) => setTimeout(go));
        if (turn !== latest) return;
        rested = performance.now();
      }
    }
    row.hidden = (flag || query) && !any;
  }
  const grid = document.getElementById("grid");
  if (!grid) return;
  document.getElementById("nothing").hidden = trials > 0;
  document.getElementById("found").textContent = flag || query ? plural(trials, "trial") + (flag ? `, ${plural(steps, "step")}` : "") : "";
}

/** Searched words, marked without touching the page, where the browser can. */
function highlight() {
  if (!globalThis.Highlight) return;
  CSS.highlights.delete("searched");
  if (!openTrial || !state.query) return;
  const ranges = [];
  const walker = document.createTreeWalker(document.getElementById("trial"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && ranges.length < 500) {
    const at = walker.currentNode.data.toLowerCase().indexOf(state.query);
    if (at < 0 || at + state.query.length > walker.currentNode.length) continue;
    const range = new Range();
    range.setStart(walker.currentNode, at);
    range.setEnd(walker.currentNode, at + state.query.length);
    ranges.push(range);
  }
  CSS.highlights.set("searched", new Highlight(...ranges));
}
