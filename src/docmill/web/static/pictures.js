// A picture that cannot be drawn gives its place to the kind of file.

export function start() {
  document.addEventListener(
    "error",
    (event) => event.target.closest?.(".thumbnail")?.classList.add("broken"),
    { capture: true },
  );
}
