// What every page of somebody who is logged in can do: write, with the value that proves it is a page of ours.
const given = document.querySelector('meta[name="csrf"]');
export const csrf = given ? given.content : "";

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.message || `the service answered ${status}`);
    this.status = status;
    this.code = problem.error || "";
    this.where = problem.where || "";
  }
}

// One request; the parsed answer (null if there is none), or Refused. A failing network is a TypeError, as of fetch; so
// many milliseconds (``most``) without an answer are a failure too.
export async function send(method, path, body, headers = {}, most = 0) {
  const options = { method, headers: { ...headers }, credentials: "same-origin", cache: "no-store", redirect: "error" };
  if (most && AbortSignal.timeout) options.signal = AbortSignal.timeout(most);
  if (method !== "GET") options.headers["X-CSRF-Token"] = csrf;
  if (body !== undefined) {
    options.headers["Content-Type"] ||= "application/json";
    options.body = typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
  }
  const answer = await fetch(path, options);
  const kind = answer.headers.get("content-type") || "";
  const said = kind.startsWith("application/json") ? await answer.json() : null;
  if (!answer.ok) throw new Refused(answer.status, said || {});
  return said;
}

// What was wrong, for a person: what the service says, or that it says nothing.
export const wordsOf = (error) => (error instanceof Refused ? error.message : "the service cannot be reached. Try again.");

// An element with attributes and children; texts are text nodes, so nothing that was sent is ever read as a page.
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function notLoggedOut(error) {
  const other = error.code === "no_csrf";
  const words = other ? "Somebody has logged in here since this page was loaded. Load it again to log them out." : `You are still logged in: ${wordsOf(error)}`;
  const main = document.getElementById("main");
  for (const one of main.querySelectorAll(".still-in")) one.remove();
  main.prepend(make("p", { class: "note wrong still-in", role: "alert" }, words));
}

const out = document.getElementById("log-out");
if (out) {
  out.addEventListener("click", async () => {
    try {
      await send("POST", "/logout");
    } catch (error) {
      if (error.status !== 401) return notLoggedOut(error); // else it was over already
    }
    location.assign("/login?note=logged-out");
  });
}
