// What every page needs from htmx: never old figures in silence, never a sign-in page inside a page.
"use strict";
(() => {
  const notice = document.getElementById("link-notice");
  let silentSince = null;

  const silent = () => {
    silentSince ??= new Date();
    notice.querySelector("time").textContent = silentSince.toLocaleTimeString();
    notice.hidden = false;
  };
  const heard = () => {
    silentSince = null;
    notice.hidden = true;
  };

  document.addEventListener("htmx:sendError", silent);
  document.addEventListener("htmx:timeout", silent);
  document.addEventListener("htmx:afterRequest", (event) => {
    const status = event.detail.xhr?.status ?? 0;
    if (status >= 500) silent();
    else if (status > 0) heard();
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    // the session ended: the answer is the sign-in page, which wants the whole window
    if (new URL(event.detail.xhr.responseURL || location.href).pathname.startsWith("/sign-in/")) {
      event.detail.shouldSwap = false;
      location.reload();
    }
  });
})();
