// Erases rows for good: that of the page, or those whose numbers or id were typed.
import { send } from "./session.js";

const GROUPED = /^[0-9]{1,3}(,[0-9]{3})+$/; // as the pages write one number, and as two may be listed

// The numbers that were typed; where a comma may belong to a number, which it is must be said: rows do not come back.
function numbers(typed) {
  const parts = typed.split(/ +/).map((part) => part.replace(/^,+|,+$/g, "")).filter(Boolean);
  const unclear = parts.find((part) => GROUPED.test(part));
  if (unclear) throw new Error(`${unclear} may be one number or several. Write ${unclear.replaceAll(",", "")}, or ${unclear.replaceAll(",", ", ")}.`);
  return parts.flatMap((part) => part.split(/,+/)).map(Number);
}

for (const form of document.querySelectorAll("form.erase")) {
  const said = form.querySelector("[role=status]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const ids = form.elements.id && form.elements.id.value ? [form.elements.id.value] : [];
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      const items = form.dataset.item ? [Number(form.dataset.item)] : numbers(form.elements.items.value);
      const made = await send("POST", `/v1/${form.dataset.slug}/erase`, { items, ids }, { "Idempotency-Key": crypto.randomUUID() });
      said.textContent = `Erased: ${made.items.map((item) => item.toLocaleString("en")).join(", ")}, by event ${made.event.toLocaleString("en")}.`;
      form.reset();
    } catch (error) {
      said.textContent = error.status || !(error instanceof TypeError) ? error.message : "The service cannot be reached. Ask again whether it was erased.";
    }
    said.hidden = false;
    button.disabled = Boolean(form.dataset.item) && said.textContent.startsWith("Erased");
  });
}
