// What a script makes nicer; everything works without it. No double orders by double clicks, pages that go on by themselves,
// passwords that can be looked at, banks that are found while typing, a warning before the session ends, and messages to the page
// that has opened the form in a window of its own.
(() => {
  "use strict";
  const PATIENCE = 20000;
  const PAUSE = 2000;
  const CLOSE = 100;
  const FORM = "/customer/v2/webform/form";
  const STATE = "/customer/v2/webform/state";
  const TYPING = 200;
  const WARNING = 60000;
  const main = document.querySelector("main");
  const busy = document.getElementById("busy");

  const hide = (button) => {
    const input = document.getElementById(button.dataset.reveals);
    input.type = "password";
    button.firstElementChild.textContent = button.dataset.show;
  };

  const free = () => {
    for (const form of document.forms) {
      delete form.dataset.sent;
      for (const button of form.querySelectorAll("button")) {
        button.disabled = false;
        button.classList.remove("sending");
      }
    }
    busy.textContent = "";
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form === ending) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    form.querySelectorAll("[data-reveals]").forEach(hide);
    // Not at once: a disabled button would not be sent.
    setTimeout(() => {
      form.querySelectorAll("button").forEach((button) => { button.disabled = true; });
      event.submitter?.classList.add("sending");
      busy.textContent = busy.dataset.text;
    });
    setTimeout(free, PATIENCE);
  });
  addEventListener("pageshow", (event) => { if (event.persisted) free(); });

  for (const button of document.querySelectorAll("[data-reveals]")) {
    const input = document.getElementById(button.dataset.reveals);
    input.classList.add("revealed");
    button.hidden = false;
    button.addEventListener("click", () => {
      if (input.type === "text") {
        hide(button);
      } else {
        input.type = "text";
        button.firstElementChild.textContent = button.dataset.hide;
      }
    });
  }

  for (const box of document.querySelectorAll("[data-drop]")) {
    const input = box.querySelector("input[type=file]");
    const over = (event) => { event.preventDefault(); box.classList.add("over"); };
    const away = () => box.classList.remove("over");
    box.querySelector("[data-drop-hint]").hidden = false;
    box.addEventListener("dragenter", over);
    box.addEventListener("dragover", over);
    box.addEventListener("dragleave", away);
    box.addEventListener("drop", (event) => {
      event.preventDefault();
      away();
      if (event.dataTransfer.files.length) input.files = event.dataTransfer.files;
    });
  }

  // Banks are found while typing. The newest question wins; without an answer the button still searches.
  const search = document.querySelector("input[name=q]");
  const results = document.getElementById("results");
  let typing, asked;
  const find = async () => {
    asked?.abort();
    asked = new AbortController();
    const address = search.value.trim() ? `${FORM}?q=${encodeURIComponent(search.value.trim())}` : FORM;
    try {
      const answer = await fetch(address, { signal: asked.signal, headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.getElementById("results");
      if (!answer.ok || !found) return;
      results.querySelector("h2").textContent = found.querySelector("h2").textContent;
      while (results.children.length > 1) results.lastElementChild.remove();
      results.append(...[...found.children].slice(1));
      document.querySelector(".switch").href = page.querySelector(".switch").getAttribute("href");
      history.replaceState(null, "", address);
    } catch {
      // A newer question was asked, or the network is away.
    }
  };
  search?.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(find, TYPING);
  });

  // Before the session ends the page says so. Whoever types is there: the session stays awake.
  const ending = document.getElementById("ending");
  let warning, over;
  const count = (seconds) => {
    clearTimeout(warning);
    clearTimeout(over);
    ending.hidden = true;
    warning = setTimeout(() => { ending.hidden = false; }, Math.max(seconds * 1000 - WARNING, 0));
    over = setTimeout(() => location.replace(FORM), (seconds + 5) * 1000);
  };
  if (ending) {
    let seen = Date.now();
    count(Number(main.dataset.ends));
    ending.addEventListener("submit", async (event) => {
      event.preventDefault();
      const answer = await fetch(ending.action, { method: "POST", body: new URLSearchParams(new FormData(ending)) }).catch(() => null);
      const seconds = answer?.ok ? (await answer.json()).seconds : 0;
      if (seconds) count(seconds);
      else if (answer) location.replace(FORM);
    });
    addEventListener("input", async () => {
      if (Date.now() - seen < WARNING) return;
      seen = Date.now();
      const answer = await fetch(STATE, { cache: "no-store" }).catch(() => null);
      const state = answer?.ok ? await answer.json() : null;
      if (state?.seconds) count(state.seconds);
    });
  }

  // In a window of its own, the page that has opened it hears where the customer is, and how it ended.
  const tell = (message) => {
    if (!main.dataset.opener || !window.opener) return false;
    window.opener.postMessage({ source: "kontor", ...message }, main.dataset.opener);
    return true;
  };
  const back = document.querySelector("[data-back]");
  const leave = () => {
    const result = { type: "done", reentry: main.dataset.reentry ?? "ERROR", paymentId: main.dataset.payment ?? null };
    if (!tell(result)) return location.replace(back.href);
    setTimeout(() => window.close(), CLOSE); // a message whose window is gone has no source, and is not believed
    setTimeout(() => location.replace(back.href), PAUSE);
  };
  if (main.dataset.opener) {
    back?.addEventListener("click", (event) => { event.preventDefault(); leave(); });
    if (main.dataset.place === "return") leave();
    else tell({ type: "step", place: main.dataset.place });
  }

  const look = async () => {
    try {
      const answer = await fetch(STATE, { cache: "no-store", headers: { Accept: "application/json" } });
      const gone = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
      const now = answer.ok ? await answer.json() : null;
      if (gone || (now && (String(now.turn) !== main.dataset.turn || now.place !== main.dataset.place))) {
        location.replace(FORM);
        return;
      }
    } catch {
      // The network comes back, or the customer presses the link.
    }
    setTimeout(look, PAUSE);
  };
  if ("polls" in main.dataset) setTimeout(look, PAUSE);
})();
