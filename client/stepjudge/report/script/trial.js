// A trial is told when it is opened: what it came to, then its steps with what was said of each.

const TONES = { pass: "+1 passes", idle: "0 no use", bad: "−1 bad", unknown: "undetermined", unjudged: "not judged" };
const WORDS = { yes: "yes", no: "no", not_applicable: "n/a", undetermined: "undetermined" };
const OUTCOMES = { pass: "✓", fail: "✗", error: "!" };

let openTrial = null; // { number, cards: [{ step, element, link }] }

function openStory(number) {
  const trial = index.trials[number];
  const told = story(number);
  const place = document.getElementById("trial");
  const steps = told.steps ?? [];
  const cited = citations(steps);
  const opening = told.opening === undefined ? null : island(`opening-${told.opening}`);
  const before = opening ? openingOf(opening, cited) : null;
  const cards = steps.map((step) => ({ step, element: null, link: stepLink(trial, step) }));
  const bodies = steps.map((step) => actionOf(step, cited));
  // Answers come after every passage was searched: only then is it known which quotes stand
  const quoted = new Map([...cited.values()].flat().map((citation) => [citation.evidence, citation]));
  steps.forEach((step, at) => { cards[at].element = stepCard(step, bodies[at], quoted); });
  place.replaceChildren(
    heading(number, trial, told),
    h("div", { class: "facts-of-trial" }, h("div", {}, outcomeOf(told), viewsOf(told)), h("div", {}, checksOf(told), judgeOf(told))),
    before ?? "",
    steps.length ? stepsOf(told, cards) : h("p", { class: "empty" }, told.traced ? "The trace has no steps." : "No trace was kept of this trial."),
    afterOf(told, cited) ?? "",
  );
  openTrial = { number, cards };
  return openTrial;
}

function trialHref(number, step) {
  return `#trial/${encodeURIComponent(index.trials[number].id)}${step ? `/${step}` : ""}`;
}

function heading(number, trial, told) {
  const around = (to, text, name) => to < 0 || to >= index.trials.length
    ? h("span", { class: "chip off" }, text)
    : h("a", { class: "chip", href: trialHref(to), "aria-label": name }, text);
  return h("header", { class: "trial-head" },
    h("nav", { class: "around", "aria-label": "Trials" },
      h("a", { class: "chip", href: "#overview" }, "Overview"),
      around(number - 1, "← Previous", "Previous trial"), around(number + 1, "Next →", "Next trial"),
      h("span", { class: "dim" }, `trial ${number + 1} of ${index.trials.length}`)),
    h("h1", { tabindex: "-1" }, trial.task, " ", h("small", {}, `pass ${trial.pass}`)),
    trial.intent ? h("p", { class: "lead" }, trial.intent) : null,
    h("p", { class: "badges" }, badge(`${trial.sign} ${trial.words}`, `fate ${trial.fate}`), badge(trial.status, "plain"),
      told.judge?.provisional ? badge("scores provisional", "provisional") : null,
      h("code", { class: "dim" }, trial.id)));
}

function block(title, ...content) {
  return h("section", { class: "card block" }, h("h2", {}, title), ...content);
}

