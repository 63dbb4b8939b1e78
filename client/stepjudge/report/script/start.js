// The address says what is shown: `#overview`, or `#trial/ID` and `#trial/ID/STEP`.

function chooseStep(number, scroll = true) {
  for (const { step, element, link } of openTrial.cards) {
    const chosen = step.n === number;
    element.classList.toggle("current", chosen);
    link.toggleAttribute("aria-current", chosen);
    if (!chosen) continue;
    element.hidden = false;
    if (scroll) element.scrollIntoView({ block: "start", behavior: "instant" });
    element.focus({ preventScroll: true });
    // Within the list only: scrollIntoView would move the page too
    const list = link.closest(".step-list");
    if (list.scrollHeight > list.clientHeight) list.scrollTop = link.offsetTop - list.clientHeight / 2;
  }
  history.replaceState(null, "", trialHref(openTrial.number, number));
}

function route() {
  const [kind, id, step] = location.hash.slice(1).split("/");
  const number = kind === "trial" ? index.trials.findIndex((trial) => trial.id === decoded(id)) : -1;
  if (number >= 0 && !story(number)) return document.addEventListener("DOMContentLoaded", route, { once: true });
  const was = openTrial?.number;
  document.getElementById("overview").hidden = number >= 0;
  document.getElementById("trial").hidden = number < 0;
  if (number < 0) {
    openTrial = null;
    document.title = index.title;
    if (was !== undefined) {
      document.getElementById("trial").replaceChildren();
      if (kind === "overview") document.querySelector(`.cell[data-trial="${was}"]`)?.focus();
    }
    if (kind !== "overview" || was === undefined) document.getElementById(kind)?.scrollIntoView();
  } else if (was !== number) {
    openStory(number);
    document.title = `${index.trials[number].task}, pass ${index.trials[number].pass} – ${index.title}`;
    scrollTo(0, 0);
    document.querySelector("#trial h1").focus({ preventScroll: true });
  }
  applyFilter();
  if (number >= 0 && step) chooseStep(Number(step));
}

function decoded(text = "") {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody's own address, not one of ours
  }
}

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
  drawCharts();
}

function printLight(starts) {
  const root = document.documentElement;
  if (starts) root.dataset.screen = root.dataset.theme ?? "";
  root.dataset.theme = starts ? "light" : root.dataset.screen;
  if (!root.dataset.theme) delete root.dataset.theme;
  drawCharts();
}

let typed;
document.getElementById("search").addEventListener("input", ({ target }) => {
  clearTimeout(typed);
  typed = setTimeout(() => {
    state.query = target.value.trim().toLowerCase();
    applyFilter();
  }, 150);
});
document.getElementById("theme").addEventListener("click", switchTheme);
document.getElementById("help-button").addEventListener("click", KEYS["?"]);
document.getElementById("close-help").addEventListener("click", () => document.getElementById("help").close());
document.getElementById("clear")?.addEventListener("click", escape);
document.addEventListener("click", ({ target }) => {
  const chip = target.closest("[data-flag]");
  if (!chip) return;
  state.flag = chip.dataset.flag;
  applyFilter();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCharts);
addEventListener("beforeprint", () => printLight(true));
addEventListener("afterprint", () => printLight(false));
addEventListener("hashchange", route);
drawCharts();
route();
