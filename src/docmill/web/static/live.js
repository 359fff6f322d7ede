// The stream of changes. It is closed while the tab is hidden: a browser keeps at most six connections to a server
// over HTTP/1.1, and tabs in the background would use them up.

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30000;

/**
 * Call `onChange` with every change after event `after`.
 *
 * onState is called with `live` or `lost`. The browser resumes a broken stream by itself; it gives up when the server
 * answers with an error, and then we try again, each time later.
 */
export function listen(path, after, { onChange, onState }) {
  let source = null;
  let last = after;
  let wait = FIRST_WAIT_MS;
  let retry = null;

  function open() {
    clearTimeout(retry);
    if (source || document.hidden) return;
    source = new EventSource(`${path}?after=${last}`);
    source.addEventListener("open", () => {
      wait = FIRST_WAIT_MS;
      onState("live");
    });
    source.addEventListener("error", () => {
      onState("lost");
      if (source?.readyState === EventSource.CLOSED) reopenLater();
    });
    source.addEventListener("message", (event) => {
      last = event.lastEventId || last;
      onChange(JSON.parse(event.data));
    });
  }

  function reopenLater() {
    close();
    retry = setTimeout(open, wait * (0.7 + Math.random() * 0.6));
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }

  function close() {
    clearTimeout(retry);
    source?.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
}
