// The interactive page of the API.

const place = document.querySelector("#api");
const token = document.querySelector("[name=form_token]"); // of the person who has signed in

globalThis.SwaggerUIBundle({
  url: place.dataset.description,
  domNode: place,
  deepLinking: true,
  validatorUrl: null, // it would be asked at another site
  requestInterceptor: (request) => {
    if (token) request.headers["x-form-token"] = token.value;
    return request;
  },
});
