// Erases rows for good: that of the page, or those whose numbers or id were typed.
import { send } from "./session.js";

for (const form of document.querySelectorAll("form.erase")) {
  const said = form.querySelector("[role=status]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const typed = form.dataset.item || form.elements.items.value;
    const items = typed.split(/[ ,]+/).filter(Boolean).map(Number);
    const ids = form.elements.id && form.elements.id.value ? [form.elements.id.value] : [];
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      const made = await send("POST", `/v1/${form.dataset.slug}/erase`, { items, ids }, { "Idempotency-Key": crypto.randomUUID() });
      said.textContent = `Erased: ${made.items.map((item) => item.toLocaleString("en")).join(", ")}, by event ${made.event.toLocaleString("en")}.`;
      form.reset();
    } catch (error) {
      said.textContent = error.status ? error.message : "The service cannot be reached. Ask again whether it was erased.";
    }
    said.hidden = false;
    button.disabled = Boolean(form.dataset.item) && said.textContent.startsWith("Erased");
  });
}
