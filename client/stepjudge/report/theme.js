// The theme chosen last; without one, the system's. In the head, so that the page does not flash.
try {
  const chosen = localStorage.getItem("stepjudge-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser may refuse storage to a file; the system's theme is then all there is.
}
