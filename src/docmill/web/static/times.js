// Times in the time zone of the browser. Pages are sent with those of UTC, which say so.

const { lang } = document.documentElement;
const format = new Intl.DateTimeFormat(
  lang === "en" ? "sv" : lang, // Swedish is year, month, day, as on our English pages
  { dateStyle: lang === "en" ? "short" : "medium", timeStyle: "short" },
);

function showLocal() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    if (!time.textContent.endsWith(" UTC")) continue; // it is local already
    time.title = time.textContent;
    time.textContent = format.format(new Date(time.dateTime));
  }
}

export function start() {
  showLocal();
  document.addEventListener("page-updated", showLocal);
}
