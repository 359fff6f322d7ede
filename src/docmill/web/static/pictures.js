// A picture that cannot be drawn gives its place to the kind of file, or to a sentence.

function giveWay(image) {
  image.closest(".thumbnail, .sheet")?.classList.add("broken");
}

/** Pictures that failed before anybody listened, or that an update of the page shows as if they had not. */
function findBroken() {
  for (const image of document.images) {
    if (image.complete && image.currentSrc && !image.naturalWidth) giveWay(image);
  }
}

export function start() {
  findBroken();
  document.addEventListener("page-updated", findBroken);
  document.addEventListener(
    "error",
    ({ target }) => target instanceof HTMLImageElement && giveWay(target),
    { capture: true },
  );
}
