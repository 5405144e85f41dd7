// Looks again while bookings are still on their way, for two minutes at most.
const key = "kontor-demo-looks";
const looks = Number(sessionStorage.getItem(key) || 0);
const pending = document.querySelector("[data-pending]") !== null;
if (!pending) {
  sessionStorage.removeItem(key);
} else if (location.pathname.endsWith("/overview") && looks < 60) {
  sessionStorage.setItem(key, String(looks + 1));
  setTimeout(() => location.reload(), 2000);
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
