// The page. One connection carries all live queries and calls.

import { ConvexProvider, ConvexReactClient } from "convex/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { Shelf } from "./Shelf";

const server = (import.meta.env.VITE_CONVOKE_URL as string | undefined) ?? "http://127.0.0.1:3210";
// The check accepts only addresses of a hosted service, and a self-hosted server can have any address.
const client = new ConvexReactClient(server, { skipConvexDeploymentUrlCheck: true });

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <ConvexProvider client={client}>
        <Shelf />
      </ConvexProvider>
    </StrictMode>,
  );
}
