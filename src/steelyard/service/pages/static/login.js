// The code of a one-time link stands in the fragment, which is sent to no server; a POST spends it.
const code = location.hash.slice(1);
const said = document.getElementById("link-said");
const ask = document.getElementById("link-ask");

async function enter() {
  ask.hidden = true;
  said.hidden = false;
  said.textContent = "Logging in…";
  const answer = await fetch("/login/link", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  }).catch(() => null);
  if (answer && answer.ok) {
    location.replace(document.querySelector('input[name="next"]').value || "/");
    return;
  }
  said.classList.add("wrong");
  const problem = answer ? await answer.json().catch(() => null) : null;
  said.textContent = problem ? problem.message : "The service cannot be reached. Open the link again.";
}

if (code) {
  history.replaceState(null, "", location.pathname + location.search);
  // Somebody who is logged in is asked first: else a stranger's link could change who they are.
  if (document.querySelector('meta[name="csrf"]')) {
    ask.hidden = false;
    document.getElementById("use-link").addEventListener("click", enter);
  } else enter();
}
