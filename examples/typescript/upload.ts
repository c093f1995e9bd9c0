// Uploads a file to the functions of docs/how-to/files.md: `client` is a client of npm's `convex`.

interface Client {
  mutation(path: string, args: Record<string, unknown>): Promise<any>;
}

export async function upload(client: Client, file: Blob): Promise<void> {
  const { url } = await client.mutation("album:beginUpload", {});
  const response = await fetch(url, { method: "POST", body: file });
  const { storageId } = await response.json();
  await client.mutation("album:add", { upload: storageId });
}
