// Copies the lines to type, and shows the numbers as soon as the first row is here.
const place = document.getElementById("first-run");
const said = document.getElementById("copied");

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "This browser does not let a page copy; mark the text instead.";
    }
  });
}

let feed = null;
function open() {
  if (feed || document.hidden) return;
  feed = new EventSource(`/v1/${place.dataset.slug}/live?after=1`);
  feed.addEventListener("live", (event) => { if (JSON.parse(event.data).rows > 0) location.reload(); });
}
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return open();
  if (feed) feed.close();
  feed = null;
});
open();
