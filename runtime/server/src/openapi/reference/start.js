// Starts the reference. Nothing it needs comes from elsewhere, and what is pasted into it stays in this page.
"use strict";

// A token may be pasted as it is or with its word before it; a deploy key too.
function credentials(field) {
  const value = field.trim().replace(/^Bearer\s+(?=Bearer\s)/i, "");
  const isDeployKey = /^(Bearer\s+)?[a-z]+:[^|\s]+\|\S+$/.test(value);
  return isDeployKey ? "Convoke " + value.replace(/^Bearer\s+/i, "") : value;
}

window.reference = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "list",
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  requestSnippetsEnabled: true,
  showExtensions: true,
  showCommonExtensions: true,
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
  requestInterceptor(request) {
    const field = request.headers && request.headers.Authorization;
    if (field) request.headers.Authorization = credentials(field);
    return request;
  },
  onComplete() {
    document.title = window.reference.specSelectors.info().get("title") || document.title;
  },
});
