/**
 * Returns the node image of an image id as AKS machines name it, such as `AKSUbuntu-2404gen2containerd-202610.20.0` (reference/azure-provider.md 4.7).
 * Another text is returned as it is. A community gallery has the name of the shared one and a GUID.
 */
export function nodeImageVersion(id: string): string {
  const [, gallery, definition, version] =
    /\/galleries\/([^/]+)\/images\/([^/]+)\/versions\/([^/]+)$/i.exec(
      id.replace(/^\/communityGalleries\//i, '/galleries/'),
    ) ?? []
  if (gallery === undefined) return id
  return `${gallery.split('-')[0]}-${definition}-${version}`
}

/** Returns the form in which images are compared: the same for an image's id in an AKSNodeClass and for its name in an AKS machine. */
export const imageForm = (id: string) => nodeImageVersion(id).toLowerCase()
