// Requests that change something carry the token of the session, as every form of a page does.

/** The values of a request, with the token. */
export function withToken(values = {}) {
  const body = new URLSearchParams(values);
  const token = document.querySelector("[name=form_token]");
  if (token) body.set("form_token", token.value);
  return body;
}
