// A picture that cannot be drawn gives its place to the kind of file, or to a sentence.

function giveWay(image) {
  image.closest(".thumbnail, .sheet")?.classList.add("broken");
}

export function start() {
  for (const image of document.images) {
    if (image.complete && image.currentSrc && !image.naturalWidth) giveWay(image); // failed before we listened
  }
  document.addEventListener(
    "error",
    ({ target }) => target instanceof HTMLImageElement && giveWay(target),
    { capture: true },
  );
}
