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
