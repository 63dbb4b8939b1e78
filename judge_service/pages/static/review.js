// One answer per question: a form that was sent takes no second key until the next page is there.
"use strict";

let sent = false;
addEventListener("pageshow", () => { sent = false; });
for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
}
document.querySelector(".comment")?.addEventListener("toggle", ({ target }) => {
  if (target.open) document.getElementById("note").focus();
});