function pairs(entries) {
  const shown = entries.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return h("dl", { class: "facts" }, shown.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function outcomeOf(told) {
  const taken = told.measurements ?? {};
  const tokens = (name) => taken[name]?.toLocaleString("en");
  return block("Outcome",
    told.error ? h("div", { class: "wrong" }, h("strong", {}, told.error.type), passage("error", told.error.message),
      told.error.traceback ? h("details", {}, h("summary", {}, "Traceback"), passage("traceback", told.error.traceback)) : null) : null,
    told.output ? passage("final output", told.output) : h("p", { class: "empty" }, "No final output."),
    pairs([
      ["cost of the agent", taken.cost_usd === undefined ? undefined : usd(taken.cost_usd)],
      ["cost of judging", told.judge ? usd(told.judge.cost_usd) : undefined],
      ["time", taken.runtime_sec === undefined ? undefined : `${taken.runtime_sec.toFixed(1)} s`],
      ["prompt tokens", tokens("prompt_tokens")], ["completion tokens", tokens("completion_tokens")],
      ["total tokens", tokens("total_tokens")], ["cached tokens", tokens("cache_read_tokens")],
      ["agent", told.agent], ["model", told.model], ["format of the trace", told.format], ["environment", told.environment],
    ]),
    Object.keys(told.metadata ?? {}).length ? h("details", {}, h("summary", {}, "Metadata"), passage("metadata", JSON.stringify(told.metadata, null, 2))) : null);
}

function checksOf(told) {
  const checks = told.checks ?? [];
  if (!checks.length) return block("Checks", h("p", { class: "empty" }, "No checks were run."));
  return block("Checks", h("ul", { class: "checks" }, checks.map((check) =>
    h("li", { class: check.outcome },
      h("div", {}, h("span", { class: "sign" }, OUTCOMES[check.outcome]), " ", h("strong", {}, check.name), " ",
        h("span", { class: "dim" }, `${check.kind}, ${check.outcome}, ${(check.seconds ?? 0).toFixed(2)} s`)),
      h("p", {}, check.reason),
      check.evidence?.length ? h("details", { open: check.outcome !== "pass" }, h("summary", {}, "Evidence"),
        check.evidence.map((each) => [h("div", { class: "place" }, each.place), passage(each.place, each.text)]),
        h("p", { class: "dim digest" }, check.digest)) : null))));
}

function viewsOf(told) {
  const views = Object.entries(told.views ?? {});
  if (!views.length) return null;
  return block("Views", h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "View"), h("th", { scope: "col", class: "num" }, "Value"))),
    h("tbody", {}, views.map(([name, view]) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, name)),
      h("td", { class: "num" }, typeof view.value === "number" ? view.value.toFixed(3) : ["–", view.why ? h("div", { class: "dim" }, view.why) : null],
        view.skipped ? h("div", { class: "dim" }, `${plural(view.skipped, "signal")} skipped`) : null))))));
}

function judgeOf(told) {
  const judge = told.judge;
  if (!judge) return block("Judge", h("p", { class: "empty" }, told.judge_error ? ["The judge gave no answer: ", told.judge_error] : "Steps were not judged."));
  const spelled = ({ numerator, denominator, undetermined }) =>
    `${denominator ? `${((100 * numerator) / denominator).toFixed(1)}%` : "–"} (${numerator} of ${denominator}${undetermined ? `, ${undetermined} undetermined` : ""})`;
  const causes = Object.entries(judge.causes ?? {}).map(([cause, count]) => `${count} ${cause.replaceAll("_", " ")}`).join(", ");
  return block("Judge",
    pairs([["judge", judge.name], ["rubric", judge.rubric], ["steps judged", `${judge.range} of ${judge.total_steps}`],
      ...Object.entries(judge.scores).map(([name, rate]) => [name, spelled(rate)]),
      ["undetermined answers", `${judge.undetermined} of ${judge.answers}${causes ? ` (${causes})` : ""}`],
      ["ungrounded answers", `${judge.ungrounded}`], ["requests", `${judge.requests}, ${plural(judge.cached_steps, "step")} remembered`]]),
    judge.note ? h("p", { class: "dim" }, judge.note) : null);
}

function openingOf(opening, cited) {
  const folded = (title, open, ...content) => content.flat().some(Boolean) ? h("details", { open }, h("summary", {}, title), ...content) : null;
  return h("section", { class: "card block" }, h("h2", {}, "Before the first step"),
    folded("Task", true, passage("task", opening.task, cited.get("task")), attached(opening.attachments)),
    folded("System prompt", false, passage("system", opening.system, cited.get("system"))),
    folded(`Tools (${opening.tools?.length ?? 0})`, false, (opening.tools ?? []).map((tool, at) =>
      passage(`tool.${at + 1}`, `${tool.name}\n${tool.description}${tool.parameters ? `\nparameters: ${tool.parameters}` : ""}`, cited.get(`tool.${at + 1}`)))));
}

function afterOf(told, cited) {
  const parts = [(told.after ?? []).map((message, at) => messageOf(message, `after.${at + 1}`, cited)),
    told.notes?.length ? h("details", {}, h("summary", {}, `What the trace's format could not say (${told.notes.length})`), h("ul", {}, told.notes.map((note) => h("li", {}, note)))) : null];
  return parts.flat().some(Boolean) ? h("section", { class: "card block" }, h("h2", {}, "After the last step"), parts) : null;
}

