// People: one's own password; for an owner of the service everybody's roles and links.
import { send, wordsOf } from "./session.js";

const $ = (id) => document.getElementById(id);

function listen(element, kind, act, said) {
  if (!element) return;
  element.addEventListener(kind, async (event) => {
    event.preventDefault();
    said.classList.remove("bad");
    try {
      await act(event);
    } catch (error) {
      said.classList.add("bad");
      said.textContent = wordsOf(error);
      said.scrollIntoView({ block: "nearest" }); // the card that was pressed may lie far below
    }
  });
}

const password = $("password");
listen(password, "submit", async () => {
  const given = new FormData(password);
  await send("POST", "/password", { new: given.get("new"), old: given.get("old") || "" });
  location.assign("/people?note=password");
}, password.querySelector(".said"));

function show(link) {
  $("link").textContent = location.origin + link;
  $("new-link").hidden = false;
  $("copy").focus();
}

const said = $("people-said");
listen($("add"), "submit", async () => {
  const made = await send("POST", "/v1/people", { name: new FormData($("add")).get("name") });
  sessionStorage.setItem("link", made.link);
  location.reload();
}, said);
listen($("copy"), "click", async () => {
  const copied = async () => navigator.clipboard.writeText($("link").textContent);
  said.textContent = await copied().then(() => "Copied.", () => "This browser does not let a page copy; mark the link instead.");
}, said);

for (const card of document.querySelectorAll("[data-person]")) {
  const path = `/v1/people/${card.dataset.person}`;
  const change = async (what, body) => {
    await send("POST", `${path}/${what}`, body);
    location.reload();
  };
  listen(card.querySelector(".link"), "click", async () => show((await send("POST", `${path}/link`)).link), said);
  listen(card.querySelector(".active"), "click", (event) => change("active", { active: event.target.dataset.active === "1" }), said);
  listen(card.querySelector(".give"), "submit", (event) => {
    const given = new FormData(event.target);
    return change("role", { project: given.get("project"), role: given.get("role"), given: true });
  }, said);
  for (const button of card.querySelectorAll(".take")) {
    listen(button, "click", () => change("role", { ...button.dataset, given: false }), said);
  }
}

const kept = sessionStorage.getItem("link");
if (kept && said) {
  sessionStorage.removeItem("link");
  show(kept);
}
