// What a script makes nicer; everything works without it. No double orders by double clicks, pages that go on by themselves,
// and passwords that can be looked at.
(() => {
  "use strict";
  const PATIENCE = 20000;
  const PAUSE = 2000;
  const FORM = "/customer/v2/webform/form";
  const STATE = "/customer/v2/webform/state";
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

  const main = document.querySelector("main[data-polls]");
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
  if (main) setTimeout(look, PAUSE);
})();
