// Opens the form of Kontor in a window of its own and tells how it ended:
//   const form = Kontor.open(address, { onEvent: (event) => … });
//   const result = await form.result;   // { type: "done", reentry, paymentId } or { type: "closed" }
// `address` is the Location that your server has received with 451. The origin of this page must be on your allow-list of callback
// addresses. Where no window may open, the browser goes to the form instead, and comes back to `callbackUrl`.
(() => {
  "use strict";
  const HOUSE = new URL(document.currentScript.src).origin;
  const LOOK = 500;

  const open = (address, { callbackUrl = location.origin + location.pathname, onEvent = () => {} } = {}) => {
    const url = new URL(address);
    if (url.origin !== HOUSE) throw new TypeError("Kontor.open: not an address of the form");
    url.searchParams.set("callbackUrl", callbackUrl);
    const alone = url.href;
    url.searchParams.set("opener", location.origin);
    const left = Math.max(0, screenX + (outerWidth - 480) / 2);
    const top = Math.max(0, screenY + (outerHeight - 780) / 2);
    const popup = window.open(url.href, "_blank", `popup,width=480,height=780,left=${left},top=${top}`);
    if (!popup) {
      location.assign(alone);
      return { result: new Promise(() => {}), close: () => {} };
    }
    let end;
    const result = new Promise((resolve) => { end = resolve; });
    const finish = (event) => {
      clearInterval(timer);
      removeEventListener("message", hear);
      onEvent(event);
      end(event);
    };
    const hear = ({ origin, source, data }) => {
      if (origin !== HOUSE || source !== popup || data?.source !== "kontor") return;
      const { source: _, ...event } = data;
      if (event.type === "done") finish(event);
      else onEvent(event);
    };
    let closedLooks = 0; // what a window says last may arrive after it has closed, so only the second look counts
    const timer = setInterval(() => { if (popup.closed && closedLooks++) finish({ type: "closed" }); }, LOOK);
    addEventListener("message", hear);
    return { result, close: () => popup.close() };
  };

  window.Kontor = Object.freeze({ open });
})();
