// The theme changes at once; the server remembers it in a cookie, so that the next page comes in it.

export function start() {
  const form = document.querySelector("#theme");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    const [order, names] = [form.dataset.themes.split(" "), form.dataset.names.split(" ")];
    const chosen = button.value;
    document.documentElement.dataset.theme = chosen;
    form.querySelector(".theme-word").textContent = names[order.indexOf(chosen)];
    button.value = order[(order.indexOf(chosen) + 1) % order.length];
    await fetch(form.action, { method: "POST", body: new URLSearchParams({ theme: chosen }), redirect: "manual" });
  });
}
