// The stream of changes. It is closed while the tab is hidden: a browser keeps at most six connections to a server
// over HTTP/1.1, and tabs in the background would use them up.

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30000;
const SILENCE_MS = 37500; // two and a half intervals of the heartbeats, HEARTBEAT_S in events.py

/**
 * Call `onChange` with every change after event `after`.
 *
 * onState is called with `live` or `lost`. The browser resumes a broken stream by itself; it gives up when the server
 * answers with an error, and then we try again, each time later. A server that hangs keeps its connections, also new
 * ones, and says nothing: then we end the stream after `SILENCE_MS`.
 */
export function listen(path, after, { onChange, onState }) {
  let source = null;
  let last = after;
  let wait = FIRST_WAIT_MS;
  let retry = null;
  let silence = null;

  function open() {
    clearTimeout(retry);
    if (source || document.hidden) return;
    source = new EventSource(`${path}?after=${last}`);
    watch();
    source.addEventListener("heartbeat", watch);
    source.addEventListener("open", () => {
      wait = FIRST_WAIT_MS;
      watch();
      onState("live");
    });
    source.addEventListener("error", () => {
      onState("lost");
      if (source?.readyState === EventSource.CLOSED) reopenLater();
    });
    source.addEventListener("message", (event) => {
      watch();
      last = event.lastEventId || last;
      onChange(JSON.parse(event.data));
    });
  }

  /** Something came: wait for the next sign of the server. */
  function watch() {
    clearTimeout(silence);
    silence = setTimeout(() => {
      onState("lost");
      reopenLater();
    }, SILENCE_MS);
  }

  function reopenLater() {
    close();
    retry = setTimeout(open, wait * (0.7 + Math.random() * 0.6));
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }

  function close() {
    clearTimeout(retry);
    clearTimeout(silence);
    source?.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
}
