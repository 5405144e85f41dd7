// What the page does beyond links and forms: looks again while bookings arrive, takes dropped files, and shows at once what a
// correction or an assumption changes. Everything works without it, by whole pages.
const toast = document.getElementById("toast");
const texts = toast.dataset;

// Looks again while bookings are still on their way, for two minutes at most.
const key = "kontor-demo-looks";
const looks = Number(sessionStorage.getItem(key) || 0);
if (!document.querySelector("[data-pending]")) {
  sessionStorage.removeItem(key);
} else if (location.pathname.endsWith("/overview") && looks < 120) {
  sessionStorage.setItem(key, String(looks + 1));
  setTimeout(() => location.reload(), 1000);
}

// Statement files can be dropped onto their form.
for (const box of document.querySelectorAll("[data-drop]")) {
  const input = box.querySelector("input[type=file]");
  const over = (event) => { event.preventDefault(); box.classList.add("over"); };
  box.querySelector("[data-drop-hint]").hidden = false;
  box.addEventListener("dragenter", over);
  box.addEventListener("dragover", over);
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    box.classList.remove("over");
    if (event.dataTransfer.files.length) input.files = event.dataTransfer.files;
  });
}

// A message at the lower edge, which moves nothing.
const say = (title, lines = []) => {
  const card = Object.assign(document.createElement("div"), { className: "toast-card" });
  const head = document.createElement("p");
  head.append(Object.assign(document.createElement("strong"), { textContent: title }));
  card.append(head);
  if (lines.length) {
    const list = document.createElement("ul");
    for (const line of lines) list.append(Object.assign(document.createElement("li"), { textContent: line }));
    const close = Object.assign(document.createElement("button"), { type: "button", textContent: texts.close });
    close.addEventListener("click", () => toast.replaceChildren());
    card.append(list, close);
  }
  toast.replaceChildren(card);
};

const parts = () => [...document.querySelectorAll("[data-part]")];
const served = new Map(parts().map((part) => [part.id, part.innerHTML]));

// Takes the parts that differ out of a new page, but for those that another page has brought already, and marks what changed in them.
const take = (page, { marked, after = null }) => {
  const changes = [];
  for (const old of parts()) {
    const fresh = page.getElementById(old.id);
    if (!fresh || after?.getElementById(old.id) || served.get(old.id) === fresh.innerHTML) continue;
    served.set(old.id, fresh.innerHTML);
    const before = new Map([...old.querySelectorAll("[data-key]")].map((item) => [item.dataset.key, item.textContent]));
    const part = document.importNode(fresh, true);
    for (const item of marked ? part.querySelectorAll("[data-key]") : []) {
      const was = before.get(item.dataset.key);
      if (was === item.textContent) continue;
      item.classList.add("changed");
      if (item.dataset.label) changes.push(`${item.dataset.label}: ${was ? `${was} → ` : ""}${item.textContent}`);
    }
    for (const open of old.querySelectorAll("details[open][id]")) {
      const same = part.querySelector(`#${CSS.escape(open.id)}`);
      if (same) same.open = true;
    }
    old.replaceWith(part);
  }
  return changes;
};

const load = async (address, options = {}) => {
  const response = await fetch(address, { ...options, headers: { "X-Live": "1" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (!response.ok) throw new Error(String(response.status));
  return page;
};

// The effects of the latest correction or assumption: what comes late from an earlier one is dropped.
let latest = 0;

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-live]");
  if (!form || !document.querySelector("[data-part]")) return;
  event.preventDefault();
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  say(texts.busy);
  const own = ++latest;
  performance.mark("correction-sent");
  try {
    const address = form.action.includes("?") ? form.action : form.action + location.search;
    const page = await load(address, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const refused = page.querySelector("form[data-live]") && !page.querySelector("[data-part]") && page.querySelector(".notice-bad");
    if (refused) {
      say(refused.textContent.trim());
      return;
    }
    if (own !== latest) return;
    const changes = take(page, { marked: true });
    performance.measure("correction", "correction-sent");
    const target = document.getElementById(form.dataset.live);
    if (form.matches(".correction")) target?.querySelector("a[data-fetch]")?.replaceWith(form); // so that nothing moves
    target?.querySelector(":scope > summary")?.focus({ preventScroll: true });
    if (page.querySelector("[data-first]")) {
      if (changes.length) say(texts.changed, changes.slice(0, 5));
      const whole = await load(location.href).catch(() => null);
      if (own !== latest) return;
      if (!whole) { // the correction is made, so the page itself must say what is wrong now
        location.reload();
        return;
      }
      const more = take(whole, { marked: true, after: page });
      if (!more.length && changes.length) return;
      changes.push(...more);
    }
    if (form.isConnected || form.dataset.live !== "was") say(changes.length ? texts.changed : texts.same, changes.slice(0, 5));
    else toast.replaceChildren();
  } catch {
    say(texts.failed);
  } finally {
    form.ariaBusy = "false";
  }
});

document.addEventListener("click", async (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  // The form of a correction opens below its booking.
  const link = event.target.closest("a[data-fetch]");
  if (link) {
    event.preventDefault();
    try {
      const form = (await load(link.href)).querySelector("form.correction");
      const own = document.importNode(form, true);
      link.replaceWith(own);
      own.querySelector("select").focus({ preventScroll: true });
    } catch {
      location.assign(link.href);
    }
    return;
  }
  // What the tenant gets comes without a new page.
  const view = event.target.closest("a[data-view-link]");
  if (view) {
    event.preventDefault();
    try {
      const page = await load(view.href);
      if (page.querySelectorAll("[data-part]").length !== parts().length) {
        const grid = document.querySelector(".grid");
        grid.replaceWith(document.importNode(page.querySelector(".grid"), true));
        served.clear();
        for (const part of parts()) served.set(part.id, part.innerHTML);
      } else {
        take(page, { marked: false });
      }
      document.getElementById("inhalt").dataset.view = page.getElementById("inhalt").dataset.view;
      for (const item of document.querySelectorAll("a[data-view-link]")) {
        item.toggleAttribute("aria-current", false);
        if (item === view) item.setAttribute("aria-current", "page");
      }
      history.replaceState(null, "", view.href);
    } catch {
      location.assign(view.href);
    }
  }
});
