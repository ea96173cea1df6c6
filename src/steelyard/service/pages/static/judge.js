// An owner decides a question.
import { send } from "./session.js";

const form = document.querySelector("form.judge");
if (form) {
  const said = form.querySelector("[role=status]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const label = event.submitter.value;
    for (const button of form.querySelectorAll("button")) button.disabled = true;
    try {
      const made = await send("POST", `/v1/${form.dataset.slug}/questions/${form.dataset.item}/adjudicate`, { label }, { "Idempotency-Key": crypto.randomUUID() });
      said.textContent = `Decided: ${label}, by event ${made.event.toLocaleString("en")}.`;
    } catch (error) {
      said.textContent = error.status ? error.message : "The service cannot be reached. Nothing is known to have changed.";
      for (const button of form.querySelectorAll("button")) button.disabled = false;
    }
    said.hidden = false;
  });
}
