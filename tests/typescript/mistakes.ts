// What the document does not promise must not compile: the compiler complains of a line that was expected to be wrong.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

declare const card: components["schemas"]["Scorecard"];
declare const event: components["schemas"]["Event"];
const judge = createClient<paths, "application/json" | "application/problem+json">();
const trace = {};

// @ts-expect-error no such score
card.scores.step_levels;
// @ts-expect-error no such answer
card.steps[0]?.answers["valid"] === "maybe";
// @ts-expect-error only the last line carries it
event.scorecard;
// @ts-expect-error no such path
void judge.POST("/v1/scores", { body: { trace } });
// @ts-expect-error no such grouping
void judge.POST("/v1/score", { body: { trace, group: "some" } });
// @ts-expect-error the trace is required
void judge.POST("/v1/score", { body: {} });
// @ts-expect-error the path's parameter has another name
void judge.GET("/v1/rubrics/{reference}", { params: { path: { name: "step" } } });
void judge.POST("/v1/score", { body: { trace } }).then(({ error }) => {
  // @ts-expect-error a problem has no message
  error?.message;
});
