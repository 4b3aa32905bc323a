// Keeps the page fresh and sends answers without leaving it. Everything works without this file, but then one has to look again.

const main = document.querySelector("main");
const status = document.getElementById("status");
const PAUSES = [1, 2, 4, 8, 15, 30];
let looking = new AbortController();

const articles = (root) => [...root.querySelectorAll("article")];
const isOpen = (article) => !article.classList.contains("closed");
const isTypedIn = (article) => [...article.querySelectorAll("[name=text]")].some((input) => input.value);
const parsed = (text) => new DOMParser().parseFromString(text, "text/html");
const seconds = (count) => new Promise((done) => setTimeout(done, count * 1000));

function say(sentence) {
  if (status.textContent !== sentence) status.textContent = sentence;
}

function own(root, id) {
  return articles(root).find((one) => one.dataset.question === id);
}

// A question that is closed stays where it is: nothing may move under somebody's finger. It goes once nobody looks.
function close(article, sentence) {
  article.style.minHeight = `${article.getBoundingClientRect().height}px`;
  article.classList.add("closed");
  for (const button of article.querySelectorAll("button")) button.disabled = true;
  for (const input of article.querySelectorAll("input")) {
    input.readOnly = true;
    if (input.type === "password") input.value = "";
  }
  const became = document.createElement("p");
  became.className = "became";
  became.setAttribute("role", "status");
  became.tabIndex = -1;
  became.textContent = sentence;
  article.querySelector(".error").textContent = "";
  article.querySelector(".choices").before(became);
}

function reopen(article) {
  article.classList.remove("closed");
  article.querySelector(".became")?.remove();
  for (const control of article.querySelectorAll("button, input")) control.disabled = control.readOnly = false;
}

// What the copy of a page says of each question.
function notesOf(copy) {
  const notes = new Map();
  for (const note of copy.querySelectorAll("#notes li[data-question]")) {
    notes.set(note.dataset.question, `It ${note.querySelector("span").textContent}`);
  }
  return notes;
}

function refresh(article, fresh) {
  if (!isOpen(article)) reopen(article);
  article.querySelector(".aside").replaceWith(fresh.querySelector(".aside"));
}

// Takes over what another copy of this page says, and leaves alone what is being typed.
function take(copy) {
  const notes = notesOf(copy);
  for (const article of articles(main)) {
    const id = article.dataset.question;
    if (own(copy, id)) continue;
    if (isOpen(article)) close(article, notes.get(id) ?? "It is asked no longer.");
    if (document.hidden && !isTypedIn(article)) article.remove();
  }
  for (const fresh of articles(copy)) {
    const article = own(main, fresh.dataset.question);
    if (article) refresh(article, fresh);
    else main.append(document.adoptNode(fresh));
  }
  document.title = copy.title;
  say(copy.getElementById("status").textContent);
}

async function answer(form, button) {
  const article = form.closest("article");
  const error = form.querySelector(".error");
  const fields = new URLSearchParams(new FormData(form));
  fields.set("say", button.value);
  button.disabled = true;
  try {
    const sent = await fetch(form.action, { method: "POST", body: fields });
    const copy = parsed(await sent.text());
    if (!copy.querySelector("main")) throw new Error(copy.querySelector("p")?.textContent);
    const id = article.dataset.question;
    const said = own(copy, id)?.querySelector(".error").textContent ?? "";
    const became = notesOf(copy).get(id);
    looking.abort();
    take(copy);
    button.disabled = !isOpen(article);
    if (isOpen(article)) {
      error.textContent = said;
      return;
    }
    const line = article.querySelector(".became");
    line.textContent = became ?? line.textContent;
    line.focus({ preventScroll: true });
  } catch (wrong) {
    error.textContent = wrong instanceof TypeError ? "bide does not answer; what you typed is still here." : wrong.message;
    button.disabled = false;
  }
}

async function stayFresh() {
  let failures = 0;
  while (failures <= PAUSES.length) {
    try {
      const known = articles(main).filter(isOpen).map((one) => one.dataset.question);
      looking = new AbortController();
      const got = await fetch(`./?wait=1&known=${encodeURIComponent(known)}`, { signal: looking.signal });
      const copy = parsed(await got.text());
      if (!copy.querySelector("main")) return say(copy.querySelector("p").textContent);
      take(copy);
      failures = 0;
    } catch (wrong) {
      if (wrong.name === "AbortError") continue;
      failures += 1;
      say("bide does not answer at this address.");
      await seconds(PAUSES[failures - 1] ?? 0);
    }
  }
  say("bide does not answer at this address any more. Run 'bide web' again.");
}

main.addEventListener("submit", (event) => {
  event.preventDefault();
  answer(event.target, event.submitter);
});
history.replaceState(null, "", "./");
stayFresh();
