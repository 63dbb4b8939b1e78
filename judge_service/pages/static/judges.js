// Plots are drawn by Chart.js in the page's own colours, again whenever these change.
"use strict";

const plotted = [];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [12, 4]];
const SHAPES = ["circle", "rect", "triangle", "rectRot", "star", "cross"];
const TONES = ["accent", "pass", "idle", "bad", "dim", "unknown"];

function colour(name) {
  const probe = document.body.appendChild(document.createElement("span"));
  probe.className = `colour-${name}`;
  probe.hidden = true;
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function drawPlots() {
  while (plotted.length) plotted.pop().destroy();
  Object.assign(Chart.defaults, { animation: false, maintainAspectRatio: false, color: colour("dim"), borderColor: colour("line") });
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  for (const figure of document.querySelectorAll("[data-plot]")) {
    const numbers = JSON.parse(figure.dataset.numbers);
    const make = { forest, days: lines, costs: bars }[figure.dataset.plot];
    plotted.push(new Chart(figure.querySelector("canvas"), make(numbers)));
  }
}

function forest({ labels, series }) {
  const offset = (number) => (number - (series.length - 1) / 2) * 0.28;
  const datasets = series.flatMap(({ label, tone, points }, number) => {
    const at = points.map((point, row) => ({ ...point, x: point.at, y: row + offset(number) })).filter((point) => point.at !== null);
    const bars = at.filter((point) => point.low !== null).flatMap(({ low, high, y }) => [{ x: low, y }, { x: high, y }, { x: NaN, y }]);
    return [
      { type: "scatter", label, data: at, pointStyle: number ? "rectRot" : "circle", pointRadius: 5.5, clip: false, backgroundColor: colour(tone), borderColor: colour(tone) },
      { type: "scatter", label: `${label}, interval`, data: bars, showLine: true, spanGaps: false, pointRadius: 0, borderWidth: 4, clip: false, borderColor: number ? colour("unknown") : colour("accent-soft") },
    ];
  });
  const low = Math.min(0, ...series.flatMap(({ points }) => points.flatMap(({ low, at }) => [low ?? 0, at ?? 0])));
  return {
    data: { datasets },
    options: {
      scales: {
        x: { min: Math.floor(low * 5) / 5, max: 1, grid: { color: colour("line") } },
        y: { type: "linear", reverse: true, min: -0.6, max: labels.length - 0.4, grid: { display: false }, afterBuildTicks: (axis) => { axis.ticks = labels.map((_, value) => ({ value })); }, ticks: { autoSkip: false, callback: (value) => labels[value] ?? "" } },
      },
      plugins: {
        legend: { position: "bottom", labels: { usePointStyle: true, filter: ({ datasetIndex }) => datasetIndex % 2 === 0 } },
        tooltip: { filter: ({ datasetIndex }) => datasetIndex % 2 === 0, callbacks: { label: ({ dataset, raw }) => `${dataset.label} ${raw.at.toFixed(2)}${raw.low === null ? "" : `, ${raw.low.toFixed(2)} to ${raw.high.toFixed(2)}`}` } },
      },
    },
  };
}

function lines({ labels, series, unit }) {
  return {
    type: "line",
    data: { labels, datasets: series.map(({ label, values }, at) => ({ label, data: values, spanGaps: true, borderWidth: 2, borderDash: DASHES[at % DASHES.length], pointStyle: SHAPES[at % SHAPES.length], pointRadius: labels.length > 40 ? 0 : 4, borderColor: colour(TONES[at % TONES.length]), backgroundColor: colour(TONES[at % TONES.length]) })) },
    options: {
      interaction: { mode: "index", intersect: false },
      scales: { x: { grid: { display: false }, offset: true }, y: { min: 0, max: 100, ticks: { callback: (value) => `${value}${unit}` }, grid: { color: colour("line") } } },
      plugins: { legend: { position: "bottom", labels: { usePointStyle: true } }, tooltip: { callbacks: { label: ({ dataset, raw }) => `${dataset.label} ${raw}${unit}` } } },
    },
  };
}

function bars({ labels, series }) {
  return {
    type: "bar",
    data: { labels, datasets: series.map(({ label, values }) => ({ label, data: values, backgroundColor: colour("accent"), maxBarThickness: 36 })) },
    options: {
      scales: { x: { grid: { display: false } }, y: { beginAtZero: true, ticks: { callback: (value) => `$${value}` }, grid: { color: colour("line") } } },
      plugins: { legend: { display: false } },
    },
  };
}

drawPlots();
document.addEventListener("theme", drawPlots);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawPlots);
