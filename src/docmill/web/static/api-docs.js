// The interactive page of the API.

const place = document.querySelector("#api");

globalThis.SwaggerUIBundle({
  url: place.dataset.description,
  domNode: place,
  deepLinking: true,
  validatorUrl: null, // it would be asked at another site
});
