// Verdicts are added as the service tells of them. Everything is set as text: nothing that a trace says is read as markup.
"use strict";

const MOST_ROWS = 200;
const table = document.getElementById("verdicts");
const status_ = document.getElementById("state");
const pause = document.getElementById("pause");
const held = [];
const totals = { count: 0, spent: 0, unknown: 0, open: 0 };

function made(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function usd(value) {
  if (value === null) return "unknown";
  return value === 0 ? "$0" : `$${value.toFixed(value >= 1 ? 2 : 4)}`;
}

/** A trace without an id of its own has a digest for one. */
function named(trace) {
  if (!trace) return "a trace";
  return trace.startsWith("sha256:") ? `trace ${trace.slice(7, 19)}` : trace.slice(0, 80);
}

function row(verdict) {
  const link = made("a", "", `step ${verdict.step}`);
  link.href = table.dataset.verdict + encodeURIComponent(verdict.verdict_id);
  link.dataset.item = "";
  const step = made("th", "", link);
  step.scope = "row";
  const badges = Object.entries(verdict.answers).flatMap(([name, words]) => words.flatMap((word) => [made("span", `badge ${word}`, `${name} ${word.replaceAll("_", " ")}`), " "]));
  const line = made("tr", "new", made("td", "dim", verdict.created_at.slice(11, 19)), step, made("td", "", ...badges), made("td", "", verdict.judge), made("td", "", verdict.rubric), made("td", "num", usd(verdict.cost_usd)));
  line.dataset.verdict = verdict.verdict_id;
  return line;
}

function add(verdict) {
  document.getElementById("none-yet")?.remove();
  for (const old of table.querySelectorAll("tr.new")) if (old.dataset.age === "old") old.classList.remove("new");
  for (const old of table.querySelectorAll("tr.new")) old.dataset.age = "old";
  table.prepend(row(verdict));
  while (table.rows.length > MOST_ROWS) table.lastElementChild.remove();
}

function count(verdict) {
  totals.count += 1;
  totals.open += verdict.undetermined;
  if (verdict.cost_usd === null) totals.unknown += 1;
  else totals.spent += verdict.cost_usd;
  document.getElementById("count").textContent = totals.count.toLocaleString("en");
  document.getElementById("open").textContent = totals.open.toLocaleString("en");
  document.getElementById("spent").textContent = totals.unknown === totals.count ? "unknown" : usd(totals.spent) + (totals.unknown ? `, and ${totals.unknown} of unknown price` : "");
}

function progress({ scorings }) {
  const list = document.getElementById("scorings");
  const shown = scorings.map((each) => {
    const bar = made("progress", "");
    bar.max = Math.max(each.total, 1);
    bar.value = each.done;
    bar.setAttribute("aria-label", `Progress of ${named(each.trace_id)}`);
    const line = made("li", "", made("span", "", made("b", "", named(each.trace_id)), ` ${each.judge}, ${each.rubric}`), made("span", "dim", `${each.done} of ${each.total} steps, ${each.cost_usd === null ? "of unknown cost" : usd(each.cost_usd)}${each.ended ? (each.done < each.total ? ", broken off" : ", done") : ""}`), bar);
    line.dataset.scoring = each.scoring;
    return line;
  });
  list.replaceChildren(...(shown.length ? shown : [made("li", "empty", list.dataset.empty)]));
  const open = scorings.filter((each) => !each.ended).length;
  document.getElementById("under-way-count").textContent = `${open} ${open === 1 ? "scoring" : "scorings"}`;
}

function told(kind, then) {
  source.addEventListener(kind, ({ data }) => then(JSON.parse(data)));
}

const source = new EventSource(table.dataset.events);
source.addEventListener("open", () => { status_.textContent = "watching"; status_.className = "badge on"; });
source.addEventListener("error", () => {
  const over = source.readyState === EventSource.CLOSED;
  status_.textContent = over ? "not connected: load the page again" : "connecting again";
  status_.className = "badge unknown";
});
told("verdict", (verdict) => {
  count(verdict);
  if (pause.getAttribute("aria-pressed") === "true") {
    held.push(verdict);
    if (held.length > MOST_ROWS) held.shift();
  } else add(verdict);
});
told("progress", progress);
told("missed", ({ count }) => {
  const note = document.getElementById("missed");
  note.hidden = false;
  note.textContent = `${count.toLocaleString("en")} verdicts landed while this page did not listen, or faster than it could; they are not in this list.`;
});
pause.addEventListener("click", () => {
  const paused = pause.getAttribute("aria-pressed") !== "true";
  pause.setAttribute("aria-pressed", paused);
  pause.textContent = paused ? "Go on" : "Pause";
  if (!paused) held.splice(0).forEach(add);
});
addEventListener("pagehide", () => source.close());