function stepLink(trial, step) {
  const number = index.trials.indexOf(trial);
  const signs = { failing: "✗", undetermined: "?", ungrounded: "≠", recovered: "↺" };
  const named = (step.calls ?? []).map((call) => call.name).join(", ") || "message";
  return h("a", { href: trialHref(number, step.n), class: `step-link ${step.tone}`, "data-step": step.n },
    h("span", { class: "num" }, String(step.n)), toneMark(step.tone), h("span", { class: "what" }, named),
    h("span", { class: "signs", "aria-label": (step.flags ?? []).join(", ") || null, role: step.flags ? "img" : null }, (step.flags ?? []).filter((flag) => flag !== "failing").map((flag) => signs[flag]).join("")));
}

function toneMark(tone) {
  const shapes = { pass: "M0 0h4v8h-4z", idle: "M0 6h4v4h-4z", bad: "M0 8h4v8h-4z", unknown: "M0 3h4v10h-4z", unjudged: "M0 7h4v2h-4z" };
  return svg("svg", { class: `key ${tone}`, viewBox: "0 0 4 16", "aria-hidden": "true" }, svg("path", { d: shapes[tone] }));
}

function stepsOf(told, cards) {
  return h("div", { class: "steps-of-trial" },
    h("nav", { class: "step-list", "aria-label": "Steps" },
      h("div", { class: "tools", role: "group", "aria-label": "Show steps that are" }, chips(cards.map(({ step }) => step))),
      h("ol", {}, cards.map(({ link }) => h("li", {}, link)))),
    h("div", { class: "timeline" }, h("h2", { class: "sr" }, "Steps"), h("p", { class: "empty none", hidden: true }, "No step fits the filter."), turns(cards)));
}

function turns(cards) {
  let turn = null;
  return cards.map(({ step, element }) => {
    const starts = step.turn !== undefined && step.turn !== turn;
    turn = step.turn ?? turn;
    return [starts && turn > 1 ? h("div", { class: "turn dim" }, `turn ${turn}`) : null, element];
  });
}

function chips(steps) {
  const count = (flag) => steps.filter((step) => step.flags?.includes(flag)).length;
  return [["", "All", steps.length], ...Object.keys(index.flags).map((flag) => [flag, flag[0].toUpperCase() + flag.slice(1), count(flag)])].map(([flag, name, number]) =>
    h("button", { type: "button", class: `chip ${flag}`, "data-flag": flag, "aria-pressed": String(state.flag === flag), title: index.flags[flag] }, `${name} `, h("span", { class: "count" }, String(number))));
}

function stepCard(step, body, quoted) {
  return h("article", { class: `card step ${step.tone}`, "data-step": step.n, tabindex: "-1", "aria-label": `Step ${step.n}` },
    h("header", {}, h("h3", {}, `Step ${step.n}`), badge(TONES[step.tone], `tone ${step.tone}`),
      (step.flags ?? []).filter((flag) => flag !== "failing" && !(flag === "undetermined" && step.tone === "unknown")).map((flag) => badge(flag, flag, index.flags[flag])),
      step.fixed_by ? badge(`corrected by step ${step.fixed_by}`, "recovered") : null,
      h("span", { class: "dim about" }, [step.agent, step.model, step.usage ? usageOf(step.usage) : null].filter(Boolean).join(", "))),
    h("div", { class: "columns" }, h("div", { class: "action" }, body), h("div", { class: "answers" }, answersOf(step, quoted))));
}

function usageOf(usage) {
  const tokens = [usage.prompt_tokens, usage.completion_tokens].filter((count) => count !== undefined);
  return [tokens.length ? `${tokens.map((count) => count.toLocaleString("en")).join(" + ")} tokens` : null, usage.cost_usd !== undefined ? usd(usage.cost_usd) : null].filter(Boolean).join(", ");
}

function actionOf(step, cited) {
  const at = `s${step.n}`;
  const parts = [
    (step.before ?? []).map((message, number) => messageOf(message, `${at}.before.${number + 1}`, cited)),
    step.reasoning ? h("details", {}, h("summary", {}, "Private reasoning"), passage(`${at}.reasoning`, step.reasoning, cited.get(`${at}.reasoning`))) : null,
    step.message ? [h("div", { class: "place" }, "says"), passage(`${at}.message`, step.message, cited.get(`${at}.message`))] : null,
    attached(step.attachments),
    (step.calls ?? []).map((call, number) => callOf(call, `${at}.c${number + 1}`, cited)),
    step.observation ? resultOf(step.observation, `${at}.result`, cited) : null,
  ];
  return parts.flat(9).some(Boolean) ? parts : h("p", { class: "empty" }, "Nothing is recorded of this step.");
}

