// A passage is a text of the trace at its place. What verdicts quote from it is marked where it stands.

const LONG = 1200;

/** Every quote of a trial by the place it names: [{ quote, step, criterion, link }]. */
function citations(steps) {
  const byPlace = new Map();
  for (const step of steps) {
    for (const answer of step.score?.details ?? []) {
      for (const evidence of answer.evidence ?? []) {
        const citation = { quote: evidence.quote, step: step.n, criterion: answer.criterion, evidence, marks: [] };
        byPlace.set(evidence.place, [...(byPlace.get(evidence.place) ?? []), citation]);
      }
    }
  }
  return byPlace;
}

/** White space is folded, as it is when a quote is checked. */
function pattern(quote) {
  const words = quote.split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  return new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+"));
}

/** Where citations stand in a text; those that do not are left for another text of the same place. */
function found(text, cited) {
  const ranges = [];
  for (const citation of cited) {
    const match = pattern(citation.quote)?.exec(text);
    if (match) ranges.push({ from: match.index, to: match.index + match[0].length, citation });
  }
  return ranges;
}

/** The text as nodes, cut where a range starts or ends, so that overlapping quotes are each marked whole. */
function marked(text, ranges) {
  if (!ranges.length) return [text];
  const cuts = [...new Set([0, text.length, ...ranges.flatMap((range) => [range.from, range.to])])].sort((a, b) => a - b);
  return cuts.slice(0, -1).map((from, at) => {
    const piece = text.slice(from, cuts[at + 1]);
    const here = ranges.filter((range) => range.from <= from && cuts[at + 1] <= range.to);
    if (!here.length) return piece;
    const why = here.map(({ citation }) => `step ${citation.step}: ${citation.criterion}`).join(", ");
    const mark = h("mark", { title: `quoted for ${why}` }, piece);
    for (const { citation } of here) citation.marks.push(mark);
    return mark;
  });
}

function passage(place, text, cited = [], label = place) {
  if (!text) return null;
  const body = h("pre", { class: "passage", tabindex: "0", "aria-label": label }, marked(text, found(text, cited)));
  const lines = text.split("\n").length;
  if (text.length < LONG && lines < 22) return body;
  const button = h("button", { type: "button", class: "link more", "aria-expanded": "false" }, `Show all ${plural(lines, "line")}`);
  button.addEventListener("click", () => {
    const open = body.classList.toggle("whole");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "Show less" : `Show all ${plural(lines, "line")}`;
  });
  body.classList.add("long");
  return [body, button];
}

/** Arguments one by one, as the agent meant them; as JSON too where a quote only stands in that spelling. */
function argumentList(place, call, cited = []) {
  if (call.raw !== undefined) return [h("p", { class: "dim" }, "arguments that are not a JSON object"), passage(place, call.raw, cited)];
  const rows = call.arguments ?? [];
  const list = h("dl", { class: "arguments" }, rows.map(([name, text]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, passage(place, text, cited, `${place} ${name}`) ?? h("span", { class: "dim" }, "empty"))),
  ));
  const missed = cited.filter((citation) => !citation.marks.length);
  if (!missed.length) return list;
  const json = `{${rows.map(([name, text, string]) => `${JSON.stringify(name)}:${string ? JSON.stringify(text) : text}`).join(",")}}`;
  return found(json, missed).length ? [list, h("p", { class: "dim" }, "as JSON"), passage(place, json, missed)] : list;
}

/** Bring a quote into view, whatever hides it, and show which one it is. */
function show(citation) {
  const mark = citation.marks[0];
  for (let above = mark.parentElement; above; above = above.parentElement) {
    if (above.tagName === "DETAILS") above.open = true;
    if (above.hidden) above.hidden = false;
  }
  mark.scrollIntoView({ block: "center", behavior: motion() });
  for (const each of document.querySelectorAll("mark.shown")) each.classList.remove("shown");
  for (const each of citation.marks) each.classList.add("shown");
}

function motion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
}
