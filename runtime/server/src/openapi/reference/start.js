// Starts the reference. Everything it needs comes from this server, and pasted credentials stay in this page.
"use strict";

// A token or a deploy key may be pasted with or without its keyword.
function credentials(field) {
  const value = field.trim().replace(/^Bearer\s+(?=Bearer\s)/i, "");
  const isDeployKey = /^(Bearer\s+)?[a-z]+:[^|\s]+\|\S+$/.test(value);
  return isDeployKey ? "Convoke " + value.replace(/^Bearer\s+/i, "") : value;
}

// Swagger UI has a dark theme and applies it by a class alone: follow the system's theme.
const dark = matchMedia("(prefers-color-scheme: dark)");
const applyTheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", applyTheme);
applyTheme();

// Gives a field the name that a screen reader reads. Swagger UI leaves these fields without one.
const named = (name) => (Original, { React }) => (props) =>
  React.createElement("label", { className: "named" }, React.createElement("span", null, name), React.createElement(Original, props));

const accessible = () => ({
  components: {
    // A link inside the button that opens an operation is not reachable by keyboard; the button updates the address too.
    DeepLink: ({ text }) => text,
  },
  wrapComponents: {
    ExamplesSelect: named("Example"),
    TextArea: named("Request body"),
    // A button that shows a word is called by this word (WCAG 2.5.3).
    Button: (Original, { React }) => (props) =>
      React.createElement(Original, typeof props.children === "string" ? { ...props, "aria-label": undefined } : props),
    CloseIcon: (Original, { React }) => () => React.createElement("span", { role: "img", "aria-label": "Close" }, React.createElement(Original)),
    // The only server is the one that serves this page.
    ServersContainer: (Original, { React }) => (props) =>
      props.specSelectors.servers().size > 1 ? React.createElement(Original, props) : null,
  },
});

window.reference = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  plugins: [accessible],
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