function messageOf(message, place, cited) {
  return [h("div", { class: "place" }, [message.role, message.name].filter(Boolean).join(" ")), passage(place, message.text, cited.get(place)), attached(message.attachments)];
}

function callOf(call, place, cited) {
  const tool = call.name ?? "";
  return h("div", { class: "call" },
    h("div", { class: "call-name" }, h("span", { class: "dim", "aria-hidden": "true" }, "→ "), h("code", {}, marked(tool, found(tool, cited.get(`${place}.tool`) ?? []))),
      call.state ? badge(`arguments ${call.state}`, "plain") : null),
    argumentList(`${place}.arguments`, call, cited.get(`${place}.arguments`)),
    call.result ? resultOf(call.result, `${place}.result`, cited) : null,
    (call.subtraces ?? []).map((text) => h("p", { class: "dim" }, `started a sub-agent: ${text}`)));
}

function resultOf(result, place, cited) {
  return h("div", { class: result.wrong ? "result wrong" : "result" },
    h("div", { class: "place" }, "result", result.about ? h("span", { class: "about" }, ` ${result.about}`) : null),
    passage(place, result.text, cited.get(place)), attached(result.attachments));
}

function attached(attachments) {
  return attachments?.length ? h("p", { class: "dim" }, `attached, not shown: ${attachments.join("; ")}`) : null;
}

function answersOf(step, quoted) {
  const score = step.score;
  if (!score) return h("p", { class: "empty" }, "Not judged.");
  return [
    h("ul", { class: "answer-list" }, score.details.map((answer) => answerOf(answer, step, quoted))),
    score.inherits_from?.length ? h("p", {}, `Builds on the uncorrected error of step ${score.inherits_from.join(", ")}.`) : null,
    (score.cuts ?? []).map((cut) => h("p", { class: "dim" }, `The judge saw ${cut.shown_head.toLocaleString("en")} + ${cut.shown_tail.toLocaleString("en")} of ${cut.length.toLocaleString("en")} characters at ${cut.place}.`)),
    score.facts?.length ? h("details", {}, h("summary", {}, `Facts (${score.facts.length})`), h("ul", { class: "fact-list" }, score.facts.map((fact) =>
      h("li", {}, h("code", {}, fact.name), fact.call ? ` of call ${fact.call}` : "", fact.detail ? `: ${fact.detail}` : "", fact.settles ? badge("settles", "plain") : null)))) : null,
    h("p", { class: "dim digest" }, `settled by ${score.settled_by}, ${score.cached ? "remembered" : usd(score.cost_usd)}, ${score.verdict_id}`),
  ];
}

function answerOf(answer, step, quoted) {
  const about = [answer.cause?.replaceAll("_", " "), answer.settled_by === "facts" ? `settled by fact${answer.rule ? ` ${answer.rule}` : ""}` : answer.rule ? `rule ${answer.rule}` : null,
    answer.confidence !== undefined && answer.confidence !== null ? `confidence ${answer.confidence.toFixed(2)}` : null].filter(Boolean);
  return h("li", {},
    h("div", { class: "answer-head" }, h("strong", {}, answer.criterion), answer.call && step.calls?.length > 1 ? h("span", { class: "dim" }, `call ${answer.call}`) : null,
      badge(WORDS[answer.answer], `word ${answer.answer}`), answer.ungrounded ? badge("ungrounded", "ungrounded") : null,
      answer.fixes?.length ? h("span", { class: "dim" }, `corrects step ${answer.fixes.join(", ")}`) : null,
      about.length ? h("span", { class: "dim" }, about.join(", ")) : null),
    answer.reason ? h("p", {}, answer.reason) : null,
    (answer.evidence ?? []).map((evidence) => evidenceOf(evidence, quoted.get(evidence))));
}

function evidenceOf(evidence, citation) {
  const stands = citation?.marks.length > 0;
  return h("div", { class: "evidence" },
    stands ? h("button", { type: "button", class: "link place", title: "Show where it stands", onclick: () => show(citation) }, evidence.place) : h("span", { class: "place" }, evidence.place, " ", badge("does not stand there", "ungrounded")),
    h("q", {}, evidence.quote));
}
