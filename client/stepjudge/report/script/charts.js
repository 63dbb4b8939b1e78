// Charts are drawn by Chart.js in the page's own colours, again whenever these change.

const drawn = [];

function colour(name) {
  const probe = document.body.appendChild(h("span", { class: `colour-${name}`, hidden: true }));
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function drawCharts() {
  while (drawn.length) drawn.pop().destroy();
  Object.assign(Chart.defaults, { animation: false, maintainAspectRatio: false, color: colour("dim"), borderColor: colour("line") });
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  for (const figure of document.querySelectorAll("[data-chart]")) {
    const numbers = index.charts[figure.dataset.chart];
    const make = { rates, steps: bySteps, effort }[figure.dataset.chart];
    if (figure.dataset.chart === "rates") figure.querySelector(".canvas").style.height = `${36 + 26 * numbers.labels.length}px`;
    drawn.push(new Chart(figure.querySelector("canvas"), make(numbers)));
  }
}

function rates({ labels, points }) {
  const shares = { min: 0, max: 100, ticks: { callback: (value) => `${value}%` }, grid: { color: colour("line") } };
  const at = points.flatMap((point, number) => (point.at === null ? [] : [{ x: point.at, y: labels[number] }]));
  return {
    data: {
      labels,
      datasets: [
        { type: "scatter", data: at, pointRadius: 5, clip: false, backgroundColor: colour("accent"), label: "value" },
        { type: "bar", data: points.map(({ low, high }) => (low === null ? null : [low, Math.max(high, low + 0.4)])), barThickness: 6, borderRadius: 3, backgroundColor: colour("accent-soft"), label: "interval" },
      ],
    },
    options: {
      indexAxis: "y",
      scales: { x: shares, y: { type: "category", labels, offset: true, grid: { display: false }, ticks: { autoSkip: false, callback: (_, number) => short(labels[number]) } } },
      plugins: { legend: { display: false }, tooltip: { callbacks: { label: ({ dataset, raw }) => dataset.label === "value" ? `${raw.x.toFixed(1)}%` : `${raw[0].toFixed(1)}% to ${raw[1].toFixed(1)}%` } } },
    },
  };
}

function bySteps({ labels, series }) {
  return {
    type: "bar",
    data: { labels, datasets: series.map(({ tone, label, counts }) => ({ label, data: counts, backgroundColor: colour(tone), categoryPercentage: 0.9, barPercentage: 1 })) },
    options: {
      scales: { x: { stacked: true, title: { display: true, text: "step" }, grid: { display: false } }, y: { stacked: true, title: { display: true, text: "trials" }, ticks: { precision: 0 }, grid: { color: colour("line") } } },
      plugins: { legend: { position: "bottom", labels: { boxWidth: 12, boxHeight: 12 } }, tooltip: { mode: "index", callbacks: { title: ([first]) => `step ${first.label}` } } },
    },
  };
}

function effort({ up, points }) {
  const styles = { success: ["circle", "pass"], failure: ["crossRot", "bad"], undecided: ["triangle", "unknown"] };
  const names = { success: "succeeded", failure: "did not succeed", undecided: "cannot be told" };
  return {
    type: "scatter",
    data: {
      datasets: Object.keys(styles).map((fate) => ({
        label: names[fate], data: points.filter((point) => point.fate === fate), pointStyle: styles[fate][0], pointRadius: 5, pointHoverRadius: 7,
        borderColor: colour(styles[fate][1]), borderWidth: 1.5, clip: false, backgroundColor: colour(styles[fate][1]),
      })).filter(({ data }) => data.length),
    },
    options: {
      onClick: (_, [first], chart) => { if (first) location.hash = trialHref(chart.data.datasets[first.datasetIndex].data[first.index].trial); },
      scales: { x: { beginAtZero: true, title: { display: true, text: "Steps" }, ticks: { precision: 0 }, grid: { color: colour("line") } }, y: { beginAtZero: true, title: { display: true, text: up }, grid: { color: colour("line") } } },
      plugins: { legend: { position: "bottom", labels: { usePointStyle: true, boxWidth: 7, boxHeight: 7 } }, tooltip: { callbacks: { label: ({ raw }) => `${short(raw.name)}: ${raw.x} steps, ${raw.y}` } } },
    },
  };
}

function short(text) {
  return text.length > 28 ? `${text.slice(0, 27)}…` : text;
}
