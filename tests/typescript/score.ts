// Scores a trace with the client that is generated from the service's OpenAPI document, and prints what it found.
import { readFile } from "node:fs/promises";
import { argv, env, stdout } from "node:process";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

type Scorecard = components["schemas"]["Scorecard"];
type Event = components["schemas"]["Event"];
type Rate = components["schemas"]["Rate"];

const [url = "", file = ""] = argv.slice(2);
const key = env["STEPJUDGE_CLIENT_KEY"];
// scoring answers in two media types; what is not asked for by `accept` is JSON
type Answered = "application/json" | "application/problem+json";
const headers: HeadersInit = key ? { authorization: `Bearer ${key}` } : {};
const judge = createClient<paths, Answered>({ baseUrl: url, headers });

function share(rate: Rate): string {
  return `${rate.numerator}/${rate.denominator}, ${rate.undetermined} undetermined`;
}

async function streamed(trace: unknown): Promise<string[]> {
  const headers = { accept: "application/x-ndjson" };
  const { response } = await judge.POST("/v1/score", { body: { trace }, headers, parseAs: "stream" });
  const lines = (await response.text()).trimEnd().split("\n");
  return lines.map((line) => told(JSON.parse(line) as Event));
}

function told(event: Event): string {
  switch (event.type) { // the compiler knows which fields each kind has, and that no kind is missing
    case "step":
      return `${event.type} ${event.step.index}: ${event.step.score} (${event.done} of ${event.total})`;
    case "scorecard":
      return `${event.type} of ${event.scorecard.total_steps} steps`;
    case "problem":
      return `${event.type} ${event.problem.status}`;
  }
}

function summary(card: Scorecard): object {
  return {
    judge: card.judge,
    provisional: card.provisional,
    step_level: share(card.scores.step_level),
    tool_call_precision: share(card.scores.tool_call_precision),
    reasons: card.steps.map((step) => step.details.map((each) => `${each.criterion}: ${each.answer}: ${each.reason}`)),
  };
}

const trace: unknown = JSON.parse(await readFile(file, "utf8"));
const rubric = await judge.GET("/v1/rubrics/{reference}", { params: { path: { reference: "step" } } });
if (rubric.error) throw new Error(rubric.error.detail);
const estimate = await judge.POST("/v1/estimate", { body: { trace } });
if (estimate.error) throw new Error(estimate.error.detail);
const scored = await judge.POST("/v1/score", { body: { trace, rubric: `step@${rubric.data.version}`, group: "none" } });
if (scored.error) throw new Error(scored.error.detail);
// a rubric of one's own travels whole: what is answered may be sent
const tuned = { ...rubric.data, version: "99.0.0" };
const own = await judge.POST("/v1/score", { body: { trace, rubric: tuned } });
const refused = await judge.POST("/v1/score", { body: { trace, rubric: "nope" } });
const first = scored.data.steps[0];
const audit = await judge.GET("/v1/verdicts/{verdict_id}", { params: { path: { verdict_id: first?.verdict_id ?? "" } } });

stdout.write(
  JSON.stringify({
    ...summary(scored.data),
    steps_estimated: estimate.data.steps,
    own_rubric: own.data?.rubric.version,
    problem: refused.error && { status: refused.error.status, title: refused.error.title },
    audited: audit.data?.state_matches,
    streamed: await streamed(trace),
  }),
);
